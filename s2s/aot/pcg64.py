"""LLVM IR for PCG64, NumPy's default random generator, over six words in the library state.

Two words hold the 128-bit state, two the increment; the fifth is 1 if a 32-bit half of a draw is
buffered, the sixth holds that half.

M. E. O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for
Random Number Generation (2014); the variant is `XSL RR 128/64`.  Numba draws through three function
pointers: next uint64, next uint32 and next double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from ..codegen.llvm_utils import INT
from ..codegen.type_lowering import Context, to_numba
from ..errors import UnsupportedError

WORDS = 6
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_INT128 = ir.IntType(128)
_INT32 = ir.IntType(32)


def state_words(generator: np.random.Generator, name: str) -> np.ndarray[Any, Any]:
    """The six words of the state of a NumPy generator."""
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise UnsupportedError(
            f"{name} draws from {state['bit_generator']}, which is not available ahead of time",
            advice="use np.random.default_rng(seed)",
        )
    mask = 2**64 - 1
    numbers = [state["state"]["state"], state["state"]["inc"]]
    halves = [part for n in numbers for part in (n & mask, n >> 64)]
    return np.array([*halves, state["has_uint32"], state["uinteger"]], np.uint64)


def emit_numba_generator(own: Context, builder: Any, kind: Any, place: Any) -> Any:
    """Emit a Numba generator value whose state is at the address `place`."""
    from numba.core import cgutils

    module, context, type_ = builder.module, own.numba, to_numba(kind)
    whole = cgutils.create_struct_proxy(type_)(context, builder)
    bits_type = context.data_model_manager[type_].get_type("bit_generator")
    bits = cgutils.create_struct_proxy(bits_type)(context, builder)
    where = builder.ptrtoint(place, INT)
    bits.state_address = where
    bits.state = where
    for name, make in (
        ("uint64", _next_uint64),
        ("uint32", _next_uint32),
        ("double", _next_double),
    ):
        setattr(bits, f"fnptr_next_{name}", builder.ptrtoint(make(module), INT))
    whole.bit_generator = bits._getvalue()
    return whole._getvalue()


def _function(module: Any, name: str, result: Any) -> tuple[Any, Any, Any]:
    """Create a function of the address of the state.  Returns the function, its IR builder and a
    pointer to the state's words."""
    made = ir.Function(module, ir.FunctionType(result, [INT]), name)
    made.linkage = "internal"
    builder = ir.IRBuilder(made.append_basic_block())
    return made, builder, builder.inttoptr(made.args[0], INT.as_pointer())


def _word(builder: Any, state: Any, i: int) -> Any:
    return builder.gep(state, [INT(i)])


def _pair(builder: Any, state: Any, i: int) -> Any:
    """Emit the 128-bit integer in words i (low) and i + 1 (high)."""
    low, high = (builder.zext(builder.load(_word(builder, state, k)), _INT128) for k in (i, i + 1))
    return builder.or_(low, builder.shl(high, _INT128(64)))


def _next_uint64(module: Any) -> Any:
    """The function that advances the state (an LCG step) and returns 64 bits (XSL RR output)."""
    name = "s2s.pcg.long"
    if name in module.globals:
        return module.globals[name]
    made, builder, state = _function(module, name, INT)
    old = builder.mul(_pair(builder, state, 0), _INT128(MULTIPLIER))
    new = builder.add(old, _pair(builder, state, 2))
    low = builder.trunc(new, INT)
    high = builder.trunc(builder.lshr(new, _INT128(64)), INT)
    builder.store(low, _word(builder, state, 0))
    builder.store(high, _word(builder, state, 1))
    mixed, rotation = builder.xor(low, high), builder.lshr(high, INT(58))
    back = builder.and_(builder.neg(rotation), INT(63))
    builder.ret(builder.or_(builder.lshr(mixed, rotation), builder.shl(mixed, back)))
    return made


def _next_uint32(module: Any) -> Any:
    """The function that returns 32 bits: the low half of a 64-bit draw, then its high half."""
    name = "s2s.pcg.short"
    if name in module.globals:
        return module.globals[name]
    long = _next_uint64(module)
    made, builder, state = _function(module, name, _INT32)
    left = _word(builder, state, 4)
    rest = _word(builder, state, 5)
    with builder.if_then(builder.icmp_unsigned("!=", builder.load(left), INT(0))):
        builder.store(INT(0), left)
        builder.ret(builder.trunc(builder.load(rest), _INT32))
    both = builder.call(long, [made.args[0]])
    builder.store(INT(1), left)
    builder.store(builder.lshr(both, INT(32)), rest)
    builder.ret(builder.trunc(both, _INT32))
    return made


def _next_double(module: Any) -> Any:
    """The function that returns a double in [0, 1) from the upper 53 bits of a 64-bit draw."""
    name = "s2s.pcg.double"
    if name in module.globals:
        return module.globals[name]
    long = _next_uint64(module)
    made, builder, _ = _function(module, name, ir.DoubleType())
    whole = builder.lshr(builder.call(long, [made.args[0]]), INT(11))
    number = builder.uitofp(whole, ir.DoubleType())
    builder.ret(builder.fmul(number, ir.Constant(ir.DoubleType(), 2.0**-53)))
    return made
