"""Directional derivatives: `jvp`, `vjp`, `hvp`.

Each returns an object like that of `s2s.grad`: it is called with scalars and arrays, compiled at
the first call, has its generated code in `.source`, and is callable inside `@njit`.  The direction
(tangent or cotangent) is passed right after the first argument, as SciPy passes it to `hessp`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..call import bind_arguments
from ..dispatch.specializations import Options
from ..errors import S2STypeError
from ..transforms.frontend.derivative_spec import DIRECTED, derive
from .functions import Function, make, options_of, unwrap


class Derivative(Function):
    """A compiled function derived from another one.  `.python` is the original function."""

    _mode = "primal"
    # The kind of derivative (`frontend/derivative_spec.py`).
    _kind = ""

    def __init__(
        self, target: Any, options: Options, settings: tuple[tuple[str, Any], ...] = ()
    ) -> None:
        found = unwrap(target)
        skipped = max(len(found.prefix), int(bind_arguments.is_method(found.function)))
        names = bind_arguments.Binder(found.function).names[skipped:]
        qualname = found.function.__qualname__
        if not names and self._kind in DIRECTED:
            raise S2STypeError(f"{qualname} has no parameter to differentiate with respect to")
        wrt = bind_arguments.resolve_wrt(options.wrt, names, qualname) if self._uses_wrt else ()
        found.function = derive(
            found.function,
            self._kind,
            wrt=wrt,
            single=not isinstance(options.wrt, (tuple, list)),
            has_aux=options.has_aux,
            skipped=skipped,
            options=settings,
        )
        self._settings = settings
        super().__init__(found, options)

    _uses_wrt = True

    @property
    def _wrapped_function(self) -> Any:
        return self._shared.target.function.function

    def __reduce__(self) -> Any:
        remake, arguments = super().__reduce__()
        if self._settings and isinstance(arguments[0], type):
            cls = functools.partial(arguments[0], settings=self._settings)
            return remake, (cls, *arguments[1:])
        return remake, arguments


class Jvp(Derivative):
    """Primal values and tangents (forward mode); see `jvp`."""

    _s2s_mode = _kind = "jvp"


class Vjp(Derivative):
    """Primal values and adjoints (reverse mode); see `vjp`."""

    _s2s_mode = _kind = "vjp"


class Hvp(Derivative):
    """Hessian-vector products; see `hvp`."""

    _s2s_mode = _kind = "hvp"


def transform(kind: str) -> Callable[[Any], Any]:
    """Decorator: mark an API function that may be called inside compiled functions, too."""

    def mark(function: Any) -> Any:
        function._s2s_transform = kind
        return function

    return mark


@transform("jvp")
def jvp(
    function: Any = None,
    primals: tuple[Any, ...] | None = None,
    tangents: tuple[Any, ...] | None = None,
    /,
    *,
    wrt: bind_arguments.Wrt = 0,
    static_argnames: str | Iterable[str] = (),
    boundscheck: bool = True,
    backend: str | None = None,
    parallel: bool | None = None,
    target: str | None = None,
    source: str | None = None,
) -> Any:
    """The derivative of a function in a direction (forward mode).

    `jvp(f)(x, v, *args)` is `(f(x, *args), tangent)`: the derivative of the result as `x` moves
    along `v`.  With a tuple `wrt`, `v` is a tuple of directions.  For all arguments, evaluated at
    once: `jvp(f, (x, y), (vx, vy))`.  The other arguments are those of `grad`.
    """
    options = options_of(wrt, False, static_argnames, boundscheck, backend, parallel, target)
    if primals is None:
        return make(Jvp, function, options, source)
    if tangents is None or len(primals) != len(tangents):
        raise S2STypeError("jvp needs one tangent for each argument: jvp(f, (x,), (v,))")
    options = options_of(
        tuple(range(len(primals))), False, static_argnames, boundscheck, backend, parallel, target
    )
    first, *rest = primals
    return make(Jvp, function, options, source)(first, tuple(tangents), *rest)


@transform("vjp")
def vjp(
    function: Any = None,
    /,
    *primals: Any,
    wrt: bind_arguments.Wrt = 0,
    static_argnames: str | Iterable[str] = (),
    boundscheck: bool = True,
    backend: str | None = None,
    parallel: bool | None = None,
    target: str | None = None,
    source: str | None = None,
) -> Any:
    """The adjoint of a function applied to a cotangent (reverse mode), of results of any shape.

    `vjp(f)(x, v, *args)` is `(f(x, *args), adjoint)`: the gradient of `sum(v * f(x, *args))`
    with respect to `x`; `v` has the structure of the result.  For all arguments, evaluated at once:
    `value, pullback = vjp(f, x, y)`, and `pullback(v)` is a tuple of adjoints.  The other
    arguments are those of `grad`.
    """
    options = options_of(wrt, False, static_argnames, boundscheck, backend, parallel, target)
    if not primals:
        return make(Vjp, function, options, source)
    options = options_of(
        tuple(range(len(primals))), False, static_argnames, boundscheck, backend, parallel, target
    )
    derivative = make(Vjp, function, options, source)
    # The pullback uses the values passed here, even if the caller changes them before calling it.
    kept = copy.deepcopy(primals)
    value = Function(function, options)(*primals)
    return value, functools.partial(_pull, derivative, kept)


def _pull(derivative: Vjp, primals: tuple[Any, ...], cotangent: Any) -> Any:
    first, *rest = primals
    return derivative(first, cotangent, *rest)[1]


@transform("hvp")
def hvp(
    function: Any = None,
    /,
    *,
    wrt: bind_arguments.Wrt = 0,
    has_aux: bool = False,
    static_argnames: str | Iterable[str] = (),
    boundscheck: bool = True,
    backend: str | None = None,
    parallel: bool | None = None,
    target: str | None = None,
    source: str | None = None,
) -> Any:
    """The Hessian-vector product of a function that returns a scalar (forward over reverse).

    `hvp(f)(x, v, *args)` fits `scipy.optimize.minimize(hessp=hvp(f))`.  It costs a few
    gradients; the Hessian itself is never formed.  The arguments are those of `grad`.
    """
    options = options_of(wrt, has_aux, static_argnames, boundscheck, backend, parallel, target)
    return make(Hvp, function, options, source)


def stop_gradient(x: Any) -> Any:
    """`x` itself, treated as a constant by every derivative of the enclosing function."""
    return x
