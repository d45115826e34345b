"""Declaration of elementwise operations, and conversions of operands shared by all surfaces.

An elementwise operation is declared by one function that returns its partial derivatives.  The
function is NumPy code that runs on scalars, arrays and `Sym`s.  Type inference, pullback,
pushforward, source text and surfaces are derived from it:

    @elementwise("numpy.tanh", "math.tanh")
    def tanh(x, *, out):
        return 1.0 - out * out
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder, Sym
from ..ir.errors import UnsupportedError
from ..ir.nodes import (
    FLOATS,
    Array,
    Assign,
    Const,
    Op,
    Scalar,
    Type,
    is_complex,
    is_float,
    operands_of,
)
from ..ir.op_registry import SURFACES, Rule, register, surface
from ..ir.symbolic_dims import Dim, floordiv, remainder
from . import sign_analysis
from .axes_and_sizes import constant_value
from .broadcasting import infer_broadcast_shape
from .dtypes import as_dtype, require_cast
from .integer_range_checks import require_in_range
from .operation_text import TextRule, call
from .promotion import (
    BOOL_AS_INT_OPS,
    COMPARISONS,
    compute_dtype,
    converted_operands,
    is_weak,
    result_dtype,
)

Partials = Callable[..., Any]


def elementwise(
    *paths: str,
    text: TextRule | None = None,
    evaluate: Callable[..., Any] | None = None,
    singular: bool = False,
    python: bool = False,
    order: bool = False,
    kinks: str = "",
    doc: str = "",
) -> Callable[[Partials], Partials]:
    """Register the operation named after the decorated function, and its surfaces `paths`.

    `singular`: a partial may be infinite; products with it use `strong_mul` (0 where the cotangent
    is 0).
    `order`: the first operand is an integer and not differentiable.
    `python`: the source text yields a Python scalar for Python scalars, so the result is weakly
    typed.
    If the function has a keyword parameter `out`, it is passed the operation's result."""

    def declare(partials: Partials) -> Partials:
        name = partials.__name__
        parameters = inspect.signature(partials).parameters.values()
        arity = sum(p.kind is not p.KEYWORD_ONLY for p in parameters)
        rule = Rule(
            name,
            "elementwise",
            elementwise_infer(name, python),
            evaluate=evaluate or (python_semantics(name) if python else getattr(np, name)),
            text=text or call(f"np.{name}"),
            partials=partials,
            pullback=elementwise_pullback(partials, singular),
            pushforward=elementwise_pushforward(partials, singular),
            differentiable=tuple(range(1 if order else 0, arity)),
            singular=singular,
            kinks=kinks,
            doc=doc or (partials.__doc__ or "").strip(),
        )
        register(rule)
        for path in paths:
            surface(path)(ufunc_surface(name, arity, path))
        return partials

    return declare


def python_semantics(name: str) -> Callable[..., Any]:
    """The NumPy ufunc `name`, with Python semantics if all operands are Python scalars.

    A bool counts as an int; an int to a negative int power is a float."""
    function = getattr(np, name)

    def evaluate(*args: Any) -> Any:
        if all(type(a) is bool for a in args) and name in BOOL_AS_INT_OPS:
            return function(*(int(a) for a in args))
        if name == "power" and all(type(a) is int for a in args) and args[1] < 0:
            return function(float(args[0]), args[1])
        return function(*args)

    return evaluate


# ---------------------------------------------------------------- types


def elementwise_infer(name: str, python: bool) -> Callable[..., Type]:
    """Type inference of an elementwise operation: broadcast shape, promoted dtype, weak typing.

    A 0-d int64 result also gets a symbolic value if the values of all operands are known."""
    value_of = _SYMBOLIC_VALUES.get(name)

    def infer(b: Builder, types: Sequence[Type], attrs: Any, operands: Any = None) -> Type:
        shapes = []
        for t in types:
            if not isinstance(t, (Scalar, Array)):
                raise UnsupportedError(f"{name} of {_kind(t)}", advice="take an element or a field")
            shapes.append(t.shape)
        dtype = result_dtype(name, types)
        if operands is not None and name not in COMPARISONS:
            for operand in converted_operands(name, operands):
                require_in_range(b, operand, compute_dtype(name, types))
        if any(t.ndim for t in types):
            return Array(dtype, infer_broadcast_shape(b, *shapes))
        value_types = types[1:] if name == "where" else types
        weak = python and all(map(is_weak, value_types))
        return Scalar(dtype, weak, _int_value(value_of, types) if dtype == "int64" else None)

    return infer


def _kind(type_: Type) -> str:
    return {"ListOf": "a list", "Record": "a record"}.get(type(type_).__name__, "this")


def _int_value(value_of: Callable[..., Dim | None] | None, types: Sequence[Type]) -> Dim | None:
    values = [t.value if isinstance(t, Scalar) else None for t in types]
    if value_of is None or any(v is None for v in values):
        return None
    return value_of(*values)


# Operations on int64 scalars whose result has a symbolic value.
_SYMBOLIC_VALUES: dict[str, Callable[..., Dim | None]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "floor_divide": lambda x, y: None if y == Dim.of(0) else floordiv(x, y),
    "remainder": lambda x, y: None if y == Dim.of(0) else remainder(x, y),
}


# ---------------------------------------------------------------- derivatives


def _call_partials(partials: Partials, args: Sequence[Any], out: Any) -> tuple[Any, ...]:
    takes_out = "out" in inspect.signature(partials).parameters
    result = partials(*args, out=out) if takes_out else partials(*args)
    return result if isinstance(result, tuple) else (result,)


def elementwise_pullback(partials: Partials, singular: bool) -> Callable[..., dict[int, Any]]:
    def pullback(
        b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: Any, wanted: Iterable[int]
    ) -> dict[int, Any]:
        g, out, args = b.sym(g), b.sym(out), [b.sym(a) for a in args]
        active = [i for i in sorted(wanted) if is_float(args[i].type)]
        with eliminate_dead_code(b) as kept:
            slopes = _call_partials(partials, args, out)
            bars = {i: multiply_by_partial(b, g, slopes[i], singular) for i in active}
            kept += bars.values()
        return {i: bar for i, bar in bars.items() if bar is not None}

    return pullback


def elementwise_pushforward(partials: Partials, singular: bool) -> Callable[..., Any]:
    def pushforward(
        b: Builder, dots: Sequence[Any], out: Any, args: Sequence[Any], attrs: Any
    ) -> Any:
        out, args = b.sym(out), [b.sym(a) for a in args]
        total = None
        with eliminate_dead_code(b) as kept:
            slopes = _call_partials(partials, args, out)
            for dot, slope in zip(dots, slopes, strict=True):
                term = None if dot is None else multiply_by_partial(b, b.sym(dot), slope, singular)
                if term is not None:
                    total = term if total is None else total + term
            kept.append(total)
        return total

    return pushforward


def multiply_by_partial(b: Builder, g: Sym, slope: Any, singular: bool = False) -> Sym | None:
    """The product of a cotangent or tangent `g` with a partial, in simplified form.

    Returns None if the partial is the constant 0."""
    if isinstance(slope, Sym) and isinstance(slope.operand, Const):
        slope = slope.operand.value
    if not isinstance(slope, Sym):
        if slope == 0:
            return None
        if slope in (1, -1):
            return g if slope == 1 else -g
        return g * (slope if isinstance(slope, complex) else float(slope))
    # Definitions of this block belong to the partial: they may be analysed and rewritten.
    definitions = {s.target.name: s.op for s in b.block if isinstance(s, Assign)}
    if singular and not sign_analysis.finite(b, slope.operand, definitions):
        return b.emit("strong_mul", g, slope)
    return _product(b, g, slope, definitions)


def _product(b: Builder, g: Sym, slope: Sym, definitions: Mapping[str, Op]) -> Sym:
    """g * slope, with the quotients, signs and constants of the slope applied to g one by one.

    Emits `g / x` instead of `g * (1.0 / x)`."""
    if isinstance(slope.operand, Const):
        value = slope.operand.value
        return g if value == 1 else -g if value == -1 else g * slope
    op = definitions.get(slope.operand.name)
    if op is not None and op.name == "divide":
        return _product(b, g, b.sym(op.args[0]), definitions) / b.sym(op.args[1])
    if op is not None and op.name == "negative":
        return _product(b, -g, b.sym(op.args[0]), definitions)
    if op is not None and op.name == "multiply" and isinstance(op.args[0], Const):
        return _product(b, g, b.sym(op.args[0]), definitions) * b.sym(op.args[1])
    return g * slope


class eliminate_dead_code:
    """Context manager: emit into a scratch block, then eliminate dead assignments.

    On exit, only the statements that the results in `kept` depend on are appended to the outer
    block."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.kept: list[Any] = []

    def __enter__(self) -> list[Any]:
        self.outer, self.b.block = self.b.block, []
        return self.kept

    def __exit__(self, kind: Any, *exc: Any) -> None:
        scratch, self.b.block = self.b.block, self.outer
        if kind is not None:
            return
        results = [k.operand for k in self.kept if isinstance(k, Sym)]
        needed = {o.name for o in results if not isinstance(o, Const)}
        live = []
        for stmt in reversed(scratch):
            if isinstance(stmt, Assign) and stmt.target.name not in needed:
                continue
            live.append(stmt)
            needed |= {o.name for o in operands_of(stmt) if not isinstance(o, Const)}
        self.b.block += reversed(live)


def constant_like(value: float, like: Any) -> Any:
    """`value` in the dtype of `like`, so that a scaled bool stays float32 in float32 code."""
    if isinstance(like, Sym):
        if is_weak(like.type) or like.dtype == "float64" or not is_float(like.type):
            return value
        return like.b.sym(np.dtype(like.dtype).type(value))
    return (
        np.result_type(like, 0.0).type(value)
        if isinstance(like, (np.ndarray, np.generic))
        else value
    )


def constant_scalar(x: Any) -> Any:
    """The compile-time constant scalar that `x` is, or None."""
    if isinstance(x, Sym):
        return x.operand.value if isinstance(x.operand, Const) else None
    return x if isinstance(x, (bool, int, float, complex)) else None


def strong_product(g: Any, p: Any) -> Any:
    """g * p, but 0 where g is 0, for scalars, arrays and Syms."""
    for x in (g, p):
        if isinstance(x, Sym):
            return x.b.emit("strong_mul", g, p)
    with np.errstate(all="ignore"):
        product = np.multiply(g, p)
        return np.where(np.equal(g, 0), product.dtype.type(0), product)[()]


# ---------------------------------------------------------------- surfaces


def ufunc_surface(name: str, arity: int, path: str) -> Callable[..., Any]:
    """The surface of an elementwise function: `numpy.exp(x)` and `math.exp(x)` emit `exp`.

    NumPy functions return NumPy scalars.  Functions of `math` take and return Python scalars."""
    of_math = path.startswith("math.")

    def build(b: Builder, *args: Any, **keywords: Any) -> Any:
        dtype = None if of_math else keywords.pop("dtype", None)
        if dtype is not None:
            if result_dtype(name, [Scalar("float64")] * arity) == "bool":
                refuse_keywords(path, {"dtype": dtype})
            wanted = float_dtype(path, dtype)
            operands = [as_operand(b, a) for a in args]
            for x in operands:
                require_cast(x, wanted, "same_kind")
            args = tuple(x.astype(wanted) for x in operands)
        if constant_value(keywords.get("where", True)) is True:
            keywords.pop("where", None)
        refuse_keywords(path, keywords)
        if len(args) > arity and not of_math:
            refuse_keywords(path, {"out": args[arity]})
        if len(args) != arity:
            raise TypeError(
                f"{path.rpartition('.')[2]}() takes {arity} arguments, {len(args)} given"
            )
        if of_math:
            return as_python_scalar(b.emit(name, *(as_python_float(b, a) for a in args)))
        operands = [_numpy_bool(as_operand(b, a)) for a in args]
        if path.startswith("scipy."):
            operands = scipy_operands(operands, name in _FLOAT32_FOR_SMALL_INTS)
        return as_numpy_scalar(b.emit(name, *operands))

    build.__name__ = name
    build.__doc__ = f"{path} is the operation `{name}`"
    return build


def _numpy_bool(x: Sym) -> Sym:
    """A Python bool as a NumPy bool: ufuncs keep it a bool, Python operators count it as int."""
    return as_numpy_scalar(x) if x.dtype == "bool" else x


# Functions that SciPy computes in float32 for small integers.
_FLOAT32_FOR_SMALL_INTS = ("erfinv", "erfcinv", "ndtri", "iv", "ive", "jv")


def scipy_operands(operands: Sequence[Sym], single: bool) -> list[Sym]:
    """The operands, cast to the dtype in which a function of scipy.special computes.

    SciPy has a float32 and a float64 loop for each function, and takes the first loop to which all
    operands convert without loss.  With `single` the float32 loop comes first.  Without it, float32
    is used only if all operands are float32."""
    if any(is_complex(x.type) for x in operands):
        return list(operands)
    if single:
        strong = [np.dtype(x.dtype) for x in operands if not is_weak(x.type)]
        weak = [float(0) if is_float(x.type) else 0 for x in operands if is_weak(x.type)]
        weak = [np.result_type(*strong, w) for w in weak]
        narrow = bool(strong) and all(np.can_cast(d, "float32") for d in (*strong, *weak))
    else:
        narrow = all(x.dtype == "float32" for x in operands)
    dtype = "float32" if narrow else "float64"
    return [x if x.dtype == dtype and not is_weak(x.type) else x.astype(dtype) for x in operands]


def float_dtype(path: str, dtype: Any) -> str:
    """The name of the dtype passed as dtype= to a ufunc; it must be a float dtype."""
    name = as_dtype(dtype)
    if name not in FLOATS:
        raise UnsupportedError(f"{path} with dtype={name}", advice="convert the result instead")
    return name


# Keywords of NumPy's functions, of `min` and of `max`, for which None is the default.
_DEFAULT_NONE = frozenset(
    "casting copy device dtype key like method ndmin order out signature subok where".split()
)


def refuse_keywords(path: str, keywords: dict[str, Any]) -> None:
    """Raise UnsupportedError for the first keyword that is given, and TypeError for one that is
    None where the function has no such default."""
    for keyword, value in keywords.items():
        if value is not None:
            advice = "assign the result instead" if keyword == "out" else f"leave out {keyword}="
            raise UnsupportedError(f"{path} with {keyword}= is not supported", advice=advice)
        if keyword not in _DEFAULT_NONE:
            raise TypeError(f"{path} takes no {keyword}=None")


def as_operand(b: Builder, value: Any) -> Sym:
    """The Sym of a scalar or array; a nested sequence of them is packed into an array."""
    if isinstance(value, (list, tuple)):
        return SURFACES["numpy.array"](b, value)
    return b.sym(value)


def as_numpy_scalar(x: Sym) -> Sym:
    """`x` as a NumPy scalar: a Python scalar is cast to its own dtype, without weak typing."""
    return x.b.emit("cast", x, dtype=x.dtype) if is_weak(x.type) else x


def as_python_scalar(x: Sym) -> Sym:
    """The Python scalar (bool, int, float, complex) that a NumPy scalar converts to."""
    if is_weak(x.type):
        return x
    dtype = "float64" if is_float(x.type) else "int64"
    dtype = x.dtype if x.dtype == "bool" else "complex128" if is_complex(x.type) else dtype
    return x.b.emit("cast", x, dtype=dtype, weak=True)


def as_python_float(b: Builder, value: Any) -> Sym:
    """`float(value)` as a Sym."""
    x = b.sym(value)
    if not isinstance(x.type, (Scalar, Array)) or x.ndim:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    if is_complex(x.type):
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    if is_weak(x.type) and x.dtype == "float64":
        return x
    if isinstance(x.operand, Const):
        return b.sym(float(x.operand.value))
    return b.emit("cast", x, dtype="float64", weak=True)
