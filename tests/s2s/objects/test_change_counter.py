"""The change counter: what increments it, what does not, and whose changes are counted."""

from __future__ import annotations

import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import pytest

from s2s.objects.change_counter import (
    Announces,
    ChangeCountingModule,
    changes,
    class_counts_changes,
    counts_changes,
    is_uncounted_scalar,
    watch_module,
)


class Thing(Announces):
    rate = 1.0

    def __init__(self) -> None:
        self.steps = 0
        self.name = "a"

    def method(self) -> int:
        return 1


def counted(action: Callable[[], Any]) -> int:
    before = changes[0]
    action()
    return changes[0] - before


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("steps", 5, 0), ("steps", True, 1), ("steps", 5.0, 1), ("steps", None, 1),
        ("name", "b", 1), ("name", "a", 1), ("new", 1, 1), ("new", None, 1),
    ],
)  # fmt: skip
def test_attributes_of_objects(name: str, value: Any, expected: int) -> None:
    """A Python int or float replaced by one of the same type is not counted."""
    thing = Thing()
    assert counted(lambda: setattr(thing, name, value)) == expected
    assert getattr(thing, name) is value


def test_deleted_attributes() -> None:
    thing = Thing()
    assert counted(lambda: delattr(thing, "name")) == 1
    with pytest.raises(AttributeError):
        del thing.name


def test_attributes_of_classes() -> None:
    class Own(Thing):
        pass

    assert counted(lambda: setattr(Own, "method", lambda self: 2)) == 1
    assert counted(lambda: setattr(Own, "rate", 2.0)) == 1
    assert counted(lambda: delattr(Own, "rate")) == 1
    assert counted(lambda: setattr(Own, "__bases__", (Thing,))) == 1


def test_the_counter_is_never_rebound() -> None:
    from s2s.objects import change_counter

    before = change_counter.changes
    Thing().name = "b"
    assert change_counter.changes is before is changes and is_uncounted_scalar(changes[0])


def test_objects_that_count() -> None:
    class Sets(Thing):
        def __setattr__(self, name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

    class Deletes(Thing):
        def __delattr__(self, name: str) -> None:
            object.__delattr__(self, name)

    assert counts_changes(Thing()) and not counts_changes(Sets()) and not counts_changes(Deletes())
    assert not counts_changes(object()) and not counts_changes(3)


def test_protocols_and_abstract_classes_can_be_mixed_in() -> None:
    class Steps(Protocol):
        steps: int

    class Abstract(ABC):
        @abstractmethod
        def required(self) -> int: ...

    class Mixed(Thing, Steps, Abstract):
        def required(self) -> int:
            return 1

    assert counts_changes(Mixed()) and isinstance(Mixed(), Abstract) and issubclass(Mixed, Thing)
    with pytest.raises(TypeError, match="abstract"):
        type("Partial", (Thing, Abstract), {})()


def test_class_attributes_that_count() -> None:
    class Plain:
        shift = 1.0

    class Mixed(Thing, Plain):
        pass

    assert class_counts_changes(Thing, "method") and class_counts_changes(Thing, "rate")
    assert class_counts_changes(Mixed, "rate")  # found before the plain base
    assert not class_counts_changes(Mixed, "shift") and not class_counts_changes(Plain, "shift")
    assert not class_counts_changes(Thing, "absent")


def test_numbers() -> None:
    assert is_uncounted_scalar(1) and is_uncounted_scalar(1.5)
    assert not any(map(is_uncounted_scalar, (True, 1j, "1", None)))


# ---------------------------------------------------------------- modules


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    made = types.ModuleType("counted_module")
    monkeypatch.setitem(sys.modules, "counted_module", made)
    return made


def test_globals_of_modules(module: Any) -> None:
    assert watch_module(vars(module)) and watch_module(vars(module))
    assert type(module) is ChangeCountingModule
    assert counted(lambda: setattr(module, "weight", 1.0)) == 1 and module.weight == 1.0
    assert counted(lambda: delattr(module, "weight")) == 1


def test_modules_that_cannot_count(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(types.ModuleType):
        pass

    own = Own("own_module")
    monkeypatch.setitem(sys.modules, "own_module", own)
    assert not watch_module(vars(own)) and type(own) is Own
    assert not watch_module({"__name__": "counted_module"})  # not the namespace of the module
    assert not watch_module({"__name__": "absent_module"}) and not watch_module({})
