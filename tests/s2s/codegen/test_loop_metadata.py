"""Loop hints are given only where LLVM can follow them; otherwise it prints a warning."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.codegen import loop_metadata

pytest.importorskip("numba")


def so_far(x: Any) -> Any:
    return np.cumsum(np.sin(x)) * 2


def from_before(x: Any) -> Any:
    h, half = x.copy(), np.float64(0.5)
    for i in range(2, x.shape[0]):
        h[i] = h[i - 2] * half + h[i]
    return h


def in_one_place(x: Any) -> Any:
    total, two = np.zeros(1, np.float32), np.float64(2.0)
    for i in range(x.shape[0]):
        total[0] += x[i] * two
    return total


@pytest.mark.parametrize("function", [so_far, from_before, in_one_place])
def test_iterations_that_need_earlier_ones(
    function: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))  # so that it is compiled
    x = np.linspace(0.1, 1.0, 37, dtype=np.float32)
    compiled = s2s.function(function, backend="numba")
    np.testing.assert_allclose(compiled(x), function(x), rtol=1e-5)
    s2s.grad(lambda x: np.sum(function(x)), backend="numba")(x)
    assert capfd.readouterr() == ("", "")


def loop(text: str) -> ast.For:
    (found,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(found, ast.For)
    return found


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        ("for i in range(3):\n  for j in range(1, 5):\n    x[i, j] = 0.0", 12),
        ("for i in range(2):\n  if c:\n    for j in range(4): a()\n  for j in range(5): b()", 18),
        ("for i in range(2):\n  for j in range(n): a()", 0),
        ("for i in range(n):\n  for j in range(2): a()", 0),
        ("for i in range(2):\n  while True: a()", 0),
        ("for i in range(1):\n  for j in range(n): a()", 1),
    ],
)
def test_how_often_statements_of_loops_within_loops_would_be_written_out(
    text: str, copies: int
) -> None:
    assert loop_metadata._unrolled_copies(loop(text)) == copies
