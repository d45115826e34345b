"""Builtin functions of Python that take or make sequences."""

from __future__ import annotations

import pytest

from s2s.transforms.specialise.calls.sequence_calls import SequenceCalls
from s2s.transforms.specialise.values import (
    EnumerateVal,
    IterVal,
    Obj,
    RangeVal,
    TupleVal,
    ZipVal,
    constant,
)
from tests.transforms.specialise.bench import Bench

ABC = TupleVal((Obj("b"), Obj("c"), Obj("a")))


def content(here: Bench, value):
    assert isinstance(value, IterVal)
    return here.session.state.heap[value.cell]


def texts(here: Bench, value) -> str:
    return "".join(v.value for v in here.session.state.heap[value.cell].values)


def test_known_keys_are_sorted_while_compiling() -> None:
    here = Bench()
    calls = here[SequenceCalls]
    assert texts(here, calls.call_sorted((ABC,), {}, here.node)) == "abc"
    backward = {"reverse": constant(True)}
    assert texts(here, calls.call_sorted((ABC,), backward, here.node)) == "cba"
    pairs = TupleVal((TupleVal((Obj("b"), here.number())), TupleVal((Obj("a"), here.number("y")))))
    made = calls.call_sorted((pairs,), {}, here.node)
    assert [p.values[0].value for p in here.session.state.heap[made.cell].values] == ["a", "b"]
    assert not here.block


def test_reversed() -> None:
    here = Bench()
    calls = here[SequenceCalls]
    counted = RangeVal(constant(0), here.number("n", "int64"), constant(1))
    backward = content(here, calls.call_reversed((counted,), {}, here.node))
    assert "reverse=True" in repr(backward)
    known = calls.call_reversed((ABC,), {}, here.node)
    assert "'a'" in repr(content(here, known)).partition("'b'")[0]
    with pytest.raises(TypeError, match="'reversed' object is not reversible"):
        calls.call_reversed((known,), {}, here.node)


def test_iterators_have_their_classes() -> None:
    here = Bench()
    calls = here[SequenceCalls]
    made = calls.call_zip((ABC, ABC), {}, here.node)
    assert made.cls is zip and isinstance(made, IterVal)
    assert calls.call_iter((made,), {}, here.node) is made
    counted = calls.call_enumerate((ABC,), {"start": constant(2)}, here.node)
    assert counted.cls is enumerate
    assert any(isinstance(v, ZipVal) for v in vars_of(content(here, made)))
    assert any(isinstance(v, EnumerateVal) for v in vars_of(content(here, counted)))


def vars_of(value) -> list[object]:
    """A value and its fields."""
    names = getattr(type(value), "__dataclass_fields__", {})
    return [value, *(getattr(value, n) for n in names)]


def test_elements_of_an_iterator_one_by_one() -> None:
    here = Bench()
    calls = here[SequenceCalls]
    letters = calls.call_iter((ABC,), {}, here.node)
    got = [calls.call_next((letters,), {}, here.node) for _ in range(3)]
    assert [v.value for v in got] == ["b", "c", "a"]
    default = constant(0)
    assert calls.call_next((letters, default), {}, here.node) is default
    with pytest.raises(TypeError, match="'tuple' object is not an iterator"):
        calls.call_next((ABC,), {}, here.node)


def test_wrong_arguments() -> None:
    here = Bench()
    calls = here[SequenceCalls]
    assert calls.call_iter((ABC, ABC), {}, here.node) is NotImplemented
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        calls.call_enumerate((ABC, constant(0.5)), {}, here.node)
