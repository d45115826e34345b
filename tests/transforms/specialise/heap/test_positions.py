"""What iterators have left, on two paths."""

from __future__ import annotations

from s2s.transforms.specialise.heap.positions import (
    EXHAUSTED,
    common_sequence,
    has_lists,
    is_indexed,
    position,
)
from s2s.transforms.specialise.values import (
    Cell,
    EnumerateVal,
    ListVal,
    MapVal,
    Obj,
    Ref,
    RestVal,
    TupleVal,
    ZipVal,
    constant,
)

X, Y = Ref(Cell("x")), Ref(Cell("y"))
PAIRS = ZipVal((X, EnumerateVal(Y, constant(0))))


def test_positions() -> None:
    assert position(X).known == (0,)
    assert position(RestVal(X, constant(3))).known == (3,)
    assert position(EXHAUSTED).known == (2**63 - 1,)


def test_a_common_sequence() -> None:
    assert common_sequence(PAIRS, RestVal(PAIRS, constant(1))) == PAIRS
    assert common_sequence(EXHAUSTED, RestVal(X, constant(1))) is X
    assert common_sequence(X, Y) is None
    assert common_sequence(EXHAUSTED, EXHAUSTED) is None
    assert common_sequence(MapVal(Obj(abs), (X,)), EXHAUSTED) is None


def test_sequences_that_are_read_by_position() -> None:
    assert is_indexed(PAIRS) and not is_indexed(ZipVal((X, MapVal(Obj(abs), (Y,)))))
    assert has_lists(ZipVal((X, ListVal(Cell())))) and not has_lists(PAIRS)
    assert not has_lists(TupleVal(()))
