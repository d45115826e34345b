"""Arithmetic operators, `strong_mul`, minimum and maximum, `clip`, `where` and `cast`.

Many of these have kinks; `kinks=` states the convention for the derivative there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.errors import UnsupportedError
from ...ir.nodes import COMPLEX, FLOATS, Array, Scalar, Type, is_complex, is_float
from ...ir.op_registry import SURFACES, Rule, register, surface
from ...ir.precedence import ADD, ATOM, MUL, TERNARY, Text, wrap
from .. import operation_text
from ..declare import (
    as_numpy_scalar,
    as_operand,
    constant_like,
    constant_scalar,
    elementwise,
    elementwise_infer,
    refuse_keywords,
    strong_product,
)
from ..promotion import is_weak

# ---------------------------------------------------------------- arithmetic


@elementwise("numpy.add", text=operation_text.infix("+", ADD), python=True)
def add(x, y):
    return 1, 1


@elementwise("numpy.subtract", text=operation_text.infix("-", ADD), python=True)
def subtract(x, y):
    return 1, -1


@elementwise("numpy.multiply", text=operation_text.infix("*", MUL), python=True)
def multiply(x, y):
    return y, x


@elementwise(
    "numpy.divide",
    "numpy.true_divide",
    text=operation_text.infix("/", MUL),
    singular=True,
    python=True,
)
def divide(x, y, *, out):
    return 1.0 / y, -out / y


@elementwise(
    "numpy.floor_divide", text=operation_text.infix("//", MUL), python=True, kinks="zero derivative"
)
def floor_divide(x, y):
    return 0, 0


@elementwise(
    "numpy.remainder", "numpy.mod", text=operation_text.infix("%", MUL), singular=True, python=True
)
def remainder(x, y):
    return 1, -(x // y)


@elementwise("numpy.fmod", "math.fmod", singular=True)
def fmod(x, y):
    return 1, -np.trunc(x / y)


@elementwise("numpy.negative", text=operation_text.prefix("-"), python=True)
def negative(x):
    return -1


@elementwise("numpy.positive", text=operation_text.prefix("+"), python=True)
def positive(x):
    return 1


def _power(x, y, out):
    """Partials of `power`; a constant exponent gives a simpler partial in the base."""
    n = constant_scalar(y)
    if n is None:
        # At base 0 the partial in the exponent is 0; log(1) avoids log(0) there.
        by_base = np.where(y == 0, 0.0, y * x ** (y - 1))
        return by_base, np.where(x == 0, 0.0, out * np.log(np.where(x == 0, 1.0, x)))
    by_exponent = np.where(x == 0, 0.0, out * np.log(np.where(x == 0, 1.0, x)))
    if n in (0, 1):
        return int(n), by_exponent
    if n == 2:
        return 2.0 * x, by_exponent
    return (n if isinstance(n, complex) else float(n)) * x ** (n - 1), by_exponent


@elementwise(
    "numpy.power",
    text=operation_text.power,
    singular=True,
    python=True,
    kinks="exact at base 0: pow(0, 0) has derivative 0 in both operands",
)
def power(x, y, *, out):
    return _power(x, y, out)


@elementwise("numpy.float_power", singular=True, kinks="as power")
def float_power(x, y, *, out):
    return _power(x, y, out)


@elementwise(
    "numpy.absolute",
    "numpy.abs",
    text=operation_text.by_weakness(operation_text.call("abs"), operation_text.call("np.abs")),
    python=True,
    kinks="0 at 0",
)
def absolute(x):
    return np.sign(x)


@elementwise("numpy.fabs", "math.fabs", kinks="0 at 0")
def fabs(x):
    return np.sign(x)


@elementwise("numpy.copysign", "math.copysign", kinks="0 at x = 0")
def copysign(x, y):
    return np.sign(x) * np.copysign(1.0, y), 0


@elementwise("numpy.nextafter", "math.nextafter")
def nextafter(x, y):
    return 1, 0


@elementwise("numpy.heaviside", kinks="0 in x everywhere")
def heaviside(x, y):
    return 0, x == 0


# ---------------------------------------------------------------- strong products


def _strong_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: Any, wanted: Any
) -> dict[int, Any]:
    x, p = args
    bars = {}
    if 0 in wanted and is_float(b.sym(x).type):
        bars[0] = b.emit("strong_mul", g, p)
    if 1 in wanted and is_float(b.sym(p).type):
        # Where x is 0 the result does not depend on p, even if the cotangent is infinite or nan.
        bars[1] = b.emit("strong_mul", x, g)
    return bars


def _strong_pushforward(b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: Any) -> Any:
    x, p = args
    terms = []
    if dots[0] is not None:
        terms.append(b.emit("strong_mul", dots[0], p))
    if dots[1] is not None:
        terms.append(b.emit("strong_mul", x, dots[1]))
    return terms[0] if len(terms) == 1 else terms[0] + terms[1] if terms else None


register(
    Rule(
        "strong_mul",
        "elementwise",
        elementwise_infer("strong_mul", python=False),
        evaluate=strong_product,
        text=operation_text.call("strong_mul"),
        pullback=_strong_pullback,
        pushforward=_strong_pushforward,
        differentiable=(0, 1),
        singular=True,
        doc="g * p, but 0 where g is 0, even if p is infinite or nan",
    )
)


# ---------------------------------------------------------------- minimum, maximum, clip

_TIES = "a tie is split evenly"


def _largest(x, y, out):
    """Partials of `maximum`: a tie is split evenly."""
    half = constant_like(0.5, out) * (x == y)
    return (x > y) + half, (x < y) + half


@elementwise(
    "numpy.maximum",
    text=operation_text.by_weakness(operation_text.call("max"), operation_text.call("np.maximum")),
    python=True,
    kinks=_TIES,
)
def maximum(x, y, *, out):
    return _largest(x, y, out)


@elementwise(
    "numpy.minimum",
    text=operation_text.by_weakness(operation_text.call("min"), operation_text.call("np.minimum")),
    python=True,
    kinks=_TIES,
)
def minimum(x, y, *, out):
    by_x, by_y = _largest(x, y, out)
    return by_y, by_x


def _largest_number(x, y, out):
    """Partials of `fmax`: as `_largest`, but if one operand is nan the other has partial 1."""
    half = constant_like(0.5, out) * (x == y)
    return ((x > y) | np.isnan(y)) + half, ((x < y) | np.isnan(x)) + half


@elementwise("numpy.fmax", kinks=_TIES)
def fmax(x, y, *, out):
    return _largest_number(x, y, out)


@elementwise("numpy.fmin", kinks=_TIES)
def fmin(x, y, *, out):
    half = constant_like(0.5, out) * (x == y)
    return ((x < y) | np.isnan(y)) + half, ((x > y) | np.isnan(x)) + half


@elementwise(text=operation_text.call("np.clip"), evaluate=np.clip, kinks="1 at a bound")
def clip(x, lo, hi):
    by_hi = (x > hi) | (lo > hi)
    return (x >= lo) & (x <= hi), (x < lo) & (lo <= hi), by_hi


@elementwise(text=operation_text.call("np.maximum"), evaluate=np.maximum, kinks="1 at the bound")
def clip_low(x, lo):
    return x >= lo, x < lo


@elementwise(text=operation_text.call("np.minimum"), evaluate=np.minimum, kinks="1 at the bound")
def clip_high(x, hi):
    return x <= hi, x > hi


MISSING: Any = object()  # default of arguments for which None has a meaning


@surface("numpy.clip")
def build_clip(
    b: Builder, a: Any, a_min: Any = MISSING, a_max: Any = MISSING, out: Any = None, **keywords: Any
) -> Sym:
    if (a_min is MISSING) != (a_max is MISSING):
        name = "a_min" if a_min is MISSING else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: {name!r}")
    if a_min is not MISSING and keywords.keys() & {"min", "max"}:
        raise ValueError("clip() takes a_min and a_max, or min and max, but not both")
    a_min, a_max = (None if v is MISSING else v for v in (a_min, a_max))
    lo, hi = keywords.pop("min", a_min), keywords.pop("max", a_max)
    refuse_keywords("numpy.clip", {"out": out, **keywords})
    x = as_numpy_scalar(as_operand(b, a))
    lo, hi = _reachable(b, x, lo, "min"), _reachable(b, x, hi, "max")
    if lo is None and hi is None:
        return x
    if hi is None:
        return b.emit("clip_low", x, as_operand(b, lo))
    if lo is None:
        return b.emit("clip_high", x, as_operand(b, hi))
    return b.emit("clip", x, as_operand(b, lo), as_operand(b, hi))


def _reachable(b: Builder, x: Sym, bound: Any, end: str) -> Any:
    """The bound of a clip of an integer array, or None if it has no effect.

    A Python integer at or beyond this `end` ("min" or "max") of the range of the array's dtype has
    no effect.  One known only at run time is clamped to that range."""
    if bound is None or isinstance(bound, (list, tuple)) or np.dtype(x.dtype).kind not in "iu":
        return bound
    scalar = b.sym(bound)
    if not is_weak(scalar.type) or scalar.dtype != "int64":
        return bound
    limit = int(getattr(np.iinfo(x.dtype), end))
    value = constant_scalar(scalar)
    if value is not None:
        return None if (value <= limit if end == "min" else value >= limit) else bound
    if end == "max" and limit > np.iinfo("int64").max:
        return bound
    return b.emit("maximum" if end == "min" else "minimum", scalar, limit)


@surface("numpy.ndarray.clip")
def build_method_clip(
    b: Builder, a: Any, min: Any = None, max: Any = None, out: Any = None, **keywords: Any
) -> Sym:
    return build_clip(b, a, min, max, out, **keywords)


# ---------------------------------------------------------------- where


def _where_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: Any, wanted: Any
) -> dict[int, Any]:
    c, x, y = args
    bars = {}
    # A select, not a product with a mask: an infinite cotangent must not reach the other operand.
    if 1 in wanted and is_float(b.sym(x).type):
        bars[1] = b.emit("where", c, g, 0.0)
    if 2 in wanted and is_float(b.sym(y).type):
        bars[2] = b.emit("where", c, 0.0, g)
    return bars


def _where_pushforward(b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: Any) -> Any:
    _, x_dot, y_dot = dots
    if x_dot is None and y_dot is None:
        return None
    return b.emit(
        "where", args[0], 0.0 if x_dot is None else x_dot, 0.0 if y_dot is None else y_dot
    )


def _where_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    if any(t.ndim for t in types):
        return operation_text.call_text("np.where", args)
    c, x, y = args
    chosen, other = wrap(x, TERNARY + 1), wrap(y, TERNARY)
    return f"{chosen} if {wrap(c, TERNARY + 1)} else {other}", TERNARY


def _where(c: Any, x: Any, y: Any) -> Any:
    return np.where(c, x, y)[()]


register(
    Rule(
        "where",
        "elementwise",
        elementwise_infer("where", python=True),
        evaluate=_where,
        text=_where_text,
        pullback=_where_pullback,
        pushforward=_where_pushforward,
        differentiable=(1, 2),
        doc="x where c is true, y elsewhere",
    )
)


@surface("numpy.where")
def build_where(b: Builder, condition: Any, *choices: Any) -> Any:
    if not choices:
        return SURFACES["numpy.nonzero"](b, condition)
    if len(choices) != 2:
        raise ValueError("either both or neither of x and y should be given")
    x, y = (as_operand(b, v) for v in choices)
    c = as_operand(b, condition)
    return as_numpy_scalar(b.emit("where", c if c.dtype == "bool" else c != 0, x, y))


# ---------------------------------------------------------------- cast


def _cast_infer(
    b: Builder, types: Sequence[Type], attrs: dict[str, Any], operands: Any = None
) -> Type:
    x, dtype = types[0], attrs["dtype"]
    assert isinstance(x, (Scalar, Array)), x
    if is_complex(x) and dtype not in COMPLEX and dtype != "bool":
        raise UnsupportedError(
            f"converting complex numbers to {dtype} would drop their imaginary parts",
            advice="take .real first",
        )
    if x.ndim:
        return Array(dtype, x.shape)
    known = x.value if isinstance(x, Scalar) and x.dtype == dtype == "int64" else None
    return Scalar(dtype, attrs.get("weak", False), known)


def _cast_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    dtype = attrs["dtype"]
    if types[0].ndim:
        return operation_text.call_text(
            f"{wrap(args[0], ATOM)}.astype", [(operation_text.dtype_text(dtype), ATOM)]
        )
    if attrs.get("weak"):
        return operation_text.call_text(dtype.rstrip("0123456789"), args)
    return operation_text.call_text(operation_text.dtype_text(dtype), args)


def _cast(x: Any, dtype: str, weak: bool = False) -> Any:
    return np.asarray(x).astype(dtype)[()]


def _cast_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    source = b.sym(args[0]).dtype
    if 0 not in wanted or attrs["dtype"] not in FLOATS:
        return {}
    return {0: b.sym(g).astype(source)} if is_float(b.sym(args[0]).type) else {}


def _cast_pushforward(
    b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: dict[str, Any]
) -> Any:
    if dots[0] is None or not is_float(b.sym(out).type):
        return None
    return b.sym(dots[0]).astype(attrs["dtype"])


register(
    Rule(
        "cast",
        "elementwise",
        _cast_infer,
        evaluate=_cast,
        text=_cast_text,
        pullback=_cast_pullback,
        pushforward=_cast_pushforward,
        differentiable=(0,),
        doc="conversion to another dtype; `weak` makes a scalar a Python number",
    )
)
