"""Sizes, axes and compile-time constants: queries and checks shared by rules and surfaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..ir.builder import OPEN, Builder, Sym
from ..ir.errors import S2STypeError, S2SValueError, UnsupportedError
from ..ir.nodes import Const, Operand, Span, symbolic_value
from ..ir.op_registry import NeedStatic
from ..ir.symbolic_dims import Dim

Parts = tuple[Any, ...]

# Upper bound of an element count: processors have a user address space of 47 bits.
MAX_ELEMENTS = 1 << 47
TOO_LARGE_MESSAGE = "array is too big"


def constant_value(value: Any) -> Any:
    """The Python value of a constant Sym; any other value unchanged."""
    if isinstance(value, Sym) and isinstance(value.operand, Const):
        return value.operand.value
    return value


def symbolic_size(x: Operand) -> Dim:
    """The symbolic value of an int operand as a dim; open if there is none."""
    value = symbolic_value(x)
    return OPEN if value is None else value


def iota(b: Builder, count: Any, dtype: str = "int64") -> Sym:
    """The integers from 0 to count - 1."""
    return b.emit("arange", 0, count, 1, dtype=dtype)


def product(sizes: Iterable[Any]) -> Any:
    """The product of sizes; constant factors are folded at compile time."""
    constant, total = 1, None
    for s in map(constant_value, sizes):
        if isinstance(s, Sym):
            total = s if total is None else total * s
        else:
            constant *= s
    if total is None:
        return constant
    return total if constant == 1 else total * constant


def size_of(b: Builder, x: Any, axis: int) -> Any:
    """The size of one axis: an int if it is constant, otherwise a Sym."""
    return constant_value(b.dim_value(b.sym(x).type.shape[axis], (x, axis)))


def require_equal(
    b: Builder,
    left: Dim,
    right: Dim,
    sizes: Callable[[], tuple[Any, Any]],
    exception: str,
    message: Callable[[Any, Any], Parts],
) -> None:
    """Require that two dims are equal.

    No code is emitted if the facts prove it, or guard it on the sizes of the actual arguments.
    Otherwise a run-time check is emitted; `message` builds the error text from both sizes."""
    if not b.checks or b.facts.relate(left, right) == "equal":
        return
    m, n = sizes()
    parts = tuple(str(p) if isinstance(p, int) else p for p in message(m, n))
    b.check(
        b.sym(m) == n if isinstance(m, Sym) or isinstance(n, Sym) else m == n, exception, *parts
    )


def require_broadcastable(
    b: Builder,
    have: Dim,
    want: Dim,
    sizes: Callable[[], tuple[Any, Any]],
    exception: str,
    message: Callable[[], Parts],
) -> None:
    """Require that dim `have` broadcasts to dim `want`: they are equal or `have` is 1."""
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
    """A shape as parts of an error message: "(2,3)", with run-time sizes as Syms."""
    parts: list[Any] = ["("]
    for i, s in enumerate(sizes):
        parts += [*([","] if i else []), str(s) if isinstance(s, int) else s]
    return (*parts, ",)" if len(sizes) == 1 else ")")


# ---------------------------------------------------------------- arguments of surfaces


def require_static(value: Any, what: str) -> Any:
    """The compile-time constant `value`; raises NeedStatic if it is a run-time value."""
    value = constant_value(value)
    if isinstance(value, (tuple, list)):
        return type(value)(require_static(v, what) for v in value)
    if isinstance(value, Sym):
        raise NeedStatic(value, what)
    return value


def require_flag(b: Builder, value: Any, what: str) -> bool:
    """A compile-time flag, as keepdims=: a bool or, as in NumPy, an integer."""
    value = require_static(value, what)
    if not hasattr(value, "__index__"):
        raise S2STypeError(f"{what} must be True or False, not {value!r}", span=span_of(b))
    return bool(value)


def axis_of(b: Builder, axis: Any, ndim: int, what: str = "axis") -> int:
    """One axis as a non-negative int."""
    axis = require_static(axis, what)
    if not hasattr(axis, "__index__"):
        raise S2STypeError(f"{what} must be an integer, not {axis!r}", span=span_of(b))
    axis = axis.__index__()
    if not -ndim <= axis < ndim:
        message = f"{what} {axis} is out of bounds for array of dimension {ndim}"
        raise S2SValueError(message, span=span_of(b))
    return axis % ndim


def axes_of(b: Builder, axes: Any, ndim: int, what: str = "axis") -> tuple[int, ...]:
    """One axis or a sequence of distinct axes as non-negative ints, in the order given."""
    axes = require_static(axes, what)
    found = tuple(
        axis_of(b, a, ndim, what) for a in (axes if isinstance(axes, (tuple, list)) else (axes,))
    )
    if len(set(found)) != len(found):
        raise S2SValueError(f"repeated {what}", span=span_of(b))
    return found


def unsupported_error(b: Builder, message: str, advice: str = "") -> UnsupportedError:
    """An UnsupportedError at the builder's current source position, to be raised."""
    return UnsupportedError(message, span=span_of(b), advice=advice)


def value_error(b: Builder, message: str) -> S2SValueError:
    """A ValueError at the builder's current source position, to be raised."""
    return S2SValueError(message, span=span_of(b))


def span_of(b: Builder) -> Span | None:
    """The source span of the statement that is being translated, if there is one."""
    return b.origin.span if b.origin else None
