"""The tables "you write → here": both cells of a row are run, and their results compared.

The page's block `functions.py`, which defines the names in the tables, is run for each column with
the import of that column.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.pages import ROOT, functions, rows

JAX = """import jax, jax.flatten_util, jax.test_util
jax.config.update("jax_enable_x64", True)
import jax.numpy as np
"""


def run(code: str, name: str, folder: Path, namespace: dict[str, Any]) -> Any:
    """The value of an expression, which is written to a file because the source of its lambdas is
    read."""
    path = folder / f"{name}.py"
    path.write_text(f"value = {code}\n", encoding="utf-8")
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
    return namespace["value"]


def same(a: Any, b: Any) -> bool:
    """True for equal structure and values; strings and reports are not compared."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(b, str) or a is None:
        return True
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12)


def namespace_of(text: str, folder: Path, name: str) -> dict[str, Any]:
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, str(path), "exec"), namespace)
    return namespace


def compare(page: str, theirs: dict[str, Any], ours: dict[str, Any], folder: Path) -> None:
    table = rows(page)
    assert len(table) >= 5
    for number, (left, right) in enumerate(table):
        expected = run(left, f"left_{number}", folder, theirs)
        found = run(right, f"right_{number}", folder, ours)
        assert same(expected, found), (left, right, expected, found)


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


def test_jax(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    page = (ROOT / "docs/for-jax-users.md").read_text(encoding="utf-8")
    text = functions(page)
    theirs = namespace_of(text.replace("import numpy as np\n", JAX), tmp_path, "theirs")
    ours = namespace_of(text, tmp_path, "ours")
    exec("from scipy.special import logsumexp\nfrom s2s.layers.activations import relu", ours)
    compare(page, theirs, ours, tmp_path)


def test_numba(tmp_path: Path) -> None:
    page = (ROOT / "docs/for-numba-users.md").read_text(encoding="utf-8")
    both = namespace_of(functions(page), tmp_path, "both")
    compare(page, both, both, tmp_path)
