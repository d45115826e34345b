"""What the contracts of `[tool.importlinter]` do not check: that the compiler imports itself
relatively and others from a list, what is imported when, and how the package is built."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COMPILER = ROOT / "transforms"
FILES = sorted(COMPILER.rglob("*.py"))

# What the compiler may use besides the standard library.
ALLOWED = {"numpy", "libcst"}


def imports(tree: ast.AST) -> Iterator[tuple[int, int, str]]:
    """(line, level, module) of every import statement, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, 0, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.level, node.module or ""


def violations(text: str, depth: int) -> list[str]:
    """The forbidden imports of a compiler file, `depth` folders below the top."""
    found = []
    for line, level, module in imports(ast.parse(text)):
        top = module.split(".")[0]
        if level > depth + 1:
            found.append(f"{line}: a relative import leaves the compiler")
        elif level == 0 and top in ("s2s", "transforms"):
            found.append(f"{line}: {module} must be imported relatively")
        elif level == 0 and top not in ALLOWED and top not in sys.stdlib_module_names:
            found.append(f"{line}: the compiler may not import {module}")
    return found


def test_compiler_imports() -> None:
    found = {}
    for path in FILES:
        name = path.relative_to(COMPILER)
        found[name.as_posix()] = violations(path.read_text(encoding="utf-8"), len(name.parts) - 1)
    assert len(found) > 100 and {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    "text, depth, count",
    [
        ("from .ir import Var\nimport numpy as np", 0, 0),
        ("from ..ir import Var\nfrom . import shape", 1, 0),
        ("def f():\n    import numba", 0, 1),
        ("from numba import njit", 0, 1),
        ("from s2s.api.functions import grad", 0, 1),
        ("import s2s.transforms.ir.nodes", 0, 1),
        ("from ..api import grad", 0, 1),
        ("from ...api import grad", 1, 1),
    ],
)
def test_violations_are_seen(text: str, depth: int, count: int) -> None:
    assert len(violations(text, depth)) == count


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True)


def test_numba_and_the_native_back_end_are_imported_late() -> None:
    """The compiler works without Numba, and the folder of the native back end may be left out."""
    done = run(
        "import sys, s2s, s2s.transforms.pipeline\n"
        "import s2s.api.functions, s2s.call.call_stub, s2s.backends.build_kernel\n"
        "late = 'numba', 'llvmlite', 's2s.backends.native'\n"
        "print([module for module in late if module in sys.modules])"
    )
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_double_import_is_refused() -> None:
    done = run("import transforms")
    assert done.returncode != 0
    assert "import the compiler as s2s.transforms" in done.stderr


def test_every_package_is_listed() -> None:
    """The list of packages for the build contains every folder."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text.split("packages = [", 1)[1].split("]", 1)[0]
    names = {name.strip(' ",') for name in listed.splitlines() if name.strip()}
    here = {("s2s", *f.relative_to(ROOT).parts[:-1]) for f in FILES}
    ours = [f.relative_to(ROOT).parts[:-1] for f in (ROOT / "s2s").rglob("*.py")]
    here |= {parts for parts in ours if "transforms" not in parts}
    assert names == {".".join(parts) for parts in here}


def test_the_link_is_in_place() -> None:
    assert (ROOT / "s2s" / "transforms" / "pipeline.py").samefile(COMPILER / "pipeline.py")
