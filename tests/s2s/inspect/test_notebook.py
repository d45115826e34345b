"""Display in IPython and Jupyter: highlighted code, and a function beside its gradient."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import s2s
from tests.s2s.inspect.sides_program import energy


@pytest.fixture
def gradient():
    made = s2s.grad(energy, backend="python")
    made(np.ones(3))
    return made


def formatted(value):
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    return formatter.format(value)[0]


def test_source_is_a_text_that_shows_itself_highlighted(gradient):
    source = gradient.source
    assert isinstance(source, str) and source.startswith("import numpy as np\n")
    shown = formatted(source)
    assert shown["text/plain"] == source.rstrip("\n") or shown["text/plain"] == source
    assert '<i class="k">def</i> <i class="d">energy_vjp</i>' in shown["text/html"]
    assert formatted(gradient.lowered)["text/html"].startswith("<div")
    assert pickle.loads(pickle.dumps(source)) == source == gradient.source_for(np.ones(3))


def test_an_object_shows_both_sides(gradient):
    shown = formatted(gradient)["text/html"]
    assert "s2s-left" in shown and "s2s-right" in shown and "sides_program.py" in shown
    names = set(re.findall(r'class="s2s-line p(\d+)"', shown))
    for name in names:
        assert f":has(.s2s-left .p{name}:hover)" in shown
    assert "<script" not in shown


def test_before_the_first_call_there_is_nothing_to_show():
    def fresh(x):
        return x * x

    made = s2s.grad(fresh)
    assert made._repr_html_() is None and "not been called yet" in made.source
    assert "text/html" not in formatted(made)


def test_derivatives_show_the_function_at_the_bottom():
    made = s2s.hvp(energy, backend="python")
    made(np.ones(3), np.ones(3))
    assert 'def</i> <i class="d">energy</i>(x):' in made._repr_html_()


CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
cells = [
    "import numpy as np, s2s",
    "def bad(x):\\n    yield x\\ns2s.grad(bad)(1.0)",
    "def good(x):\\n    return np.sum(x * x)\\nprint(s2s.grad(good, backend='loops')(np.ones(2)))",
]
print(*[shell.run_cell(cell).success for cell in cells])
"""


def test_cells_after_an_error():
    """To display an error, IPython sets attributes on syntax trees, including nodes that all trees
    share."""
    pytest.importorskip("IPython")
    done = subprocess.run([sys.executable, "-c", CELLS], capture_output=True, text=True)
    assert done.stdout.endswith("[2. 2.]\nTrue False True\n"), done.stdout + done.stderr
