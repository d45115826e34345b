"""Scalar arithmetic on the common types, emitted as LLVM IR without Numba.

Using Numba means to import it and load its registries (`load_numba_registries`), which takes longer
than compiling a small kernel.  Most kernels only add, multiply, compare and convert floats,
integers and booleans, and call functions of s2s.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from .. import kernels
from ..kernels.operations import operation
from . import elementary, stack_limit
from .llvm_utils import INT, new_function
from .value_types import (
    Boolean,
    Callee,
    Complex,
    Float,
    Integer,
    Literal,
    Number,
    boolean,
    float32,
    float64,
    int64,
)

FLOATS = (float32, float64)
Writer = Callable[..., Any]  # emits a result from (builder, *values)


def load_numba_registries() -> None:
    """Load all registries of Numba's CPU target, typing and lowering."""
    from numba.core.registry import cpu_target

    target: Any = cpu_target
    target.typing_context.refresh()
    target.target_context.refresh()


# ---------------------------------------------------------------- operators and functions


def resolve(function: Any, args: tuple[Any, ...]) -> Callee | None:
    """The overload of a scalar function for these types, or None if it is not implemented here."""
    if function is operator.pow and isinstance(args[1], Literal):
        fits = args[0] in FLOATS or (args[0] == int64 and args[1].value >= 0)
        return Callee(function, args, args[0]) if fits else None
    first = args[0] if args else None
    if any(a != first for a in args):
        return None
    result = elementary.result_of(function, args)
    if result is None:
        if _writer(function, first) is None:
            return None
        result = _result_of(function, first)
    return Callee(function, args, result)


def _result_of(function: Any, first: Any) -> Any:
    """The result type of a function of this file, given the type of its arguments."""
    if function in _SIGNS or function is operator.not_:
        return boolean
    op = operation(function)
    return {"bool": boolean, "int64": int64}.get(op.result, first) if op is not None else first


def emitter(callee: Callee) -> Writer | None:
    """The emitter of an overload resolved here, or None."""
    if callee.function is operator.pow and isinstance(callee.args[-1], Literal):
        exponent = callee.args[-1].value
        return lambda builder, x, _: _power(builder, x, exponent)
    return _writer(callee.function, callee.args[0]) if callee.args else None


def _writer(function: Any, kind: Any) -> Writer | None:
    """The emitter of a function whose arguments all have type `kind`, or None."""
    if kind in FLOATS:
        return _ON_FLOATS.get(function)
    if kind == int64:
        return _ON_INTEGERS.get(function)
    if isinstance(kind, Integer) and function in _SIGNS:
        return _compare_integers(_SIGNS[function], kind.signed)
    return _ON_BOOLEANS.get(function) if kind == boolean else None


def _builder_method(name: str) -> Writer:
    return lambda builder, *args: getattr(builder, name)(*args)


def _intrinsic(name: str) -> Writer:
    def write(builder: Any, *args: Any) -> Any:
        type_ = args[0].type
        kind = ir.FunctionType(type_, [type_] * len(args))
        return builder.call(builder.module.declare_intrinsic(name, [type_], kind), args)

    return write


def _compare_floats(sign: str) -> Writer:
    name = "fcmp_unordered" if sign == "!=" else "fcmp_ordered"
    return lambda builder, x, y: getattr(builder, name)(sign, x, y)


def _compare_integers(sign: str, signed: bool = True) -> Writer:
    name = "icmp_signed" if signed else "icmp_unsigned"
    return lambda builder, x, y: getattr(builder, name)(sign, x, y)


def _negate(builder: Any, x: Any) -> Any:
    if isinstance(x, ir.Constant):
        return ir.Constant(x.type, -x.constant)
    return builder.fsub(ir.Constant(x.type, -0.0), x)  # LLVM does not reassociate fneg


def _is_nan(builder: Any, x: Any) -> Any:
    return builder.fcmp_unordered("uno", x, x)


def _compare_magnitude(sign: str) -> Writer:
    """Compare the absolute value with infinity."""

    def write(builder: Any, x: Any) -> Any:
        magnitude = _intrinsic("llvm.fabs")(builder, x)
        return builder.fcmp_ordered(sign, magnitude, ir.Constant(x.type, math.inf))

    return write


def _sign(builder: Any, x: Any) -> Any:
    zero = ir.Constant(x.type, 0.0)
    zero_or_nan = builder.select(builder.fcmp_ordered("==", x, zero), zero, x)  # nan stays nan
    below = builder.select(
        builder.fcmp_ordered("<", x, zero), ir.Constant(x.type, -1.0), zero_or_nan
    )
    return builder.select(builder.fcmp_ordered(">", x, zero), ir.Constant(x.type, 1.0), below)


def _integer_abs(builder: Any, x: Any) -> Any:
    below = builder.icmp_signed("<", x, ir.Constant(x.type, 0))
    return builder.select(below, builder.neg(x), x)


def _arange_count(builder: Any, start: Any, stop: Any, step: Any) -> Any:
    steps = builder.fdiv(builder.fsub(stop, start), step)
    zero, most = ir.Constant(steps.type, 0.0), ir.Constant(steps.type, 2.0**62)
    # Clamp before the conversion: fptosi of a value out of range is poison.
    some = builder.select(builder.fcmp_ordered(">", steps, zero), steps, zero)
    some = builder.select(builder.fcmp_ordered("<", some, most), some, most)
    whole = builder.fptosi(_intrinsic("llvm.ceil")(builder, some), INT)
    return builder.select(_is_nan(builder, steps), INT(-1), whole)


def _trip_count(builder: Any, start: Any, stop: Any, step: Any) -> Any:
    """The trip count of range(start, stop, step).  The distance of two int64 needs uint64."""
    up = builder.icmp_signed(">", step, INT(0))
    low, high = builder.select(up, start, stop), builder.select(up, stop, start)
    some = builder.icmp_signed("<", low, high)
    span = builder.sub(builder.sub(high, low), INT(1))
    by = builder.select(up, step, builder.neg(step))
    by = builder.select(builder.icmp_signed("==", step, INT(0)), INT(1), by)
    times = builder.udiv(span, by)
    most = INT(kernels.INT64_MAX)
    fits = builder.icmp_unsigned("<", times, most)
    return builder.select(some, builder.select(fits, builder.add(times, INT(1)), most), INT(0))


def _extremum(sign: str) -> Writer:
    """Maximum (">=") or minimum ("<=") of two floats; nan if one operand is nan."""

    def write(builder: Any, x: Any, y: Any) -> Any:
        first = builder.or_(builder.fcmp_ordered(sign, x, y), _is_nan(builder, x))
        return builder.select(first, x, y)

    return write


def _floor_divmod(builder: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Floor quotient and remainder of integers; both are 0 for division by 0.  The smallest integer
    divided by -1 is itself: the division instruction would trap."""
    zero, one = ir.Constant(x.type, 0), ir.Constant(x.type, 1)
    bad = builder.icmp_signed("==", y, zero)
    by = builder.select(bad, one, y)
    if not isinstance(y, ir.Constant) or y.constant == -1:
        least = builder.icmp_signed("==", x, ir.Constant(x.type, -(1 << (x.type.width - 1))))
        back = builder.icmp_signed("==", y, ir.Constant(x.type, -1))
        by = builder.select(builder.and_(least, back), one, by)
    times, rest = builder.sdiv(x, by), builder.srem(x, by)
    opposite = builder.icmp_signed("<", builder.xor(rest, by), zero)
    down = builder.and_(builder.icmp_signed("!=", rest, zero), opposite)
    times = builder.add(times, builder.sext(down, x.type))
    rest = builder.add(rest, builder.select(down, by, zero))
    return builder.select(bad, zero, times), builder.select(bad, zero, rest)


def _power(builder: Any, x: Any, exponent: int) -> Any:
    """x ** exponent by repeated squaring; the exponent is nonnegative if x is an integer."""
    is_float = not isinstance(x.type, ir.IntType)
    multiply = builder.fmul if is_float else builder.mul
    one: Any = ir.Constant(x.type, 1)
    result, left = None, abs(exponent)
    while left:
        if left & 1:
            result = x if result is None else multiply(result, x)
        left >>= 1
        if left:
            x = multiply(x, x)
    if result is None:
        return one
    return builder.fdiv(one, result) if exponent < 0 else result


def _natural_power(builder: Any, x: Any, n: Any) -> Any:
    """x ** n of integers for a run-time exponent n >= 0, by repeated squaring."""
    name, module = "s2s.power", builder.module
    power = module.globals.get(name) or _define_power(module, name)
    return builder.call(power, [x, n])


def _define_power(module: Any, name: str) -> Any:
    function = new_function(module, ir.FunctionType(INT, [INT, INT]), name)
    entry, head, inside, after = map(function.append_basic_block, ("entry", "head", "inside", ""))
    builder: Any = ir.IRBuilder(entry)
    builder.branch(head)
    builder.position_at_end(head)
    result, x, left = (builder.phi(INT) for _ in range(3))
    for phi, first in zip((result, x, left), (INT(1), *function.args)):
        phi.add_incoming(first, entry)
    builder.cbranch(builder.icmp_signed(">", left, INT(0)), inside, after)
    builder.position_at_end(inside)
    odd = builder.trunc(left, ir.IntType(1))
    result.add_incoming(builder.select(odd, builder.mul(result, x), result), inside)
    x.add_incoming(builder.mul(x, x), inside)
    left.add_incoming(builder.ashr(left, INT(1)), inside)
    builder.branch(head)
    builder.position_at_end(after)
    builder.ret(result)
    return function


# Instructions with flags are given no others: with this one alone a quotient is exact.
EXACT = ("nsz",)

_SIGNS = {
    operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">",
    operator.ge: ">=",
}  # fmt: skip

_ON_FLOATS: dict[Any, Writer] = {
    operator.add: _builder_method("fadd"),
    operator.sub: _builder_method("fsub"),
    operator.mul: _builder_method("fmul"),
    operator.truediv: _builder_method("fdiv"),
    np.divide: lambda builder, x, y: builder.fdiv(x, y, flags=EXACT),
    operator.neg: _negate,
    np.sqrt: _intrinsic("llvm.sqrt"),
    abs: _intrinsic("llvm.fabs"),
    np.absolute: _intrinsic("llvm.fabs"),
    np.fabs: _intrinsic("llvm.fabs"),
    np.floor: _intrinsic("llvm.floor"),
    np.ceil: _intrinsic("llvm.ceil"),
    np.trunc: _intrinsic("llvm.trunc"),
    np.rint: _intrinsic("llvm.rint"),
    np.copysign: _intrinsic("llvm.copysign"),
    np.maximum: _extremum(">="),
    np.minimum: _extremum("<="),
    np.sign: _sign,
    np.isnan: _is_nan,
    np.isinf: _compare_magnitude("=="),
    np.isfinite: _compare_magnitude("<"),
    kernels.to_int: lambda builder, x: builder.fptosi(x, INT),
    kernels.arange_count: _arange_count,
    **{function: _compare_floats(sign) for function, sign in _SIGNS.items()},
}
_ON_INTEGERS: dict[Any, Writer] = {
    operator.add: _builder_method("add"),
    operator.sub: _builder_method("sub"),
    operator.mul: _builder_method("mul"),
    operator.neg: lambda builder, x: (
        ir.Constant(x.type, -x.constant) if isinstance(x, ir.Constant) else builder.neg(x)
    ),
    abs: _integer_abs,
    operator.and_: _builder_method("and_"),
    operator.or_: _builder_method("or_"),
    operator.xor: _builder_method("xor"),
    operator.lshift: _builder_method("shl"),
    operator.rshift: _builder_method("ashr"),
    operator.floordiv: lambda builder, x, y: _floor_divmod(builder, x, y)[0],
    operator.mod: lambda builder, x, y: _floor_divmod(builder, x, y)[1],
    kernels.natural_power: _natural_power,
    kernels.trip_count: _trip_count,
    kernels.stack_limit: stack_limit.stack_limit,
    kernels.stack_is_low: stack_limit.stack_is_low,
    kernels.floor_divide: lambda builder, x, y: _floor_divmod(builder, x, y)[0],
    kernels.remainder: lambda builder, x, y: _floor_divmod(builder, x, y)[1],
    **{function: _compare_integers(sign) for function, sign in _SIGNS.items()},
}
_ON_BOOLEANS: dict[Any, Writer] = {
    operator.not_: _builder_method("not_"),
    operator.and_: _builder_method("and_"),
    operator.or_: _builder_method("or_"),
    operator.xor: _builder_method("xor"),
    **{f: (lambda b, x, y, s=s: b.icmp_unsigned(s, x, y)) for f, s in _SIGNS.items()},
}


# ---------------------------------------------------------------- conversions


def convert(builder: Any, value: Any, old: Number, new: Number) -> Any:
    """Emit the conversion of a scalar to another type; floats are truncated toward zero."""
    from .type_lowering import memory_type

    type_ = memory_type(new)
    if isinstance(new, Complex):
        part = memory_type(new.part)
        if isinstance(old, Complex):
            parts = [builder.extract_value(value, i) for i in range(2)]
            parts = [convert(builder, p, old.part, new.part) for p in parts]
        else:
            parts = [convert(builder, value, old, new.part), ir.Constant(part, 0.0)]
        whole: Any = ir.Constant(type_, ir.Undefined)
        for i, p in enumerate(parts):
            whole = builder.insert_value(whole, p, i)
        return whole
    if old == new:
        return value
    if isinstance(new, Boolean):
        zero = ir.Constant(value.type, 0)
        test = builder.fcmp_unordered if isinstance(old, Float) else builder.icmp_unsigned
        return test("!=", value, zero)
    if isinstance(new, Float):
        if isinstance(old, Float):
            return (builder.fpext if new.bits > old.bits else builder.fptrunc)(value, type_)
        signed = isinstance(old, Integer) and old.signed
        return (builder.sitofp if signed else builder.uitofp)(value, type_)
    assert isinstance(new, Integer)
    if isinstance(old, Float):
        return (builder.fptosi if new.signed else builder.fptoui)(value, type_)
    if new.bits < old.bits:
        return builder.trunc(value, type_)
    if new.bits == old.bits:
        return value
    signed = isinstance(old, Integer) and old.signed
    return (builder.sext if signed else builder.zext)(value, type_)


def can_convert(old: Any, new: Any) -> bool:
    """Whether `convert` handles this conversion of scalars."""
    if not isinstance(old, Number) or not isinstance(new, Number):
        return False
    return isinstance(new, Complex) or not isinstance(old, Complex)
