"""The kernels for which loop strength reduction is enabled."""

from __future__ import annotations

import ast
import textwrap

import numpy as np
import pytest

import s2s
from s2s.codegen import enable_lsr


def function(text: str) -> ast.FunctionDef:
    (made,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(made, ast.FunctionDef)
    return made


def test_an_innermost_loop_that_branches() -> None:
    text = """
    def kernel(x, y):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                if x[i, j] > 0.0:
                    y[i] += x[i, j]
    """
    assert enable_lsr.is_lsr_profitable(function(text))


@pytest.mark.parametrize(
    "text",
    [
        "def kernel(x, y):\n    if x.shape[0] > 0:\n        y[0] = x[0]",
        """
        def kernel(x, y):
            for i in range(x.shape[0]):
                if i > 0:
                    for j in range(x.shape[1]):
                        y[i, j] = x[i, j]
        """,
        """
        def kernel(x, y):
            for i in range(x.shape[0]):
                y[i] = x[i] if x[i] > 0.0 else 0.0
        """,
    ],
)
def test_others(text: str) -> None:
    assert not enable_lsr.is_lsr_profitable(function(text))


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 1, 1), (0, 2, 3), (2, 0, 3), (2, 3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_addresses_of_elements(shape: tuple[int, ...], order: str) -> None:
    def f(x: np.ndarray) -> float:
        total = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                for k in range(x.shape[2]):
                    total += x[i, j, k] * x[-i - 1, j, -k - 1] ** 2
        return total

    x = np.random.default_rng(0).standard_normal(shape)
    flipped = x[::-1, :, ::-1]
    expected = flipped**2 + 2.0 * flipped * x
    got = s2s.grad(f)(np.asarray(x, order=order))  # type: ignore[arg-type]
    np.testing.assert_allclose(got, expected)
