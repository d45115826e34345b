"""Attributes of objects from outside."""

from __future__ import annotations

from s2s.transforms.specialise.outside.object_attributes import ObjectAttributes, made_by_library
from s2s.transforms.specialise.outside.objects import Objects
from s2s.transforms.specialise.values import Fields, Obj, constant
from tests.transforms.specialise.bench import Bench

PATH = (("global", "thing"),)


class Thing:
    factor = 2.0

    @property
    def double(self):
        return self.factor * 2.0

    def __add__(self, other):
        return other


def test_an_attribute_is_guarded_and_noted() -> None:
    here, thing = Bench(), Thing()
    thing.size = 7
    found = here[ObjectAttributes].attribute_of(Obj(thing, PATH), "size", here.node)
    assert (id(thing), "size") in here[Objects].looked_up
    assert found.known == (7,) or here.session.params[-1].path == (*PATH, (".", "size"))


def test_a_property_is_a_call() -> None:
    here = Bench(call_function=lambda callee, args: (callee.value, args))
    owner = Obj(Thing(), PATH)
    function, args = here[ObjectAttributes].attribute_of(owner, "double", here.node)
    assert function is Thing.double.fget and args == (owner,)


def test_what_the_program_writes_is_read_back() -> None:
    here, owner = Bench(), Obj(Thing(), PATH)
    attributes = here[ObjectAttributes]
    assert attributes.written_attribute(owner, "size") is None
    cell = attributes.object_cell(owner)
    here.session.state.heap[cell] = Fields(("size",), (constant(3),))
    assert attributes.attribute_of(owner, "size", here.node).known == (3,)
    assert attributes.object_cell(owner) is cell


def test_methods_of_users_classes_for_operators() -> None:
    here, owner = Bench(), Obj(Thing(), PATH)
    assert here[ObjectAttributes].special(owner, "__add__").value is Thing.__add__
    assert here[ObjectAttributes].special(owner, "__mul__") is None
    assert here[ObjectAttributes].special(here.number(), "__add__") is None
    assert not made_by_library(Thing.__add__)
