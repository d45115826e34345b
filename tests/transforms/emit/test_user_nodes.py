"""The user's statements as libcst's nodes: found by position, printed anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst
import pytest

from s2s.transforms.emit.user_nodes import UserNodes, header_text
from s2s.transforms.frontend.source import read
from s2s.transforms.syntax.core import Define, For, If, Stmt, While


# ruff: noqa: B007, E701, E702
# fmt: off
def program(x, n):  # type: ignore[no-untyped-def]
    """Sum.

      indented
    more
    """
    # first

    # second
    a = (x +  # in brackets
         1)   # behind
    b = 1; c = 2  # two


    for i in range(
        n  # times
    ):  # header
        # in the loop
        print("""text
  unindented""")

        if a: b = c
    # of the elif
        elif b:
            c = 3
            # end of the elif
        # of the else
        else:  # behind else
            c = 4
        # end of the loop
    while b:
        b -= 1
    return a, b, c
# fmt: on


def statements(block: tuple[Stmt, ...]) -> list[Stmt]:
    found: list[Stmt] = []
    for stmt in block:
        found.append(stmt)
        if isinstance(stmt, (If, For, While)):
            found += statements(stmt.body) + statements(stmt.orelse)
    return found


SOURCE = read(program)
NODES = UserNodes(SOURCE)
FOUND = {
    SOURCE.line(s.line)[s.at[1] :].split("(")[0]: s.at[:2] for s in statements(SOURCE.node.body)
}


def at(start: str) -> tuple[int, int]:
    (found,) = (place for text, place in FOUND.items() if text.startswith(start))
    return found


def code(node: cst.BaseStatement) -> str:
    return cst.Module([]).code_for_node(node)


def printed(start: str) -> str:
    node = NODES.statement(at(start))
    assert node is not None
    return code(node)


def test_each_statement_is_found() -> None:
    assert len(FOUND) == len(statements(SOURCE.node.body))
    assert all(NODES.statement(place) is not None for place in FOUND.values())
    assert NODES.statement((1, 0)) is None
    assert NODES.definition is not None and NODES.definition.name.value == "program"


def test_comments_above_with_blank_lines() -> None:
    assert NODES.above(at("a = ")) == ["# first", "", "# second"]
    assert NODES.above(at("b = 1")) == [] and NODES.above(at("c = 2")) == []
    assert NODES.above(at("for ")) == ["", ""]
    assert NODES.above(at("print")) == ["# in the loop"]
    assert NODES.above(at("b = c")) == []


def test_a_simple_statement_stands_alone() -> None:
    assert printed("a = ") == "a = (x +  # in brackets\n     1)   # behind\n"
    # The comment behind two statements belongs to the second.
    assert printed("b = 1") == "b = 1\n" and printed("c = 2") == "c = 2  # two\n"
    assert printed("b = c") == "b = c\n"
    assert printed("print") == 'print("""text\n  unindented""")\n'


def test_a_compound_statement_is_normalised_to_four_columns() -> None:
    assert printed("for ") == (
        """\
for i in range(
    n  # times
):  # header
    # in the loop
    print(\"""text
  unindented\""")

    if a: b = c
    # of the elif
    elif b:
        c = 3
        # end of the elif
    # of the else
    else:  # behind else
        c = 4
    # end of the loop
"""
    )


def test_a_statement_in_another_block_prints_at_its_depth() -> None:
    node = NODES.statement(at("if a"))
    assert node is not None
    inner = cst.While(cst.Name("y"), cst.IndentedBlock([node]))
    outer = cst.If(cst.Name("z"), cst.IndentedBlock([inner]))
    lines = cst.Module([outer]).code.split("\n")
    assert lines[:5] == [
        "if z:", "    while y:", "        if a: b = c", "        # of the elif", "        elif b:",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "text"),
    [
        ("for ", "for i in range(\n    n  # times\n):"),
        ("while ", "while b:"),
        ("if a", "if a:"),
        ("elif ", "if b:"),
    ],
)
def test_headers(start: str, text: str) -> None:
    node = NODES.compound(at(start))
    assert node is not None and header_text(node) == text
    assert NODES.compound(at("a = ")) is None


def docstring(f: Callable[..., Any], indent: int = 4) -> tuple[str, int] | None:
    found = UserNodes(read(f)).docstring(indent)
    return found and (cst.Module([found[0]]).code, found[1].line - f.__code__.co_firstlineno)


def test_the_docstring_moves_with_the_body() -> None:
    # fmt: off
    def deeper(x):  # type: ignore[no-untyped-def]
        r"""One \d.

        Two
          three
        """  # behind
        return x

    def joined(x):  # type: ignore[no-untyped-def]
        ("a"
            "b")
        return x

    # fmt: on
    def without(x):  # type: ignore[no-untyped-def]
        x = "no docstring"
        return x

    assert docstring(program) == ('"""Sum.\n\n      indented\n    more\n    """\n', 1)
    assert docstring(program, 6) == ('"""Sum.\n\n        indented\n      more\n      """\n', 1)
    text = 'r"""One \\d.\n\n    Two\n      three\n    """  # behind\n'
    assert docstring(deeper) == (text, 1)
    assert docstring(joined) == ('("a"\n    "b")\n', 1)
    assert docstring(without) is None


def test_a_lambda_has_no_statements() -> None:
    nodes = UserNodes(read(lambda x: x * 2))
    assert nodes.definition is None and not nodes.found and nodes.docstring(4) is None


def test_an_inner_function_is_found_by_its_position() -> None:
    def outer(x):  # type: ignore[no-untyped-def]
        def inner(y):
            return y  # of inner

        return inner(x)

    source = read(outer)
    nodes = UserNodes(source)
    assert nodes.definition is not None and nodes.definition.name.value == "outer"
    define = source.node.body[0]
    assert isinstance(define, Define)
    node = nodes.statement(define.func.body[0].at[:2])
    assert node is not None and code(node) == "return y  # of inner\n"
