"""Methods that are replaced on a class are seen at the next call, wherever its objects are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import s2s


class Base:
    rate = 2.0

    def by_rate(self, x):
        return x * self.rate


class Made(Base):
    def __init__(self, w):
        self.w = w

    def of(self, x):
        return x * self.w

    def above(self, x):
        return super().by_rate(x)

    def __call__(self, x):
        return x * 4.0

    def __add__(self, x):
        return x * 5.0

    def by_rate(self, x):
        return x

    @property
    def much(self):
        return self.w

    @much.setter
    def much(self, value):
        self.w = value

    @staticmethod
    def plain(x):
        return x * 3.0

    @classmethod
    def by_class(cls, x):
        return x * cls.rate


@dataclass
class Data:
    w: float

    def __post_init__(self):
        self.w = self.w + 1.0

    def of(self, x):
        return x * self.w


class Few(NamedTuple):
    w: float

    def of(self, x):
        return x * self.w


DATA, FEW = Data(2.0), Few(2.0)


def other(self, x):
    return x * x * 11.0


def seven(self, *given):
    self.w = 7.0


def much(x):
    made = Made(2.0)
    made.much = 3.0
    return made.w * x


CASES: list[tuple[Any, type, str, Any]] = [
    (lambda x: Made(2.0).of(x), Made, "of", other),
    (lambda x: Made(2.0).above(x), Base, "by_rate", other),
    (lambda x: Made(2.0).by_rate(x), Made, "by_rate", other),
    (lambda x: Made(2.0)(x), Made, "__call__", other),
    (lambda x: Made(2.0) + x, Made, "__add__", other),
    (lambda x: Made(2.0).much * x, Made, "much", property(lambda self: 7.0)),
    (much, Made, "much", Made.much.setter(seven)),
    (lambda x: Made(2.0).plain(x), Made, "plain", staticmethod(lambda x: x * 7.0)),
    (lambda x: Made(2.0).by_class(x), Made, "by_class", classmethod(lambda cls, x: x * 7.0)),
    (lambda x: Made(2.0).of(x), Made, "__init__", seven),
    (lambda x: Data(2.0).of(x), Data, "of", other),
    (lambda x: Data(2.0).w * x, Data, "__post_init__", seven),
    (lambda x: DATA.of(x), Data, "of", other),
    (lambda x: FEW.of(x), Few, "of", other),
    (lambda x: Few(x).of(x), Few, "of", other),
]


def agrees(function: Any, change: Any) -> None:
    compiled = s2s.function(function, backend="loops")
    before = function(2.0)
    assert compiled(2.0) == compiled(2.0) == before
    change()
    assert compiled(2.0) == compiled(2.0) == function(2.0) != before


@pytest.mark.parametrize("function, cls, name, new", CASES)
def test_methods_of_what_is_made_inside(
    function: Any, cls: type, name: str, new: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agrees(function, lambda: monkeypatch.setattr(cls, name, new))


@pytest.mark.parametrize("which", ["by_class", "type", "above", "rate"])
def test_classes_that_no_module_has(which: str) -> None:
    class Below:
        rate = 2.0

        def by_rate(self, x):
            return x * self.rate

    class Local(Below):
        def by_rate(self, x):
            return super().by_rate(x)

        @classmethod
        def by_class(cls, x):
            return x * cls.rate

    local = Local()
    functions: dict[str, Any] = {
        "by_class": lambda x: local.by_class(x),
        "type": lambda x: type(local).rate * x,
        "above": lambda x: local.by_rate(x),
        "rate": lambda x: Local().rate * x,
    }
    name, new = ("by_rate", other) if which == "above" else ("rate", 7.0)
    agrees(functions[which], lambda: setattr(Below, name, new))


@pytest.mark.parametrize("first, second", [(2.0, 3.0), (2, 3000), ("a", "b")])
def test_keyword_defaults_that_change_in_place(first: Any, second: Any) -> None:
    def helper(x, *, by=first):
        return x * 5.0 if by == "a" else x * 7.0 if by == "b" else x * by

    defaults: Any = helper.__kwdefaults__
    agrees(lambda x: helper(x), lambda: defaults.update(by=second))
