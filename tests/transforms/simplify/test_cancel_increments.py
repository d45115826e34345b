"""The adjoint of an increment does not change the adjoint of the incremented element."""

from __future__ import annotations

from typing import Any

import numpy as np

import s2s
from tests.corpus import load


def test_nothing_is_taken_off_and_added_back() -> None:
    def f(x: Any, y: Any) -> Any:
        a = x.copy()
        for i in range(len(a)):
            a[i] -= y[i] * y[i]
        return np.sum(a**2)

    gradient = s2s.grad(f, wrt=("x", "y"), backend="loops")
    gradient(np.ones(3), np.ones(3))
    sweep = gradient.source.split("adjoint sweep ----")[1]
    assert "y_bar[i] +=" in sweep
    assert "= 0.0" not in sweep and "a_bar[i] +=" not in sweep


def test_places_that_may_be_named_twice_are_left_as_they_are() -> None:
    case = load()["places_named_twice"]
    s2s.check_grads(case.function, np.array([0.3, -0.7, 1.2]), np.array([0, 2, 2, 1]))
