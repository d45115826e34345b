"""The target that kernels are compiled for, and the list of what is used of `numba.core`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np

import s2s
from s2s import numba_target

PACKAGE = Path(s2s.__file__).parent
PUBLIC = {"types", "cgutils", "errors", "typing.templates", "imputils", "extending", "config"}


def imported(file: Path) -> set[str]:
    """What a file imports from `numba.core`, as `module.name` below it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba.core"):
            module = (node.module or "").removeprefix("numba.core").removeprefix(".")
            found |= {f"{module}.{alias.name}".strip(".") for alias in node.names}
    return found


def test_internals_of_numba_are_listed() -> None:
    """The docstring names each, beside the file that uses it, and nothing else."""
    listed = set()
    entries = (numba_target.__doc__ or "").split("\n- ")[1:]
    for entry in entries:
        names, _, rest = entry.partition("(")
        files = re.findall(r"`([^`]+\.py)`", rest.partition(")")[0]) or ["numba_target.py"]
        listed |= {(file, name) for file in files for name in re.findall(r"`([^`]+)`", names)}
    used = set()
    for file in PACKAGE.rglob("*.py"):
        for name in imported(file):
            if name not in PUBLIC and name.rpartition(".")[0] not in PUBLIC:
                used.add((str(file.relative_to(PACKAGE)), name))
    assert used - listed == set()
    assert {name for _, name in listed} == {name for _, name in used}


def test_kernels_are_optimised_by_our_passes() -> None:
    f = s2s.grad(lambda x: np.sum(x * x))
    f(np.ones(3))
    (compiled,) = f.compiled.overloads.values()
    assert isinstance(compiled.library, numba_target.KernelLibrary)
    assert "vector.body" in compiled.library.get_llvm_str()
