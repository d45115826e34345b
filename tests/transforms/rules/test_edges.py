"""Empty arrays and arguments that do not fit: what NumPy gives or raises."""

from __future__ import annotations

import numpy as np
import pytest

import s2s

V, NONE, M = np.array([0.5, 1.5, 2.5]), np.zeros(0), np.arange(6.0).reshape(2, 3)

RAISING = [
    (lambda x: np.repeat(x, [1, 2]), V, ValueError),
    (lambda x: np.interp(0.5, x, x), NONE, ValueError),
    (lambda x: np.pad(x, 1, mode="edge"), NONE, ValueError),
    (lambda x: np.average(x, weights=x - x), V, ZeroDivisionError),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 4), V, ValueError),
    (lambda x: np.apply_along_axis(np.sum, 1, x), np.zeros((0, 2)), ValueError),
    (lambda x: max(x, key=lambda v: -v), NONE, ValueError),
    (lambda x: np.max(x), NONE, ValueError),
    (lambda x: np.choose(np.array([0, 2, 1]), [x, x]), V, ValueError),
]
VALUES = [
    (lambda x: np.median(x), NONE),
    (lambda m: np.median(m, axis=0), np.zeros((0, 2))),
    (lambda m: np.nanvar(m, axis=0, ddof=1), M[:1]),
    (lambda m: np.cov(m, rowvar=False), M[:1]),
    (lambda x: np.repeat(x, [2]), V),
    (lambda x: np.max(x, initial=0.5), NONE),
    (lambda m: np.max(m, initial=9.0, keepdims=True), M),
    (lambda m: np.min(m, axis=1, initial=1.5, where=m > 0), M),
    (lambda x: np.sort(x), NONE),
    (lambda x: np.cumprod(x), NONE),
    (lambda x: np.unique(x), NONE),
]


@pytest.mark.parametrize(("f", "x", "error"), RAISING, ids=range(len(RAISING)))
def test_errors_are_numpys(f, x, error):
    with pytest.raises(error):
        f(x)
    with pytest.raises(error):
        s2s.function(f, backend="loops")(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("f", "x"), VALUES, ids=range(len(VALUES)))
def test_values_are_numpys(f, x):
    got, want = s2s.function(f, backend="loops")(x), f(x)
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want)
