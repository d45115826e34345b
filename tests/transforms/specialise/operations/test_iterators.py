"""Iterators are consumed once."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.operations.iterators import Iterators
from s2s.transforms.specialise.values import (
    Conflict,
    DictVal,
    Fields,
    MapVal,
    Obj,
    TupleVal,
    ZipVal,
    constant,
)  # fmt: skip
from tests.transforms.specialise.bench import Bench

ITEMS = TupleVal((constant(1), constant(2), constant(3)))


def test_an_iterator_is_empty_after_its_end() -> None:
    here = Bench()
    iterators = here[Iterators]
    made = iterators.iterator(ITEMS, zip)
    assert iterators.whole(made, here.node) is ITEMS
    assert iterators.whole(made, here.node) == TupleVal(())
    assert iterators.whole(ITEMS, here.node) is ITEMS


def test_zip_takes_of_one_iterator_by_turns() -> None:
    here = Bench()
    made = here[Iterators].iterator(ITEMS, iter)
    pairs = here[Iterators].opened(ZipVal((made, made)), here.node)
    assert [[v.known for v in p.values] for p in pairs.values] == [[(1,), (2,)]]


def test_the_keys_of_a_dict_must_stay() -> None:
    here = Bench()
    table = here[Arrays].new_dict(("a",), (constant(1),))
    assert isinstance(table, DictVal)
    made = here[Iterators].iterator(table, iter)
    here.session.state.heap[table.cell] = Fields(("a", "b"), (constant(1), constant(2)))
    with pytest.raises(Exception):  # noqa: B017
        here[Iterators].whole(made, here.node)
    assert here.block  # the run fails


def test_what_map_calls() -> None:
    def for_each(target, source, body, until, node) -> bool:
        here.env[target.id] = TupleVal((constant(4),))
        return body()

    calls = []
    here = Bench(
        for_each=for_each,
        call=lambda callee, args: Obj(("called", args[0].known)),
        call_method=lambda owner, name, args: calls.append((name, args[0].value)),
    )
    here[Iterators].computed(MapVal(Obj(abs), (ITEMS,)), here.node)
    assert calls == [("append", ("called", (4,)))]


def test_an_iterator_that_may_be_at_several_places() -> None:
    here = Bench()
    made = here[Iterators].iterator(ITEMS, iter)
    here.session.state.heap[made.cell] = Conflict("how far it is depends on the run")
    with pytest.raises(Exception) as caught:
        here[Iterators].whole(made, here.node)
    assert isinstance(caught.value, S2SError) or caught.value.refusal is not None
    assert here[Iterators].iterators_in(ZipVal((made, ITEMS))) == {made.cell}
