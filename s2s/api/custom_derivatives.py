"""User-defined derivatives: `custom_gradient`, `implicit`, `defrule`, `checkpoint`, `adjoint`.

Called from plain Python, a decorated function runs as the plain function; only compiled functions
use the derivative.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import S2STypeError
from ..transforms.frontend.replacements import replace_calls
from .directional import Derivative, transform
from .functions import make, options_of


class _SpecialDerivative(Derivative):
    """A function with a special differentiation rule in compiled functions."""

    _uses_wrt = False

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.python(*args, **kwargs)


class CustomGradient(_SpecialDerivative):
    """A function with a user-defined derivative; see `custom_gradient`."""

    _s2s_mode, _kind = "custom_gradient", "custom"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.python(*args, **kwargs)[0]


class Checkpoint(_SpecialDerivative):
    """A function that is recomputed in the adjoint sweep; see `checkpoint`."""

    _s2s_mode = _kind = "checkpoint"


@transform("custom")
def custom_gradient(function: Any) -> Any:
    """A function whose derivative is defined by the user.

    The function returns `(value, grad)`; `grad(value_bar)` takes the adjoint of the value, in
    the value's structure, and returns one adjoint per argument (bare if there is one; None for
    arguments without a derivative).  It may read any value that the function computed.

        @s2s.custom_gradient
        def log1pexp(x):
            e = np.exp(x)
            def grad(out_bar):
                return out_bar * (1.0 - 1.0 / (1.0 + e))
            return np.log(1.0 + e), grad

    In forward mode the transpose of `grad` is used, and higher derivatives differentiate
    `grad` itself.  Called from plain Python, the function returns its value.
    """
    return make(CustomGradient, function, options_of(0, False, (), True, None))


@transform("checkpoint")
def checkpoint(function: Any, /, *, snapshots: int | None = None, memory: int | None = None) -> Any:
    """A function whose intermediates are not saved for the adjoint sweep but recomputed there
    (rematerialisation): less memory for one more evaluation.

    For a long loop, apply it to the range of the loop:

        for i in s2s.checkpoint(range(n), snapshots=10):
            x = step(x, i)

    The sweep keeps the state of the loop at no more than `snapshots` iterations, or at as many
    as fit into `memory` bytes, and recomputes the others from those, with as few recomputed
    iterations as possible.  The loop must have no `break` and draw no random numbers, and the
    loop-carried values must keep their shapes.
    Called from plain Python, this is the range itself.
    """
    amounts = [a for a in (snapshots, memory) if a is not None]
    if not amounts and callable(function):
        return make(Checkpoint, function, options_of(0, False, (), True, None))
    if len(amounts) != 1 or callable(function):
        raise S2STypeError(
            "checkpoint takes a function, or the range of a loop and one of snapshots= and memory="
        )
    if amounts[0] < 1:
        raise ValueError("snapshots and memory must be at least 1")
    return function


@contextlib.contextmanager
def adjoint(x: Any) -> Iterator[Any]:
    """In a compiled function, a block that runs in the adjoint sweep, on the adjoint of `x`:

        with s2s.adjoint(h) as h_bar:
            h_bar = np.clip(h_bar, -1.0, 1.0)

    The value of `h_bar` at the end of the block is propagated as the adjoint of `h`.  The block may
    print it, assert on it, change it in place or rebind it.  In plain Python the block sees zeros.
    """
    yield np.zeros_like(x, dtype=None)


adjoint._s2s_adjoint = True  # type: ignore[attr-defined]


class Implicit(_SpecialDerivative):
    """The solution of an equation, differentiated implicitly; see `implicit`."""

    _s2s_mode = _kind = "implicit"


@transform("implicit")
def implicit(function: Any = None, /, *, residual: Any = None, fixed_point: Any = None) -> Any:
    """A solver, differentiated by the implicit function theorem, not through its iteration.

        @s2s.implicit(residual=lambda x, a: x * x * x - a)
        def cube_root(a):
            x = 1.0
            while abs(x * x * x - a) > 1e-12:
                x = x - (x * x * x - a) / (3.0 * x * x)
            return x

    The function returns one scalar or array `x`.  `residual(x, *args)` has the shape of `x` and is
    0 at the solution, or `fixed_point(x, *args)` equals `x` there.  Nothing of the iteration is
    saved; the derivative solves one linear system of the size of `x`.
    """
    if (residual is None) == (fixed_point is None):
        raise S2STypeError("implicit needs one of residual= and fixed_point=")
    equation = ("residual", residual) if fixed_point is None else ("fixed_point", fixed_point)
    options = options_of(0, False, (), True, None)
    return make(functools.partial(Implicit, settings=(equation,)), function, options)


def defrule(function: Any, program: Any = None, /) -> Any:
    """Define what compiled functions run in place of `function`, of another library.

        @s2s.defrule(scipy.special.expi)
        @s2s.custom_gradient
        def expi(x):
            ...
            return value, lambda value_bar: value_bar * np.exp(x) / x

    `program` is a function that s2s can compile and that computes the same result.  With
    `custom_gradient` it also defines the derivative; otherwise s2s differentiates `program`.
    """
    if not callable(function):
        raise S2STypeError(f"defrule needs a function, not {function!r}")
    if program is None:
        return functools.partial(_defrule, function)
    return _defrule(function, program)


def _defrule(function: Any, program: Any) -> Any:
    replace_calls(function, program)
    return program
