"""Surfaces of Python's builtins, of `math`, and of dtype conversions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.errors import UnsupportedError
from ...ir.nodes import Array, Const, Scalar, is_complex, is_float
from ...ir.op_registry import SURFACES, surface
from ...ir.path_kinds import least
from ...ir.record import replace
from ..axes_and_sizes import constant_value, require_static
from ..declare import (
    as_numpy_scalar,
    as_operand,
    as_python_float,
    as_python_scalar,
    refuse_keywords,
)
from ..dtypes import SUPPORTED, as_dtype, require_cast
from ..integer_range_checks import require_in_range, require_no_float_overflow
from ..promotion import is_weak, join_conflict, join_types, phi_operand_type, result_dtype

# ---------------------------------------------------------------- conversions


@surface("numpy.ndarray.astype", "numpy.astype")
def build_astype(b: Builder, a: Any, dtype: Any, *args: Any, **keywords: Any) -> Sym:
    """`x.astype(dtype)`; `order` and `subok` do not affect values and are ignored."""
    x = b.sym(a)
    dtype = as_dtype(dtype)
    casting = require_static(
        args[1] if len(args) > 1 else keywords.get("casting", "unsafe"), "casting"
    )
    require_cast(x, dtype, casting)
    if isinstance(x.type, Array) and x.dtype == dtype:
        copy = args[3] if len(args) > 3 else keywords.get("copy", True)
        return b.emit("copy", x) if require_static(copy, "copy") else x
    return b.emit("cast", x, dtype=dtype)


def _numpy_scalar(dtype: str) -> None:
    path = "numpy.bool_" if dtype == "bool" else f"numpy.{dtype}"

    @surface(path, *{"bool": ("numpy.bool",), "float64": ("numpy.double",)}.get(dtype, ()))
    def build(b: Builder, value: Any = 0) -> Sym:
        if isinstance(value, int):  # it need not fit in int64
            return b.sym(getattr(np, path.removeprefix("numpy."))(value))
        x = as_operand(b, value)
        require_in_range(b, x, dtype)
        return x if x.dtype == dtype and not is_weak(x.type) else b.emit("cast", x, dtype=dtype)


for _dtype in SUPPORTED:
    _numpy_scalar(_dtype)


def _python_scalar(b: Builder, value: Any, dtype: str) -> Sym:
    x = b.sym(value)
    if x.ndim:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    if is_complex(x.type) and dtype != "bool":
        word = "float" if dtype == "float64" else "int"
        raise TypeError(f"{word}() argument must be a string or a real number, not 'complex'")
    if isinstance(x.operand, Const):
        kind: Any = {"float64": float, "int64": int, "bool": bool}[dtype]
        return b.sym(kind(x.operand.value))
    if is_weak(x.type) and x.dtype == dtype:
        return x
    return b.emit("cast", x, dtype=dtype, weak=True)


@surface("builtins.float")
def build_float(b: Builder, x: Any = 0.0) -> Sym:
    return _python_scalar(b, x, "float64")


@surface("builtins.int", "math.trunc")
def build_int(b: Builder, x: Any = 0) -> Sym:
    return _python_scalar(b, x, "int64")


@surface("builtins.bool")
def build_bool(b: Builder, x: Any = False) -> Sym:
    return _python_scalar(b, x, "bool")


# ---------------------------------------------------------------- scalars


@surface("builtins.abs")
def build_abs(b: Builder, x: Any) -> Sym:
    return b.emit("absolute", x)


@surface("builtins.pow")
def build_pow(b: Builder, base: Any, exp: Any, mod: Any = None) -> Sym:
    if mod is not None:
        return _power_modulo(b, base, exp, mod)
    return b.emit("power", base, exp)


def _power_modulo(b: Builder, base: Any, exp: Any, mod: Any) -> Sym:
    """`pow(base, exp, mod)`: folded at compile time, or emitted if no product can overflow."""
    operands = [b.sym(v) for v in (base, exp, mod)]
    if not all(is_weak(x.type) and x.dtype in ("int64", "bool") for x in operands):
        raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")
    value, exponent, modulus = map(constant_value, operands)
    if not any(isinstance(v, Sym) for v in (value, exponent, modulus)):
        return b.sym(pow(int(value), int(exponent), int(modulus)))
    constant = not isinstance(exponent, Sym) and not isinstance(modulus, Sym)
    if not constant or exponent < 0 or modulus == 0 or abs(modulus) ** exponent >= 2**63:
        raise UnsupportedError(
            "pow() with a modulus, whose intermediate products may overflow",
            advice="write a loop of products",
        )
    rest = b.emit("remainder", value, modulus)
    return b.emit("remainder", b.emit("power", rest, exponent), modulus)


@surface("builtins.divmod", "numpy.divmod")
def build_divmod(b: Builder, x: Any, y: Any) -> tuple[Sym, Sym]:
    return b.emit("floor_divide", x, y), b.emit("remainder", x, y)


@surface("builtins.round")
def build_python_round(b: Builder, number: Any, ndigits: Any = None) -> Sym:
    x = b.sym(number)
    if ndigits is not None or x.ndim:
        rounded = build_round(b, x, 0 if ndigits is None else ndigits)
        return as_python_scalar(rounded) if is_weak(x.type) else rounded
    if x.dtype == "bool":
        return _python_scalar(b, x, "int64")
    if not is_float(x.type):
        return x
    return b.emit("cast", b.emit("rint", x), dtype="int64", weak=True)


@surface("numpy.round", "numpy.around", "numpy.ndarray.round")
def build_round(b: Builder, a: Any, decimals: Any = 0, out: Any = None) -> Sym:
    refuse_keywords("numpy.round", {"out": out})
    x, decimals = as_operand(b, a), require_static(decimals, "decimals")
    if x.dtype == "bool":
        raise UnsupportedError("rounding bools gives float16", advice="convert to float first")
    if not is_float(x.type):
        if decimals < 0:
            raise UnsupportedError("rounding integers to tens", advice="convert to float first")
        return as_numpy_scalar(x)
    if decimals == 0:
        return b.emit("rint", x)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return as_numpy_scalar(b.emit("rint", x * scale) / scale)
    return as_numpy_scalar(b.emit("rint", x / scale) * scale)


# ---------------------------------------------------------------- several values


def _choice(name: str, op: str) -> None:
    @surface(f"builtins.{name}")
    def build(b: Builder, *args: Any, **keywords: Any) -> Any:
        refuse_keywords(name, keywords)
        values = args
        if len(args) == 1:
            values = args[0]
            if isinstance(values, Sym):
                if values.ndim != 1:
                    raise UnsupportedError(
                        f"{name} of this value",
                        advice=f"use numpy.{name}, or give {name} several numbers",
                    )
                return b.emit(name, values, axis=None, keepdims=False)
        if not len(values):
            raise ValueError(f"{name}() iterable argument is empty")
        _refuse_arrays(b, name, values)
        return reduce(lambda x, y: _chosen(b, name, op, x, y), [b.sym(v) for v in values])


def _chosen(b: Builder, name: str, op: str, x: Sym, y: Sym) -> Sym:
    """`max` or `min` of two values; the result has the joined type of both, as a phi has."""
    conflict = join_conflict(x.type, y.type)
    if conflict:
        raise UnsupportedError(
            f"{name} of a number that is {conflict}", advice="convert both to one dtype first"
        )
    if not (isinstance(x.type, Scalar) and isinstance(y.type, Scalar)):
        return b.emit(op, x, y)
    joined = join_types(phi_operand_type(x.operand), phi_operand_type(y.operand))
    assert isinstance(joined, Scalar)
    kinds = [b.least_kind(x.operand), b.least_kind(y.operand)]
    if joined.mixed:
        for scalar in (x, y):
            require_in_range(b, scalar, joined.dtype)
        x, y = (b.emit("cast", v, dtype=joined.dtype, weak=joined.weak) for v in (x, y))
        result = b.emit(op, x, y).operand
        result = replace(result, type=replace(result.type, mixed=True))
    else:
        for scalar in (x, y):
            require_no_float_overflow(b, scalar, joined.dtype)
        result = b.emit(op, x, y).operand
    b.set_least_kind(result, least(kinds))
    return b.sym(result)


def _refuse_arrays(b: Builder, name: str, values: Sequence[Any]) -> None:
    if any(b.sym(v).ndim for v in values):
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous."
            f" Use numpy.{name}imum for arrays"
        )


_choice("max", "maximum")
_choice("min", "minimum")


@surface("builtins.sum")
def build_sum(b: Builder, iterable: Any, start: Any = 0) -> Any:
    if isinstance(iterable, Sym):
        if not iterable.ndim:
            raise TypeError("this value is not iterable")
        axis = None if iterable.ndim == 1 else (0,)
        first = b.sym(start)
        dtype = result_dtype("add", (first.type, Array(iterable.dtype, ())))
        total = b.emit("sum", iterable.astype(dtype), axis=axis, keepdims=False).astype(dtype)
        return total if not isinstance(start, Sym) and start == 0 else start + total
    values = [b.sym(v) for v in iterable]
    if not isinstance(start, Sym) and start == 0 and values:
        # 0 + x is x, except for bools, where it is an integer.
        first = values[0]
        start = first if first.dtype != "bool" else b.sym(0) + first
        values = values[1:]
    return reduce(lambda x, y: x + y, values, b.sym(start))


# ---------------------------------------------------------------- math


@surface("math.log")
def build_math_log(b: Builder, x: Any, base: Any = None) -> Sym:
    top = b.emit("log", as_python_float(b, x))
    if base is None:
        return as_python_scalar(top)
    return as_python_scalar(top / b.emit("log", as_python_float(b, base)))


@surface("math.pow")
def build_math_pow(b: Builder, x: Any, y: Any) -> Sym:
    return b.emit("power", as_python_float(b, x), as_python_float(b, y))


@surface("math.floor")
def build_math_floor(b: Builder, x: Any) -> Sym:
    return _rounded_to_int(b, "floor", x)


@surface("math.ceil")
def build_math_ceil(b: Builder, x: Any) -> Sym:
    return _rounded_to_int(b, "ceil", x)


def _rounded_to_int(b: Builder, op: str, value: Any) -> Sym:
    x = b.sym(value)
    if not is_float(x.type):
        return _python_scalar(b, x, "int64")
    return b.emit("cast", b.emit(op, as_python_float(b, x)), dtype="int64", weak=True)


@surface("math.hypot")
def build_math_hypot(b: Builder, *coordinates: Any) -> Sym:
    values = [as_python_float(b, c) for c in coordinates]
    if len(values) < 2:
        return b.emit("absolute", values[0]) if values else b.sym(0.0)
    return as_python_scalar(reduce(lambda x, y: b.emit("hypot", x, y), values))


@surface("math.fsum")
def build_fsum(b: Builder, seq: Any) -> Sym:
    return as_python_float(b, SURFACES["builtins.sum"](b, seq))


@surface("math.prod")
def build_math_prod(b: Builder, iterable: Any, *, start: Any = 1) -> Sym:
    if isinstance(iterable, Sym):
        dtype = result_dtype("multiply", (b.sym(start).type, Array(iterable.dtype, ())))
        total = b.emit("prod", iterable.astype(dtype), axis=None, keepdims=False).astype(dtype)
        return total if not isinstance(start, Sym) and start == 1 else start * total
    return reduce(lambda x, y: x * y, [b.sym(v) for v in iterable], b.sym(start))


@surface("numpy.modf", "math.modf")
def build_modf(b: Builder, x: Any) -> tuple[Sym, Sym]:
    """The fractional part, which has derivative 1, and the integral part."""
    value = as_operand(b, x)
    if not is_float(value.type):
        value = value.astype(result_dtype("exp", (value.type,)))
    whole = b.emit("trunc", value)
    # The fractional part of an infinity is 0.
    rest = b.emit("copysign", b.emit("where", b.emit("isinf", value), 0.0, value - whole), value)
    return rest, whole


@surface("numpy.ldexp", "math.ldexp")
def build_ldexp(b: Builder, x1: Any, x2: Any) -> Sym:
    value = as_operand(b, x1)
    dtype = np.ldexp(np.zeros(0, value.dtype), 0).dtype.name  # a float dtype for integers
    if isinstance(x2, (int, np.integer)) and abs(int(x2)) <= _MAX_EXPONENT:
        return (value * b.emit("power", 2.0, as_operand(b, x2))).astype(dtype)
    # Three powers of two, each of them a finite float.  The largest comes last: if an earlier
    # product loses digits as a subnormal number, the result is 0 anyway.  So it is rounded once.
    rest = _limited(b, as_operand(b, x2).astype("int64"), 2 * _MAX_EXPONENT + 200)
    powers = []
    for _ in range(2):
        powers.append(_limited(b, rest, _MAX_EXPONENT))
        rest = rest - powers[-1]
    for n in (rest, *powers[::-1]):
        value = value * b.emit("power", 2.0, n)
        # Compiled code may reassociate the factors, and a product of factors may overflow although
        # the result does not.  A product with more than one use is not reassociated.
        value = b.emit("where", value < 0.0, -b.emit("absolute", value), value)
    return value.astype(dtype)


# Largest exponent of a power of two in one step of `ldexp`.
_MAX_EXPONENT = 1000


def _limited(b: Builder, n: Sym, limit: int) -> Sym:
    return b.emit("maximum", b.emit("minimum", n, limit), -limit)


@surface("math.remainder")
def build_remainder(b: Builder, x: Any, y: Any) -> Sym:
    """The IEEE remainder: the one nearest 0; of two equally near, that of the even multiple."""
    value, by = as_python_float(b, x), as_python_float(b, y)
    rest = b.emit("fmod", value, by)
    size, half = b.emit("absolute", rest), 0.5 * b.emit("absolute", by)
    odd = b.emit("fmod", b.emit("trunc", value / by), 2.0) != 0.0
    over = (size > half) | ((size == half) & odd)
    moved = rest - b.emit("copysign", 1.0, rest) * b.emit("absolute", by)
    return as_python_scalar(b.emit("where", over, moved, rest))


def _of_integers(name: str, neutral: int) -> None:
    @surface(f"math.{name}")
    def build(b: Builder, *integers: Any) -> Sym:
        values = [b.sym(v) for v in integers]
        if any(is_float(v.type) for v in values):
            raise TypeError("'float' object cannot be interpreted as an integer")
        total = reduce(lambda x, y: b.emit(name, x, y), values, b.sym(neutral))
        return b.emit("cast", total, dtype="int64", weak=True)


_of_integers("gcd", 0)
_of_integers("lcm", 1)


@surface("numpy.isposinf")
def build_isposinf(b: Builder, x: Any) -> Sym:
    return as_operand(b, x) == np.inf


@surface("numpy.isneginf")
def build_isneginf(b: Builder, x: Any) -> Sym:
    return as_operand(b, x) == -np.inf


# ---------------------------------------------------------------- compile-time functions


@surface("numpy.isscalar")
def build_isscalar(b: Builder, element: Any) -> bool:
    return not isinstance(element, (tuple, list)) and not isinstance(b.sym(element).type, Array)


@surface("numpy.iterable")
def build_iterable(b: Builder, y: Any) -> bool:
    return isinstance(y, (tuple, list, str)) or b.sym(y).ndim > 0


def _dtype_of(b: Builder, value: Any) -> Any:
    """The argument for NumPy's promotion functions: a dtype, or a Python scalar of weak type."""
    if not isinstance(value, Sym):
        return value
    weak = {"int64": 0, "float64": 0.0, "complex128": 0j}
    return weak.get(value.dtype, value.dtype) if is_weak(value.type) else value.dtype


@surface("numpy.result_type")
def build_result_type(b: Builder, *arrays_and_dtypes: Any) -> Any:
    return np.result_type(*(_dtype_of(b, v) for v in arrays_and_dtypes))


@surface("numpy.promote_types")
def build_promote_types(b: Builder, type1: Any, type2: Any) -> Any:
    return np.promote_types(type1, type2)


@surface("numpy.can_cast")
def build_can_cast(b: Builder, from_: Any, to: Any, casting: str = "safe") -> bool:
    return np.can_cast(_dtype_of(b, from_), to, casting)  # pyright: ignore


@surface("numpy.issubdtype")
def build_issubdtype(b: Builder, arg1: Any, arg2: Any) -> bool:
    return bool(np.issubdtype(arg1, arg2))
