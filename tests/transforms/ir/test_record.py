"""Records behave as the dataclasses they replace."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from s2s.transforms.ir.record import field, record, replace


@record(frozen=True)
class Point:
    """A place."""

    x: int
    y: int = 2
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sum", self.x + self.y)


@record
class Box:
    items: list[int] = field(default_factory=list)
    sign: str = field(init=False, repr=False, default="+")


@record
class Named(Box):
    name: str = "a"


@record(eq=False)
class Thing:
    size: int


def test_fields_and_defaults() -> None:
    p: Any = Point(1, note="here")
    assert (p.x, p.y, p.note, p.sum) == (1, 2, "here", 3)
    assert repr(p) == "Point(x=1, y=2, note='here')"
    assert [f.name for f in dataclasses.fields(p)] == ["x", "y", "note"]
    first, second = Box(), Box()
    first.items.append(1)
    assert second.items == [] and second.sign == "+"
    assert repr(Named([3])) == "Named(items=[3], name='a')"
    assert Named(name="b").name == "b"
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_equality_and_hashes() -> None:
    assert Point(1, note="a") == Point(1, note="b") != Point(2)
    assert hash(Point(1, note="a")) == hash(Point(1))
    assert Box([1]) == Box([1]) and Box() != Named()
    with pytest.raises(TypeError, match="unhashable"):
        hash(Box())
    thing = Thing(1)
    assert thing != Thing(1) and thing in {thing}


def test_replacing() -> None:
    p: Any = Point(1)
    assert dataclasses.replace(p, x=5) == replace(p, x=5) == Point(5)
    assert replace(p) == p and replace(Named([1], name="c"), name="d") == Named([1], name="d")
    with pytest.raises(TypeError, match="z"):
        replace(p, z=1)


@pytest.mark.parametrize("value", [Point(1, 4), Named([1], name="c")])
def test_copies(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
