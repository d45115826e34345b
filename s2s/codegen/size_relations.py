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
    if sign in ("==", "!="):
        return builder.icmp_signed(
            sign, _size(builder, left, values), _size(builder, right, values)
        )
    # Inequalities compare amounts of work, which are sums of products of nonnegative terms.  They
    # are computed in float64, where integers would overflow: the value is exact, or far beyond any
    # bound.
    (bound, _), amount = right, _float_size(builder, left, values)
    return builder.fcmp_ordered(sign, amount, DOUBLE(float(bound)))


def _float_size(builder: Any, size: Size, values: list[Any]) -> Any:
    """Evaluate a size polynomial in float64."""
    total: Any = DOUBLE(float(size[0]))
    for coefficient, monomial in size[1]:
        term: Any = DOUBLE(float(coefficient))
        for place in monomial:
            term = builder.fmul(term, builder.sitofp(_factor(builder, place, values), DOUBLE))
        total = builder.fadd(total, term)
    return total


def _size(builder: Any, size: Size, values: list[Any]) -> Any:
    """Evaluate a size polynomial in i64."""
    terms: list[Any] = [INT(size[0])] if size[0] or not size[1] else []
    for coefficient, monomial in size[1]:
        factors: list[Any] = [INT(coefficient)] if coefficient != 1 or not monomial else []
        factors += [_factor(builder, place, values) for place in monomial]
        terms.append(functools.reduce(builder.mul, factors))
    return functools.reduce(builder.add, terms)


def _factor(builder: Any, place: SizeFactor, values: list[Any]) -> Any:
    """Evaluate one factor of a monomial (`size_guards.SizeFactor`) in i64."""
    if not isinstance(place[0], str):
        position, axis = place
        return values[position] if axis is None else values[position].sizes[axis]
    operation, inner, *others = place
    size = _size(builder, inner, values)
    if operation == "max0":
        return _signed_max(builder, size, INT(0))
    if operation == "len":
        start, stop = (None if o is None else _size(builder, o, values) for o in others)
        begin = INT(0) if start is None else _slice_bound(builder, start, size)
        end = size if stop is None else _slice_bound(builder, stop, size)
        return _signed_max(builder, builder.sub(end, begin), INT(0))
    divisor = INT(others[0])
    rest = builder.srem(size, divisor)
    negative = builder.icmp_signed("<", rest, INT(0))
    if operation == "remainder":
        return builder.select(negative, builder.add(rest, divisor), rest)
    quotient = builder.sdiv(size, divisor)
    return builder.sub(quotient, builder.zext(negative, INT))


def _slice_bound(builder: Any, bound: Any, size: Any) -> Any:
    """A slice bound, normalised to count from the start and clipped to the array size."""
    from_end = builder.icmp_signed("<", bound, INT(0))
    bound = _signed_max(builder, builder.select(from_end, builder.add(bound, size), bound), INT(0))
    return builder.select(builder.icmp_signed("<", bound, size), bound, size)


def _signed_max(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.icmp_signed(">", x, y), x, y)
