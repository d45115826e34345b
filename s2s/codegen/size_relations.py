"""Size guards in machine code: relations between the sizes of arrays and integer arguments.

`values` are the arguments: an array has its `sizes`, an integer is a 64-bit value.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir

from .llvm_utils import INT
from .size_guards import Place, Size

DOUBLE = ir.DoubleType()


def holds(builder: Any, sign: str, left: Size, right: Size, values: list[Any]) -> Any:
    """Whether a relation holds, as one bit."""
    if sign in ("==", "!="):
        return builder.icmp_signed(
            sign, _size(builder, left, values), _size(builder, right, values)
        )
    # Amounts of work are found by multiplying and adding what is not negative: as floats they
    # are exact, or far beyond any bound, where integers would overflow.
    (bound, _), amount = right, _amount(builder, left, values)
    return builder.fcmp_ordered(sign, amount, DOUBLE(float(bound)))


def _amount(builder: Any, size: Size, values: list[Any]) -> Any:
    total: Any = DOUBLE(float(size[0]))
    for factor, places in size[1]:
        term: Any = DOUBLE(float(factor))
        for place in places:
            term = builder.fmul(term, builder.sitofp(_place(builder, place, values), DOUBLE))
        total = builder.fadd(total, term)
    return total


def _size(builder: Any, size: Size, values: list[Any]) -> Any:
    terms: list[Any] = [INT(size[0])] if size[0] or not size[1] else []
    for factor, places in size[1]:
        factors: list[Any] = [INT(factor)] if factor != 1 or not places else []
        factors += [_place(builder, place, values) for place in places]
        terms.append(functools.reduce(builder.mul, factors))
    return functools.reduce(builder.add, terms)


def _place(builder: Any, place: Place, values: list[Any]) -> Any:
    if not isinstance(place[0], str):
        position, axis = place
        return values[position] if axis is None else values[position].sizes[axis]
    operation, inner, *others = place
    size = _size(builder, inner, values)
    if operation == "max0":
        return _at_least(builder, size, INT(0))
    if operation == "len":
        start, stop = (None if o is None else _size(builder, o, values) for o in others)
        begin = INT(0) if start is None else _bound(builder, start, size)
        end = size if stop is None else _bound(builder, stop, size)
        return _at_least(builder, builder.sub(end, begin), INT(0))
    divisor = INT(others[0])
    rest = builder.srem(size, divisor)
    below = builder.icmp_signed("<", rest, INT(0))
    if operation == "remainder":
        return builder.select(below, builder.add(rest, divisor), rest)
    quotient = builder.sdiv(size, divisor)
    return builder.sub(quotient, builder.zext(below, INT))


def _bound(builder: Any, bound: Any, size: Any) -> Any:
    """A bound of a slice, counted from the start and clipped to the array."""
    from_end = builder.icmp_signed("<", bound, INT(0))
    bound = _at_least(builder, builder.select(from_end, builder.add(bound, size), bound), INT(0))
    return builder.select(builder.icmp_signed("<", bound, size), bound, size)


def _at_least(builder: Any, number: Any, least: Any) -> Any:
    return builder.select(builder.icmp_signed(">", number, least), number, least)
