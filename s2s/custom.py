"""Derivatives that users give themselves: `custom_gradient`, `checkpoint`, `adjoint`.

Called from plain Python, what these decorate is the plain function.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .api import make, options_of
from .derivatives import Derivative, transform


class _Marked(Derivative):
    """A function that compiled functions differentiate in another way."""

    _uses_wrt = False

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.python(*args, **kwargs)


class CustomGradient(_Marked):
    """A function with a derivative of its own; see `custom_gradient`."""

    _s2s_mode, _kind = "custom_gradient", "custom"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.python(*args, **kwargs)[0]


class Checkpoint(_Marked):
    """A function computed again in the adjoint sweep; see `checkpoint`."""

    _s2s_mode = _kind = "checkpoint"


@transform("custom")
def custom_gradient(function: Any) -> Any:
    """A function whose derivative is the user's own code.

    The function returns `(value, grad)`; `grad(value_bar)` takes the adjoint of the value, in
    the value's structure, and returns one adjoint per argument (bare if there is one; None for
    arguments without).  It may read whatever the function computed.

        @s2s.custom_gradient
        def log1pexp(x):
            e = np.exp(x)
            def grad(out_bar):
                return out_bar * (1.0 - 1.0 / (1.0 + e))
            return np.log(1.0 + e), grad

    In forward mode the transpose of `grad` is used, and higher derivatives differentiate
    `grad` itself.  Called from plain Python, the function gives its value.
    """
    return make(CustomGradient, function, options_of(0, False, (), True, None))


@transform("checkpoint")
def checkpoint(function: Any) -> Any:
    """A function whose inner values are not saved for the adjoint sweep but computed again
    there: less memory for one more evaluation."""
    return make(Checkpoint, function, options_of(0, False, (), True, None))


@contextlib.contextmanager
def adjoint(x: Any) -> Iterator[Any]:
    """In a compiled function, a block that runs in the adjoint sweep, on the adjoint of `x`:

        with s2s.adjoint(h) as h_bar:
            h_bar = np.clip(h_bar, -1.0, 1.0)

    What `h_bar` is at the end of the block goes on as the adjoint of `h`.  Print it, assert on
    it, change it in place or bind it anew.  In plain Python the block sees zeros.
    """
    yield np.zeros_like(x, dtype=None)


adjoint._s2s_adjoint = True  # type: ignore[attr-defined]
