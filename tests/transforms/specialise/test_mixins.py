"""The specialiser is one class in several files: no part hides a method of another."""

from __future__ import annotations

from collections import Counter
from types import FunctionType

from s2s.transforms.specialise.specialiser import Specialiser


def test_every_method_is_defined_once() -> None:
    classes = [c for c in Specialiser.__mro__ if c is not object]
    defined = Counter(
        name
        for c in classes
        for name, value in vars(c).items()
        if isinstance(value, FunctionType) and not name.startswith("__")
    )
    assert [name for name, count in defined.items() if count > 1] == []
