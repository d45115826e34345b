"""Argument reduction modulo pi / 2 for large arguments of sine and cosine.

Such arguments need pi / 2 to a thousand bits.  They are rare, and a branch would prevent
vectorisation, so the reduction is a call.  The function has vector variants, which LLVM's loop
vectoriser finds by the attribute `vector-function-abi-variant`; they return at once if no element
is large.
After M. H. Payne and R. N. Hanek, Radian reduction for trigonometric functions (1983).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from llvmlite.ir.instructions import CallInstrAttributes

from .. import value_types
from .vector_ops import FLAGS, HALF_PI, DoubleWord, FixedFlags, FloatBuilder, FloatValue

TABLE_BITS = 1280  # bits of 2 / pi in the table, after the binary point
WINDOW_BITS = 192  # bits of the table that are used for one argument
# 2 / pi * 2^TABLE_BITS
TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0"
    "06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4"
    "9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d"
    "7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)


def limit(kit: FloatBuilder) -> float:
    """The largest argument for which a three-word pi / 2 suffices (`trigonometric.py`)."""
    return 2.0**45 if kit.format.bits == 64 else 2.0**17


def reduce_large(kit: FloatBuilder, size: FloatValue) -> FloatValue:
    """r and k packed in one float (`unpack_reduction`), where size = k pi / 2 + r, if size is above
    the limit; else size itself."""
    name = f"s2s.turned.{kit.float}"
    if name not in kit.builder.module.globals:
        _define(kit, name)
    call = kit.builder.call(kit.builder.module.globals[name], [size.value])
    call.fastmath = FixedFlags(FLAGS)
    call.attributes = Variants(name, _widths(kit))
    return FloatValue(kit, call)


def unpack_reduction(kit: FloatBuilder, packed: FloatValue) -> tuple[FloatValue, Any]:
    """Unpack r and k.  In the packed float, the exponent of r is lowered by k times a power of two
    that exceeds the range of r's own exponent."""
    builder, form = kit.builder, kit.format
    raw = builder.bitcast(packed.value, kit.int)
    biased = builder.and_(builder.lshr(raw, kit.int(form.mantissa)), kit.int(2 * form.bias + 1))
    k = builder.lshr(builder.sub(kit.int(form.bias), biased), kit.int(_log2_exponents(kit)))
    r = builder.add(raw, builder.shl(k, kit.int(form.mantissa + _log2_exponents(kit))))
    return FloatValue(kit, builder.bitcast(r, kit.float)), k


def _packed(kit: FloatBuilder, r: Any, k: Any) -> Any:
    builder = kit.builder
    raw = builder.bitcast(r, kit.int)
    offset = builder.shl(k, kit.int(kit.format.mantissa + _log2_exponents(kit)))
    return builder.bitcast(builder.sub(raw, offset), kit.float)


def _log2_exponents(kit: FloatBuilder) -> int:
    """The logarithm of the number of exponents that r may have."""
    return 6 if kit.format.bits == 64 else 5


# ---------------------------------------------------------------- functions


class Variants(CallInstrAttributes):
    """Call attribute that declares the vector variants of a function to LLVM's vectoriser."""

    def __init__(self, name: str, widths: list[int]) -> None:
        super().__init__()
        each = ",".join(f"_ZGV_LLVM_N{n}v_{name}({name}.{n})" for n in widths)
        set.add(self, f'"vector-function-abi-variant"="{each}"')


def _widths(kit: FloatBuilder) -> list[int]:
    return [n // kit.format.bits for n in (128, 256, 512)]


def _define(kit: FloatBuilder, name: str) -> None:
    # The variants are referenced only by an attribute; weak_odr linkage keeps them.
    one = _function(kit, kit.float, name, "linkonce_odr", _reduce_one)
    for width in _widths(kit):
        kind = ir.VectorType(kit.float, width)

        def reduce(kit: FloatBuilder, x: Any, width: int = width) -> Any:
            found = x
            for lane in (ir.IntType(32)(i) for i in range(width)):
                reduced = kit.builder.call(one, [kit.builder.extract_element(x, lane)])
                found = kit.builder.insert_element(found, reduced, lane)
            return found

        _function(kit, kind, f"{name}.{width}", "weak_odr", reduce)


def _function(
    kit: FloatBuilder,
    kind: Any,
    name: str,
    linkage: str,
    reduce: Callable[[FloatBuilder, Any], Any],
) -> Any:
    """Define a function that applies `reduce` if any element of its argument is large."""
    module = kit.builder.module
    made = ir.Function(module, ir.FunctionType(kind, [kind]), name)
    made.linkage = linkage
    for attribute in ("noinline", "nounwind", "readnone"):
        made.attributes.add(attribute)
    builder = ir.IRBuilder(made.append_basic_block())
    (x,) = made.args
    one = ir.Constant(kit.float, limit(kit))
    if isinstance(kind, ir.VectorType):
        tests = ir.VectorType(ir.IntType(1), kind.count)
        larger = builder.fcmp_ordered(">", x, ir.Constant(kind, [one] * kind.count))
        whole = ir.FunctionType(ir.IntType(1), [tests])
        any_of = f"llvm.vector.reduce.or.v{kind.count}i1"
        known = module.globals.get(any_of) or ir.Function(module, whole, any_of)
        test = builder.call(known, [larger])
    else:
        test = builder.fcmp_ordered(">", x, one)
    with builder.if_then(test, likely=False):
        type_ = value_types.float64 if kit.format.bits == 64 else value_types.float32
        builder.ret(reduce(FloatBuilder(builder, type_), x))
        builder.position_at_end(builder.append_basic_block("never"))
    builder.ret(x)
    return made


def _reduce_one(kit: FloatBuilder, x: Any) -> Any:
    """Emit the reduction of one argument with wide integers: the mantissa times the window of
    2 / pi that determines the quadrant modulo 4 and the fraction."""
    builder, double = kit.builder, FloatBuilder(kit.builder, value_types.float64)
    narrow = kit.format.bits == 32
    if narrow:
        x = builder.fpext(x, double.float)
    word, window, long = double.int, ir.IntType(WINDOW_BITS), ir.IntType(TABLE_BITS)
    raw = builder.bitcast(x, word)
    exponent = builder.sub(builder.lshr(raw, word(52)), word(1023 + 52))
    leading = word(1 << 52)
    mantissa = builder.or_(builder.and_(raw, word((1 << 52) - 1)), leading)
    before = builder.sub(word(TABLE_BITS - WINDOW_BITS + 2), exponent)
    bits = builder.trunc(builder.lshr(long(TWO_OVER_PI), builder.zext(before, long)), window)
    product = builder.mul(bits, builder.zext(mantissa, window))
    k = builder.trunc(builder.lshr(product, window(WINDOW_BITS - 2)), word)
    rest = builder.shl(product, window(2))
    below = builder.icmp_signed("<", rest, window(0))  # nearer to the next multiple of pi / 2
    k = builder.and_(builder.add(k, builder.zext(below, word)), word(3))
    size = builder.select(below, builder.neg(rest), rest)

    zeros = builder.ctlz(size, ir.IntType(1)(1))
    normalised = builder.shl(size, zeros)

    def digits(from_top: int) -> FloatValue:
        shifted = builder.trunc(builder.lshr(normalised, window(WINDOW_BITS - from_top)), word)
        part = builder.and_(shifted, word((1 << 53) - 1))
        scale = 2.0**-from_top
        return FloatValue(double, builder.uitofp(part, double.float)) * scale

    fraction = DoubleWord(digits(53), digits(106))
    r = double.pair_product(fraction, double.pair(HALF_PI)).rounded()
    biased = builder.sub(word(1023), builder.trunc(zeros, word))
    scale = FloatValue(double, builder.bitcast(builder.shl(biased, word(52)), double.float))
    r = double.choose(below, -(r * scale), r * scale).value
    if narrow:
        r, k = builder.fptrunc(r, kit.float), builder.trunc(k, kit.int)
    return _packed(kit, r, k)
