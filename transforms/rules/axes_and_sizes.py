"""What rules and surfaces ask about sizes and axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..ir.builder import Builder, Sym
from ..ir.errors import TypeError_, UnsupportedError, ValueError_
from ..ir.nodes import Const, Span
from ..ir.op_registry import NeedStatic
from ..ir.symbolic_dims import Dim

Parts = tuple[Any, ...]

# Processors tell no more bytes apart, so that an array cannot have more elements.
LARGEST = 1 << 47
TOO_LARGE = "array is too big"


def known(value: Any) -> Any:
    """A constant as a plain number, anything else as it is."""
    if isinstance(value, Sym) and isinstance(value.operand, Const):
        return value.operand.value
    return value


def product(sizes: Iterable[Any]) -> Any:
    """The product of sizes; those that are constant are multiplied here."""
    constant, total = 1, None
    for s in map(known, sizes):
        if isinstance(s, Sym):
            total = s if total is None else total * s
        else:
            constant *= s
    if total is None:
        return constant
    return total if constant == 1 else total * constant


def size_of(b: Builder, x: Any, axis: int) -> Any:
    """The size of one axis: an int where it is known."""
    return known(b.dim_value(b.sym(x).type.shape[axis], (x, axis)))


def require_equal(
    b: Builder,
    left: Dim,
    right: Dim,
    sizes: Callable[[], tuple[Any, Any]],
    exception: str,
    message: Callable[[Any, Any], Parts],
) -> None:
    """Two dims that must be equal: known to be, asked of the arguments, or tested at run
    time, when `message` is told both sizes."""
    if not b.checks or b.facts.relate(left, right) == "equal":
        return
    m, n = sizes()
    parts = tuple(str(p) if isinstance(p, int) else p for p in message(m, n))
    b.check(
        b.sym(m) == n if isinstance(m, Sym) or isinstance(n, Sym) else m == n, exception, *parts
    )


def require_fits(
    b: Builder,
    have: Dim,
    want: Dim,
    sizes: Callable[[], tuple[Any, Any]],
    exception: str,
    message: Callable[[], Parts],
) -> None:
    """A dim that is broadcast to another: it must be that or 1."""
    if not b.checks or b.facts.canonical(have) == Dim.of(1):
        return
    if "?" not in want.symbols and b.facts.relate(want, have) in ("equal", "right1"):
        return
    m, n = sizes()
    if isinstance(m, Sym) or isinstance(n, Sym):
        fits = b.sym(m) == n
        b.check(
            fits if not isinstance(n, Sym) and n == 1 else (b.sym(m) == 1) | fits,
            exception,
            *message(),
        )
    else:
        b.check(m in (1, n), exception, *message())


def shape_parts(sizes: Sequence[Any]) -> Parts:
    """A shape as parts of a message: "(2,3)" with run-time sizes in their places."""
    parts: list[Any] = ["("]
    for i, s in enumerate(sizes):
        parts += [*([","] if i else []), str(s) if isinstance(s, int) else s]
    return (*parts, ",)" if len(sizes) == 1 else ")")


# ---------------------------------------------------------------- arguments of surfaces


def static(value: Any, what: str) -> Any:
    """A value that must be known while compiling."""
    value = known(value)
    if isinstance(value, (tuple, list)):
        return type(value)(static(v, what) for v in value)
    if isinstance(value, Sym):
        raise NeedStatic(value, what)
    return value


def axis_of(b: Builder, axis: Any, ndim: int, what: str = "axis") -> int:
    """One axis, counted from the front."""
    axis = static(axis, what)
    if not hasattr(axis, "__index__"):
        raise TypeError_(f"{what} must be an integer, not {axis!r}", span=span_of(b))
    axis = axis.__index__()
    if not -ndim <= axis < ndim:
        message = f"{what} {axis} is out of bounds for array of dimension {ndim}"
        raise ValueError_(message, span=span_of(b))
    return axis % ndim


def axes_of(b: Builder, axes: Any, ndim: int, what: str = "axis") -> tuple[int, ...]:
    """One axis or several, in the order given, none twice."""
    axes = static(axes, what)
    found = tuple(
        axis_of(b, a, ndim, what) for a in (axes if isinstance(axes, (tuple, list)) else (axes,))
    )
    if len(set(found)) != len(found):
        raise ValueError_(f"repeated {what}", span=span_of(b))
    return found


def refuse(b: Builder, message: str, advice: str = "") -> UnsupportedError:
    return UnsupportedError(message, span=span_of(b), advice=advice)


def invalid(b: Builder, message: str) -> ValueError_:
    return ValueError_(message, span=span_of(b))


def span_of(b: Builder) -> Span | None:
    return b.origin.span if b.origin else None
