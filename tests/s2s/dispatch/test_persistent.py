"""A second process loads specialisations from disk if and only if they are still valid."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")
ROOT = Path(__file__).parents[3]

MODEL = """
import numpy as np, s2s
from helper import twist
POWER = 2
scale = 3.0

def inner(x, k=1.0):
    return x ** POWER * k

@s2s.grad
def loss(x):
    return twist(inner(x)) * scale
"""
HELPER = "def twist(x):\n    return x + x\n"
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import model
import s2s.dispatch.persistent
s2s.dispatch.persistent.compiler_key = lambda: "one compiler"  # also while it is being edited
{change}
print(model.loss(5.0), "s2s.transforms.pipeline" in sys.modules)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "helper.py").write_text(HELPER)

    def run(change: str = "") -> list[str]:
        done = subprocess.run(
            [sys.executable, "-B", "-c", PROGRAM.format(change=change), str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, "S2S_CACHE_DIR": str(tmp_path / "cache"), "S2S_BACKEND": "numba"},
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    run.folder = tmp_path
    return run


def test_the_compiler_is_not_even_imported(run):
    assert run() == ["60.0", "True"]
    assert run() == ["60.0", "False"]
    # a lifted scalar is read again, a constant is guarded
    assert run("model.scale = 1.0") == ["20.0", "False"]
    assert run("model.POWER = 3") == ["450.0", "True"]
    assert run("model.inner.__defaults__ = (2.0,)") == ["120.0", "True"]
    assert run() == ["60.0", "False"]
    # a helper in another file
    (run.folder / "helper.py").write_text("def twist(x):\n    return x * 3.0\n")
    assert run() == ["90.0", "True"]
    for file in (run.folder / "cache").glob("specialisation_*"):
        file.write_bytes(file.read_bytes()[:50])
    assert run() == ["90.0", "True"]
    assert run() == ["90.0", "False"]


def test_names_of_functions_of_libraries(run):
    """Functions of libraries are stored, and distinguished from others."""
    text = MODEL.replace(
        "import numpy as np, s2s", "import numpy as np, math, s2s\nshape = np.tanh"
    )
    text = text.replace("twist(inner(x)) * scale", "shape(inner(x) / 25.0) * scale")
    (run.folder / "model.py").write_text(text)
    first, second = run(), run()
    assert first[0] == second[0] and second[1] == "False"
    other = run("model.shape = model.np.sin")
    assert other[0] != first[0]
    assert run("model.shape = model.np.sin") == [other[0], "False"]
    assert run("model.shape = model.math.tanh")[0] == first[0]
    assert run() == second


def test_passes_and_source_of_a_stored_specialisation(run):
    """Both are made again; the compiler is loaded only then."""
    shown = """
print(model.loss(5.0), "s2s.transforms.pipeline" in sys.modules)
print("".join(f"{name}:{len(text)};" for name, text in model.loss.passes()), len(model.loss.source))
"""
    first, second = run(shown), run(shown)
    assert first[0] == second[0] and (first[1], second[1]) == ("True", "False")
    assert first[2:4] == second[2:4] and first[2].startswith("desugar:")
