"""Tuples of values in readable text."""

from __future__ import annotations

from typing import Any

from s2s.transforms.ir.nodes import Pack, Scalar
from s2s.transforms.ir.precedence import ATOM
from s2s.transforms.rules import RULES

F8, I8 = Scalar("float64"), Scalar("int64")
NO_BUILDER: Any = None


def test_types() -> None:
    whole = RULES["tuple"].infer(NO_BUILDER, [F8, I8], {}, ())
    assert isinstance(whole, Pack) and whole.types == (F8, I8)
    assert RULES["tuple_part"].infer(NO_BUILDER, [whole], {"position": 1}, ()) == I8


def test_text() -> None:
    text, part = RULES["tuple"].text, RULES["tuple_part"].text
    assert text is not None and part is not None
    assert text([("a", ATOM), ("b", ATOM)], {}, [F8, I8]) == ("(a, b)", ATOM)
    assert text([("a", ATOM)], {}, [F8]) == ("(a,)", ATOM)
    assert part([("saved", ATOM)], {"position": 1}, [Pack((F8, I8))]) == ("saved[1]", ATOM)


def test_values() -> None:
    make, take = RULES["tuple"].evaluate, RULES["tuple_part"].evaluate
    assert make is not None and take is not None
    assert take(make(1.0, 2), position=1) == 2
