"""Batched derivatives and vectorisation: `jacobian`, `hessian`, `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from ..call import bind_arguments
from ..errors import S2SValueError
from ..transforms.frontend.axis_spec import MODES, frozen_axes
from .directional import Derivative, transform
from .functions import make, options_of


class Jacobian(Derivative):
    """The Jacobian of a function, compiled; see `jacobian`."""

    _s2s_mode = _kind = "jacobian"


class Hessian(Derivative):
    """The Hessian of a function, compiled; see `hessian`."""

    _s2s_mode = _kind = "hessian"


class Vmap(Derivative):
    """A function vectorised over a batch axis; see `vmap`."""

    _s2s_mode = _kind = "vmap"
    _uses_wrt = False


@transform("jacobian")
def jacobian(
    function: Any = None,
    /,
    *,
    wrt: bind_arguments.Wrt = 0,
    mode: str | None = None,
    static_argnames: str | Iterable[str] = (),
    boundscheck: bool = True,
    backend: str | None = None,
    parallel: bool | None = None,
    target: str | None = None,
    source: str | None = None,
) -> Any:
    """The derivatives of every entry of a function's result by every entry of its argument.

    The Jacobian of a result of shape `r` by an argument of shape `a` has shape `r + a`.
    Results and arguments may be containers: the Jacobian then has the structure of the
    result, and in it that of the argument, with one block for each pair.

    mode: "forward" propagates one tangent per entry of the argument, "reverse" one cotangent per
        entry of the result, all in one sweep; by default the mode with fewer of them.

    The other arguments are those of `grad`.
    """
    if mode is not None and mode not in MODES:
        raise S2SValueError(f"there is no mode {mode!r}", advice=f"choose from {MODES}")
    options = options_of(wrt, False, static_argnames, boundscheck, backend, parallel, target)
    return _make(Jacobian, function, options, (("mode", mode),), source)


@transform("hessian")
def hessian(
    function: Any = None,
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
    """The Hessian of a function that returns a scalar (forward over reverse).

    By an argument of shape `a` it has shape `a + a`.  With a tuple `wrt`, or an argument that
    is a container, it has one block for each pair: `hessian[i][j]`.  The arguments are those
    of `grad`.  `hvp` gives Hessian-vector products without forming the Hessian.
    """
    options = options_of(wrt, False, static_argnames, boundscheck, backend, parallel, target)
    return _make(Hessian, function, options, (), source)


@transform("vmap")
def vmap(
    function: Any = None,
    /,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_argnames: str | Iterable[str] = (),
    boundscheck: bool = True,
    backend: str | None = None,
    parallel: bool | None = None,
    target: str | None = None,
    source: str | None = None,
) -> Any:
    """A function of one element, vectorised over a batch axis: array operations run on the whole
    batch at once; where elements take different branches, a loop runs over the batch.

    in_axes: the batch axis of the arguments: one axis for all arguments (scalars, which have no
        axis, are then shared by all elements), or a tuple with an axis or None for each argument,
        or a dict by parameter name.  None means that an argument is not batched.  For a container
        the axes may be a container of the same structure.
    out_axes: the batch axis of the results; a structure of axes for several results.

    The other arguments are those of `grad`.
    """
    options = options_of(0, False, static_argnames, boundscheck, backend, parallel, target)
    settings = (("in_axes", frozen_axes(in_axes)), ("out_axes", frozen_axes(out_axes)))
    return _make(Vmap, function, options, settings, source)


def _make(
    cls: Any,
    function: Any,
    options: Any,
    settings: tuple[tuple[str, Any], ...],
    source: str | None,
) -> Any:
    return make(functools.partial(cls, settings=settings), function, options, source)
