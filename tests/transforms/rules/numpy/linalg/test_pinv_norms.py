"""Norms, ranks and pseudoinverses: orders and axes, errors, and slopes at kinks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.ir.errors import UnsupportedError
from tests.transforms.rules.numeric import call, same_as_numpy

RNG = np.random.default_rng(6)
V, M, S = RNG.normal(size=4), RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3, 4))
INF = np.inf


@pytest.mark.parametrize("order", [None, 0, 1, 2, 3, -1, -2, 0.5, INF, -INF, "fro", "nuc", "other"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("x", "axis"),
    [(V, None), (M, None), (V, 0), (M, 0), (M, -1), (M, (0, 1)), (M, (1, 0)), (S, (0, 2)),
     (S, (2, 1)), (S, 1)],
    ids=str,
)  # fmt: skip
def test_orders_and_axes(x: Any, axis: Any, order: Any, keepdims: bool) -> None:
    same_as_numpy("numpy.linalg.norm", x, order, axis, keepdims)


@pytest.mark.parametrize("x", [np.empty(0), np.array(-2.0), np.array([3, -4]), np.float32(2) * V])
def test_other_arrays(x: Any) -> None:
    got = same_as_numpy("numpy.linalg.norm", x, dtypes=False)
    if np.asarray(x).dtype.kind == "f" and x.ndim:
        assert got.dtype == np.linalg.norm(x).dtype


@pytest.mark.parametrize(
    ("x", "order", "axis"),
    [(S, 2, None), (S, 2, (0, 1, 2)), (M, 3, (0, 1)), (M, 1, (0, 0)), (V, 1, 2), (M, 2, (0, 5))],
)
def test_errors_are_numpys(x: Any, order: Any, axis: Any) -> None:
    assert isinstance(same_as_numpy("numpy.linalg.norm", x, order, axis), ValueError)


@pytest.mark.parametrize("rtol", [None, 1e-10, 0.5])
def test_ranks(rtol: Any) -> None:
    for x in (M, np.zeros((3, 3)), np.outer(V, V), S, V, np.diag([1.0, 0.3, 1e-12])):
        keywords = {} if rtol is None else {"rtol": rtol}
        same_as_numpy("numpy.linalg.matrix_rank", x, dtypes=False, **keywords)


@pytest.mark.parametrize("x", [M, M.T, S, np.zeros((2, 3)), np.diag([1.0, 0.0])])
def test_pseudoinverses(x: Any) -> None:
    same_as_numpy("numpy.linalg.pinv", x)


def test_pseudoinverses_that_are_refused() -> None:
    with pytest.raises(ValueError, match="both"):
        call("numpy.linalg.pinv", M, 0.1, rtol=0.1)
    with pytest.raises(UnsupportedError, match="hermitian"):
        call("numpy.linalg.pinv", M, hermitian=True)
    with pytest.raises(np.linalg.LinAlgError):
        call("numpy.linalg.pinv", V)


@pytest.mark.parametrize("order", [None, 1, 2, 3, INF, 0.5])
def test_the_slope_of_a_norm_at_zero_is_zero(order: Any) -> None:
    """docs/kinks.md: `norm(x)` at 0 has the derivative 0."""
    f = s2s.grad(norm_of, backend="loops", static_argnames=("order",))
    if order in (None, 2):
        np.testing.assert_array_equal(f(np.zeros(3), order), np.zeros(3))
    x = np.array([0.5, -1.5, 0.25])
    step = 1e-6 * np.eye(3)
    want = [(norm_of(x + d, order) - norm_of(x - d, order)) / 2e-6 for d in step]
    np.testing.assert_allclose(f(x, order), want, rtol=1e-7, atol=1e-9)


def norm_of(x, order):
    return np.linalg.norm(x, order)


def nuclear(a):
    return np.linalg.norm(a, "nuc")


def test_a_subgradient_of_the_nuclear_norm_where_a_singular_value_is_zero() -> None:
    """||a + d|| >= ||a|| + <g, d> for all d."""
    a = np.outer([1.0, 2.0], [3.0, -1.0])
    g = s2s.grad(nuclear, backend="loops")(a)
    assert np.isfinite(g).all()
    for _ in range(20):
        d = RNG.normal(size=(2, 2))
        assert nuclear(a + d) >= nuclear(a) + np.sum(g * d) - 1e-9
