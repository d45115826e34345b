"""Loops over what changes while they run."""

from __future__ import annotations

import numpy as np
import pytest

import s2s

X = np.array([0.5, 2.5, 3.5])


def both_lists_grow(x, n):
    outer = []
    inner = []
    for i in range(n):
        outer.append(x[i])
        inner.append(x[i])
    s = 0.0
    for v in outer:
        for w in inner:
            s += w * v
            if w > 1.0:
                inner.append(w - 1.0)
        if v > 2.0:
            outer.append(v - 1.0)
    return s


def inner_list_grows(x, n):
    inner = []
    for i in range(n):
        inner.append(x[i])
    s = 0.0
    for v in x:
        for w in inner:
            s += w * v
            if w > 3.0:
                inner.append(w - 1.0)
    return s


@pytest.mark.parametrize("f", [both_lists_grow, inner_list_grows])
def test_a_list_that_grows_inside_a_loop_over_another(f) -> None:
    """The loop over the inner list starts again as one over a list that changes; the outer one
    must still see that its own list does."""
    assert s2s.function(f, backend="loops")(X, 3) == pytest.approx(f(X, 3), rel=1e-14)
    found = s2s.grad(f, backend="loops")(X, 3)
    steps = 1e-6 * np.eye(3)
    expected = [(f(X + h, 3) - f(X - h, 3)) / 2e-6 for h in steps]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
