"""The Numba target of kernels, and the list of uses of `numba.core`."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np

import s2s
from s2s.codegen.numba_bridge import numba_target

PACKAGE = Path(s2s.__file__).parent
PUBLIC = {"types", "cgutils", "errors", "typing.templates", "imputils", "extending", "config"}


def imported(file: Path) -> set[str]:
    """The imports of a file from `numba.core`, as `module.name` relative to it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba.core"):
            module = (node.module or "").removeprefix("numba.core").removeprefix(".")
            found |= {f"{module}.{alias.name}".strip(".") for alias in node.names}
    return found


def test_internals_of_numba_are_listed() -> None:
    """The docstring lists exactly the uses, with their files."""
    listed = set()
    entries = (numba_target.__doc__ or "").split("\n- ")[1:]
    for entry in entries:
        names, _, rest = entry.partition("(")
        files = re.findall(r"`([^`]+\.py)`", rest.partition(")")[0]) or [
            "codegen/numba_bridge/numba_target.py"
        ]
        listed |= {(file, name) for file in files for name in re.findall(r"`([^`]+)`", names)}
    used = set()
    for file in PACKAGE.rglob("*.py"):
        for name in imported(file):
            if name not in PUBLIC and name.rpartition(".")[0] not in PUBLIC:
                used.add((str(file.relative_to(PACKAGE)), name))
    assert used - listed == set()
    assert {name for _, name in listed} == {name for _, name in used}


def dispatcher_of(function: Any, *args: Any) -> Any:
    f = s2s.grad(function)
    f(*args)
    return f.compiled


def test_kernels_that_call_functions_of_numba_have_its_context() -> None:
    alone = dispatcher_of(lambda x: np.sum(np.sin(x) * x), np.ones(3))
    assert type(alone) is numba_target.KernelDispatcher
    solved = dispatcher_of(lambda x: np.sum(np.linalg.inv(x)), np.eye(3))
    assert type(solved) is numba_target.LibraryDispatcher


def test_kernels_alone_do_not_have_numba_load_what_it_knows(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np\n"
        "import s2s\n"
        "f = s2s.grad(lambda x: np.sum(x * x) + x[0])\n"
        "print(f(np.ones(2)), 'scipy.linalg' in sys.modules, type(f.compiled).__name__)\n"
    )
    (tmp_path / "program.py").write_text(code)
    for _ in "cold", "warm":
        done = subprocess.run(
            [sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True,
            env={**os.environ, "S2S_CACHE_DIR": str(tmp_path / "cache"), "S2S_BACKEND": "numba"},
        )  # fmt: skip
        assert done.stdout.strip() == "[3. 2.] False KernelDispatcher", done.stderr


def test_kernels_are_called_by_functions_of_users() -> None:
    kernel = dispatcher_of(lambda x: np.sum(x * x) * 3.0, np.ones(2))

    @numba.njit
    def both(x: Any) -> Any:
        value, gradient = kernel(x)
        return value + gradient[0]

    assert both(np.array([1.0, 2.0])) == 15.0 + 6.0


def test_kernels_are_optimised_by_our_passes() -> None:
    f = s2s.grad(lambda x: np.sum(x * x))
    f(np.ones(3))
    (compiled,) = f.compiled.overloads.values()
    assert isinstance(compiled.library, numba_target.KernelLibrary)
    assert "vector.body" in compiled.library.get_llvm_str()
