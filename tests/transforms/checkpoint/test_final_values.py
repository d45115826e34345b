"""Values that an array still holds after the loops are not saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.checkpoint.final_values import _is_feasible
from tests.corpus import load


def lu(A: Any) -> Any:
    A = A.copy()
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return np.sum(A**2)


def cholesky(A: Any) -> Any:
    A = A.copy()
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] -= A[i, :i] @ A[i, :i]
        A[i, i] = np.sqrt(A[i, i])
    return np.sum(np.tril(A) ** 2)


@pytest.mark.parametrize("f", [lu, cholesky])
def test_factorisations_keep_nothing(f: Any) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(5, 5))
    a = a @ a.T + 5 * np.eye(5)
    gradient = s2s.value_and_grad(f, backend="loops")
    s2s.check_grads(f, a, backend="loops")
    gradient(a)
    assert "# Saved for the adjoint sweep: nothing." in gradient.source


@pytest.mark.parametrize(
    ("name", "kept"),
    [("stored_once", False), ("stored_and_doubled", True), ("stored_in_one_place", True)],
)
def test_what_is_stored_is_read_again_unless_it_changes(name: str, kept: bool) -> None:
    f = s2s.grad(load()[name].function, backend="loops")
    f(np.linspace(0.1, 1.0, 5))
    assert kept == ("Saved for the adjoint sweep: nothing." not in f.source)


def test_inequalities() -> None:
    assert _is_feasible([])
    assert _is_feasible([("i", "j", -1), ("j", "n.0", -1)])  # i < j < n
    assert not _is_feasible([("i", "j", -1), ("j", "i", 0)])  # i < j <= i
    assert not _is_feasible([("n.0", "", -1)])  # a size below 0
    assert _is_feasible([("i", "", -1)])
    assert not _is_feasible([("i", "j", -1), ("j", "k", -1), ("k", "i", 1)])
