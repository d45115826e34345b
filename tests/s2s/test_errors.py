"""Errors as users meet them: by names under which they can be caught, across processes, too."""

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
