"""Determinants, inverses and systems: exact at singular matrices where docs/kinks.md says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from tests.transforms.rules.numeric import call

RNG = np.random.default_rng(2)
A = RNG.normal(size=(3, 3))
SINGULAR = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])


def det(a):
    return np.linalg.det(a)


def slogdet(a):
    return np.linalg.slogdet(a)[1]


def det_gradient_sum(a):
    return np.sum(s2s.grad(det)(a) * np.arange(9.0).reshape(3, 3))


def cofactors(a: Any) -> Any:
    out = np.empty_like(a)
    for i, j in np.ndindex(a.shape):
        out[i, j] = (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
    return out


@pytest.mark.parametrize("a", [A, SINGULAR, np.zeros((3, 3)), np.diag([1.0, 2.0, 0.0])])
def test_the_gradient_of_a_determinant_is_its_cofactors(a: Any) -> None:
    got = s2s.grad(det, backend="loops")(a)
    np.testing.assert_allclose(got, cofactors(a), rtol=1e-10, atol=1e-12)


def test_what_has_no_derivative_at_a_singular_matrix_raises() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        s2s.grad(slogdet, backend="loops")(np.zeros((3, 3)))
    with pytest.raises(np.linalg.LinAlgError):
        s2s.grad(det_gradient_sum, backend="loops")(np.zeros((3, 3)))


@pytest.mark.parametrize("b", [(3,), (3, 2), (3, 1), (3, 0)])
@pytest.mark.parametrize("stack", [(), (2,)])
def test_right_hand_sides_of_every_rank(stack: Any, b: Any) -> None:
    a = RNG.normal(size=(*stack, 3, 3)) + 3 * np.eye(3)
    right = RNG.normal(size=b)
    got = call("numpy.linalg.solve", a, right)
    np.testing.assert_allclose(got, np.linalg.solve(a, right), rtol=1e-12)


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 2, 3, 7])
def test_matrix_powers(n: int) -> None:
    for a in (A, np.stack([A, 2 * A])):
        np.testing.assert_allclose(
            call("numpy.linalg.matrix_power", a, n), np.linalg.matrix_power(a, n), rtol=1e-10
        )
    with pytest.raises(TypeError, match="exponent must be an integer"):
        call("numpy.linalg.matrix_power", A, 1.5)


@pytest.mark.parametrize("path", ["det", "inv", "slogdet", "matrix_power"])
@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_matrices_must_be_square(path: str, shape: Any) -> None:
    more = (2,) if path == "matrix_power" else ()
    with pytest.raises(np.linalg.LinAlgError):
        getattr(np.linalg, path)(np.ones(shape), *more)
    with pytest.raises(np.linalg.LinAlgError):
        call(f"numpy.linalg.{path}", np.ones(shape), *more)


@pytest.mark.parametrize("path", ["inv", "solve"])
def test_singular_matrices(path: str) -> None:
    more = (np.ones(2),) if path == "solve" else ()
    with pytest.raises(np.linalg.LinAlgError, match="[Ss]ingular"):
        call(f"numpy.linalg.{path}", np.zeros((2, 2)), *more)


@pytest.mark.parametrize("ind", [1, 2, 3])
def test_tensor_inverses(ind: int) -> None:
    shape = {1: (4, 2, 2), 2: (2, 3, 6), 3: (2, 2, 1, 4)}[ind]
    a = RNG.normal(size=shape)
    np.testing.assert_allclose(
        call("numpy.linalg.tensorinv", a, ind), np.linalg.tensorinv(a, ind), rtol=1e-9
    )
    with pytest.raises(ValueError, match="Invalid ind argument"):
        call("numpy.linalg.tensorinv", a, 0)
