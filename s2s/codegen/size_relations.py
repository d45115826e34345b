"""LLVM IR for size guards: relations between array sizes and integer arguments.

`values` are the IR values of the arguments: an array has its `sizes`, an integer is an i64.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir

from .llvm_utils import INT
from .size_guards import Size, SizeFactor

DOUBLE = ir.DoubleType()


def holds(builder: Any, sign: str, left: Size, right: Size, values: list[Any]) -> Any:
    """Emit the test of a relation; an i1 that is true if it holds."""
    if sign in ("<", ">=") and not right[1]:
        # The bound is a constant: the left side is an amount of work, a sum of products of
        # nonnegative terms.  It is computed in float64: exact, or far beyond any bound.
        amount = _float_size(builder, left, values)
        return builder.fcmp_ordered(sign, amount, DOUBLE(float(right[0])))
    # Integers wide enough that nothing overflows: a guard that seems to hold where it does not
    # would let the kernel access memory beyond its arrays.
    words = -(-max(_bits(left), _bits(right)) // 64)
    kind = ir.IntType(64 * words)
    sides = (_size(builder, size, values, kind) for size in (left, right))
    return builder.icmp_signed(sign, *sides)


def _bits(size: Size) -> int:
    """The number of bits that hold all values of a size polynomial and of its parts."""
    const, terms = size
    found = [const.bit_length() + 1]
    for coefficient, monomial in terms:
        found.append(
            sum(map(_factor_bits, monomial)) + (abs(coefficient) - (coefficient > 0)).bit_length()
        )
    summands = len(terms) + (const != 0)
    return max(found) + max(summands - 1, 0).bit_length()


def _factor_bits(place: SizeFactor) -> int:
    if place[0] == "max0":
        return _bits(place[1])
    if place[0] == "len":
        return max(_bits(size) for size in place[1:] if size is not None) + 1
    return 64


def _float_size(builder: Any, size: Size, values: list[Any]) -> Any:
    """Evaluate a size polynomial in float64."""
    total: Any = DOUBLE(float(size[0]))
    for coefficient, monomial in size[1]:
        term: Any = DOUBLE(float(coefficient))
        for place in monomial:
            factor = _factor(builder, place, values, INT)
            term = builder.fmul(term, builder.sitofp(factor, DOUBLE))
        total = builder.fadd(total, term)
    return total


def _size(builder: Any, size: Size, values: list[Any], kind: Any) -> Any:
    """Evaluate a size polynomial in integers of type `kind`."""
    terms: list[Any] = [kind(size[0])] if size[0] or not size[1] else []
    for coefficient, monomial in size[1]:
        factors: list[Any] = [kind(coefficient)] if coefficient != 1 or not monomial else []
        factors += [_factor(builder, place, values, kind) for place in monomial]
        terms.append(functools.reduce(builder.mul, factors))
    return functools.reduce(builder.add, terms)


def _factor(builder: Any, place: SizeFactor, values: list[Any], kind: Any) -> Any:
    """Evaluate one factor of a monomial (`size_guards.SizeFactor`) in integers of type `kind`."""
    if not isinstance(place[0], str):
        position, axis = place
        value = values[position] if axis is None else values[position].sizes[axis]
        return _widened(builder, value, kind)
    operation, inner, *others = place
    if operation in ("floordiv", "remainder"):
        # In 64 bits: LLVM would call functions of a C compiler's library to divide wider integers.
        return _widened(builder, _divided(builder, place, values), kind)
    size = _size(builder, inner, values, kind)
    if operation == "max0":
        return _signed_max(builder, size, kind(0))
    start, stop = (None if o is None else _size(builder, o, values, kind) for o in others)
    begin = kind(0) if start is None else _slice_bound(builder, start, size)
    end = size if stop is None else _slice_bound(builder, stop, size)
    return _signed_max(builder, builder.sub(end, begin), kind(0))


def _widened(builder: Any, value: Any, kind: Any) -> Any:
    return value if value.type == kind else builder.sext(value, kind)


def _divided(builder: Any, place: SizeFactor, values: list[Any]) -> Any:
    """Evaluate a quotient or remainder by a positive constant, rounded down."""
    operation, inner, by = place
    size, divisor = _size(builder, inner, values, INT), INT(by)
    rest = builder.srem(size, divisor)
    negative = builder.icmp_signed("<", rest, INT(0))
    if operation == "remainder":
        return builder.select(negative, builder.add(rest, divisor), rest)
    quotient = builder.sdiv(size, divisor)
    return builder.sub(quotient, builder.zext(negative, INT))


def _slice_bound(builder: Any, bound: Any, size: Any) -> Any:
    """A slice bound, normalised to count from the start and clipped to the array size."""
    from_end = builder.icmp_signed("<", bound, bound.type(0))
    bound = builder.select(from_end, builder.add(bound, size), bound)
    bound = _signed_max(builder, bound, bound.type(0))
    return builder.select(builder.icmp_signed("<", bound, size), bound, size)


def _signed_max(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.icmp_signed(">", x, y), x, y)
