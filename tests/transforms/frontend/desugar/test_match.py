"""`match` as `if`: the text after the rewrite, and the same choices as Python's."""

from __future__ import annotations

import ast
import collections
import collections.abc
import dataclasses
import itertools
from typing import Any

import pytest

from s2s.transforms.frontend.desugar.match import expand_match
from s2s.transforms.syntax.printer import show_block, show_function
from tests.transforms.frontend.ast_to_core import translate
from tests.transforms.frontend.core_text import check, parse, refusals


def test_values_are_a_chain_of_if_and_elif() -> None:
    check(
        expand_match,
        """
        def f(n):
            match n:
                case 0:
                    a()
                case 1 | -2:
                    b()
                case None:
                    c()
                case M.x as y:
                    d(y)
                case _:
                    e()
        """,
        """
        def f(n):
            if n == 0:
                a()
            elif n == 1 or n == -2:
                b()
            elif n is None:
                c()
            elif n == M.x:
                y = n
                d(y)
            else:
                e()
        """,
    )


def test_the_subject_is_evaluated_once_and_kept_if_a_pattern_rebinds_it() -> None:
    check(
        expand_match,
        """
        def f(x):
            match g(x):
                case 1:
                    a()
            match x:
                case {1: x, **rest}:
                    b()
        """,
        """
        def f(x):
            subject_L2 = g(x)
            if subject_L2 == 1:
                a()
            subject_L5 = x
            if (isinstance(subject_L5, dict) or isinstance(subject_L5, Mapping) and \
__refused__('a mapping pattern for this class is not supported')) and 1 in subject_L5:
                x = subject_L5[1]
                rest = {key: item for key, item in subject_L5.items() if key not in (1,)}
                b()
        """,
    )


def test_a_guard_that_fails_goes_on_with_the_next_case() -> None:
    check(
        expand_match,
        """
        def f(x):
            match x:
                case 1 if p():
                    a()
                case y if q(y):
                    b()
                case _:
                    c()
        """,
        """
        def f(x):
            matched_L3 = False
            if x == 1:
                if p():
                    matched_L3 = True
                    a()
            if not matched_L3:
                y = x
                if q(y):
                    b()
                else:
                    c()
        """,
    )


def test_attributes_are_read_once_in_the_order_of_the_pattern() -> None:
    check(
        expand_match,
        """
        def f(p):
            match p:
                case m.P(x=1, y=[a]):
                    b(a)
        """,
        """
        def f(p):
            if isinstance(p, m.P) and hasattr(p, 'x') and hasattr(p, 'y'):
                part_L3 = p.x
                part_L3_ = p.y
                if part_L3 == 1 and (isinstance(part_L3_, (list, tuple, range)) or \
isinstance(part_L3_, Sequence) and not isinstance(part_L3_, (str, bytes, bytearray)) and \
__refused__('a sequence pattern for this class is not supported')) and len(part_L3_) == 1:
                    a = part_L3_[0]
                    b(a)
        """,
    )


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[0, x] | [x, 0]", "alternatives that bind names are not supported"),
        ("P(a=[1]) | 2", "an alternative with patterns inside attributes is not supported"),
        ("{K.a: 1}", "a key that is no literal is not supported"),
    ],
)
def test_what_is_refused(pattern: str, message: str) -> None:
    func = expand_match(parse(f"def f(s):\n    match s:\n        case {pattern}:\n            g()"))
    assert message in refusals(func)


def test_names_of_the_rewrite_are_new() -> None:
    func = parse("def f(subject_L2):\n    match g(subject_L2):\n        case 1:\n            h()")
    assert "subject_L2_ = g(subject_L2)" in show_function(expand_match(func))


# ---- Python's own `match` as the oracle

PROGRAM = """
def f(s):
    seen = []
    match s:
        case 0 | 1.5 | "text":
            return "value", seen
        case None | True:
            return "single", seen
        case []:
            return "empty", seen
        case [x] if note(seen, "one", x):
            return "one", seen, x
        case (1, y) | (2, y) if False:
            pass
        case [1, [a, *b], c]:
            return "nested", seen, a, b, c
        case [x, *_, y] if note(seen, "ends", x) and x == y:
            return "ends", seen, x, y
        case [*first, 7]:
            return "seven", seen, first
        case {"k": [x, y], "l": 2, **rest}:
            return "mapping", seen, x, y, rest
        case {"k": x}:
            return "key", seen, x
        case Point(x=0, y=q) if note(seen, "point", q) and q > 5:
            return "on axis", seen, q
        case Point(p, Point(q, r)):
            return "nested point", seen, p, q, r
        case Point(x=[p], y=_):
            return "list in a point", seen, p
        case Point() | int() as z:
            return "class", seen, z
        case str(t) | bytes(t) if False:
            pass
        case float(z):
            return "float", seen, z
        case w if note(seen, "last", None):
            return "last", seen, w
    return "none", seen
""".replace("(1, y) | (2, y)", "(1, 'never')").replace("str(t) | bytes(t)", "str(t)")


@dataclasses.dataclass
class Point:
    x: Any
    y: Any


class Properties:
    """Counts reads of its attributes."""

    reads: list[str] = []

    @property
    def x(self) -> int:
        self.reads.append("x")
        return 0

    @property
    def y(self) -> list[int]:
        self.reads.append("y")
        return [1, 2]


def note(seen: list[Any], name: str, value: Any) -> bool:
    seen.append((name, value))
    return value is None or value != 9


def namespace() -> dict[str, Any]:
    return {
        "Point": Point, "note": note, "Sequence": collections.abc.Sequence,
        "Mapping": collections.abc.Mapping, "Properties": Properties,
    }  # fmt: skip


def both(text: str) -> tuple[Any, Any]:
    """A function as Python runs it, and after the rewrite."""
    plain, made = namespace(), namespace()
    exec(text, plain)
    exec(show_function(expand_match(parse(text))), made)
    return plain["f"], made["f"]


def test_it_chooses_as_python_does() -> None:
    f, made = both(PROGRAM)
    leaves = [0, 1, 1.5, True, None, "text", b"b", 7, 9]
    lists = [
        list(items) for n in range(4) for items in itertools.product([1, 7, 9, [3, 4]], repeat=n)
    ]
    others = [
        {}, {"k": [1, 2], "l": 2, "m": 3}, {"k": [1, 2], "l": 3}, {"k": 1}, {"l": 2},
        Point(0, 3), Point(0, 9), Point(0, 6), Point(1, Point(2, 3)), Point([4], 1), Point([], 1),
        range(3), (1, (2,), 3), (7,), 2.5, 3, object,
    ]  # fmt: skip
    for subject in [*leaves, *lists, *others]:
        assert made(subject) == f(subject), subject


def test_attributes_are_read_as_often_as_python_does() -> None:
    text = """
def f(s):
    match s:
        case Properties(x=1, y=2):
            return "no"
        case Properties(x=0, y=[a, b]) if a == b:
            return "no"
        case Properties(x=v, y=[a, b]):
            return v, a, b
"""
    f, made = both(text)
    # As the evaluator answers it, from the class alone.
    made.__globals__["hasattr"] = lambda owner, name: name in dir(type(owner))
    for function in (f, made):
        Properties.reads.clear()
        assert function(Properties()) == (0, 1, 2)
        assert Properties.reads == ["x", "y"] * 3


def test_it_is_parsed_as_by_python() -> None:
    func = parse(PROGRAM.lstrip())
    (oracle,) = translate(ast.unparse(ast.parse(PROGRAM)))
    assert show_function(func) == show_block((oracle,))
