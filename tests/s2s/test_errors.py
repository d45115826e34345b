"""Exceptions: their public names, and pickling across processes."""

from __future__ import annotations

import pickle
import traceback

import numpy as np
import pytest

import s2s


def a_draw(x):
    try:
        return x
    except ValueError:
        return 0.0


@pytest.mark.parametrize(
    "call, kind, shown",
    [
        (lambda: s2s.grad(a_draw)(1.0), s2s.UnsupportedError, "s2s.UnsupportedError: "),
        (lambda: s2s.grad(np.sin)(1.0), s2s.SourceError, "s2s.SourceError: "),
        (lambda: s2s.grad(a_draw)(3), TypeError, "s2s.errors.TypeError: x is int"),
        (lambda: s2s.grad(a_draw, backend="gpu"), ValueError, "s2s.errors.ValueError: "),
    ],
)
def test_names(call, kind, shown) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert "".join(traceback.format_exception_only(caught.value)).startswith(shown)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is caught.type and str(again) == str(caught.value)
    assert again.advice == caught.value.advice


def test_other_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'KeyError'"):
        _ = s2s.errors.KeyError


def test_what_a_list_does_not_hold_is_missed_when_the_run_comes_there() -> None:
    def chosen(x):
        known = [1, 2, 3]
        if x[0] > 100.0:
            return x[known.index(7)]
        return np.sum(x * x)

    gradient, x = s2s.grad(chosen, backend="loops"), np.arange(3.0)
    np.testing.assert_array_equal(gradient(x), 2.0 * x)
    with pytest.raises(ValueError, match="not in the list"):
        gradient(x + 200.0)
