"""What iterators have left: a sequence, and how many of its elements were taken."""

from __future__ import annotations

from typing import Any

from ..values import (
    EnumerateVal,
    IterVal,
    ListVal,
    Num,
    ProductVal,
    RangeVal,
    Rec,
    Ref,
    RestVal,
    TupleVal,
    Value,
    ZipVal,
    constant,
)

EXHAUSTED = TupleVal(())
_ALL = constant(2**63 - 1)  # as if that many had been taken: nothing is ever left


def position(content: Any) -> Num:
    """How many elements were taken of what an iterator runs over."""
    if isinstance(content, RestVal):
        return content.start
    return _ALL if content == EXHAUSTED else constant(0)


def common_sequence(x: Any, y: Any) -> Value | None:
    """The sequence of which two iterators, on two paths or in two iterations, have a part left;
    None if there is none whose position may be a number of the run."""
    if not isinstance(x, Value) or not isinstance(y, Value):
        return None
    found = [v.inner if isinstance(v, RestVal) else v for v in (x, y) if v != EXHAUSTED]
    if not found or any(v != found[0] for v in found):
        return None
    numbered = isinstance(found[0], EnumerateVal) and isinstance(found[0].inner, IterVal)
    return found[0] if numbered or is_indexed(found[0]) else None


def is_indexed(source: Any) -> bool:
    """Whether the elements of a sequence can be read by their position, in any order."""
    if isinstance(source, (ZipVal, ProductVal)):
        return all(map(is_indexed, source.inners))
    if isinstance(source, (EnumerateVal, RestVal)):
        return is_indexed(source.inner)
    return isinstance(source, (Ref, Rec, RangeVal, ListVal, TupleVal))


def has_lists(source: Any) -> bool:
    """Whether the number of elements of a sequence may change."""
    inner = getattr(source, "inners", None) or [getattr(source, "inner", None)]
    return isinstance(source, ListVal) or any(i is not None and has_lists(i) for i in inner)
