"""Items of a page as one libcst module: what prints, and where its lines come from."""

from __future__ import annotations

import libcst as cst
import pytest

from s2s.transforms.emit.build_page import Builder
from s2s.transforms.emit.format_ops import WIDTH
from s2s.transforms.emit.page import Branching, Item, Ours, Verbatim
from s2s.transforms.frontend.kernel_interface import Whence


def at(line: int, sweep: int = 0) -> Whence:
    return Whence("f.py", line, (), sweep)


def user(text: str) -> cst.BaseStatement:
    (node,) = cst.parse_module(text).body
    assert not isinstance(node, cst.SimpleStatementSuite)
    return node  # type: ignore[return-value]


def page(items: list[Item], signature: str = "def f(x)") -> tuple[list[str], dict[int, int]]:
    """The lines that print, and of which line of the user's each is."""
    builder = Builder()
    module = cst.Module([builder.definition(signature, items)])
    text = module.code
    assert cst.parse_module(text).code == text
    compile(text, "page", "exec")
    places = builder.places(module)
    lines = text.split("\n")
    assert lines.pop() == ""
    return lines, {n: p.line for n, p in places.items()}


def test_statements_of_ours_and_of_the_users() -> None:
    items: list[Item] = [
        Verbatim(user("a = (x +  # c\n     1)  # d\n"), ["# above", "", "# twice"], at(3)),
        Ours("b = a * 2", ["", "# ---- adjoint sweep ----", "# L3: a"], at(3, 1)),
        Ours("return b"),
    ]
    lines, places = page(items)
    assert lines == [
        "def f(x):",
        "    # above",
        "",
        "    # twice",
        "    a = (x +  # c",
        "         1)  # d",
        "",
        "    # ---- adjoint sweep ----",
        "    # L3: a",
        "    b = a * 2",
        "    return b",
    ]
    # The second line of the user's statement is his next one; blank lines have no place.
    assert places == {2: 3, 4: 3, 5: 3, 6: 4, 9: 3, 10: 3}


def test_blocks() -> None:
    inner = Branching("for i in range(x)", ["# loop"], at(2), [Ours("y = i", [], at(3))])
    items: list[Item] = [
        Branching("while True", [], at(1), [inner, Ours("break")]),
        Verbatim(user("while x:\n  # c\n  x -= 1\n  # d\n"), [], at(5)),
    ]
    lines, places = page(items)
    assert lines[1:] == [
        "    while True:",
        "        # loop",
        "        for i in range(x):",
        "            y = i",
        "        break",
        "    while x:",
        "        # c",
        "        x -= 1",
        "        # d",
    ]
    assert {n: places.get(n) for n in range(2, 9)} == {2: 1, 3: 2, 4: 2, 5: 3, 6: None, 7: 5, 8: 6}


HEADER = """\
if (x > 0  # why
        and x < 9):  # when
    pass
    # end
# otherwise
else:  # else
    pass
    # last
"""


def test_the_users_header_with_all_its_comments() -> None:
    header = user(HEADER)
    assert isinstance(header, cst.If) and isinstance(header.orelse, cst.Else)
    made = Branching(
        header, [], at(4), [Ours("y = 1", [], at(6))], [Ours("y = 2", [], at(10))],
        header.orelse, at(9),
    )  # fmt: skip
    lines, places = page([made])
    assert lines[1:] == [
        "    if (x > 0  # why",
        "            and x < 9):  # when",
        "        y = 1",
        "        # end",
        "    # otherwise",
        "    else:  # else",
        "        y = 2",
        "        # last",
    ]
    assert places == {2: 4, 3: 4, 4: 6, 6: 9, 7: 9, 8: 10}


@pytest.mark.parametrize("written", [False, True])
def test_else_if_joins(written: bool) -> None:
    nested: Item = Branching("if y", [], at(3), [Ours("z = 1")], [Ours("z = 2")])
    if written:
        nested = Verbatim(user("if y:\n    z = 1\nelse:\n    z = 2\n"), [], at(3))
    made = Branching("if x", [], at(1), [Ours("z = 0")], [nested])
    lines, places = page([made])
    assert [line.strip() for line in lines[1:]] == [
        "if x:", "z = 0", "elif y:", "z = 1", "else:", "z = 2",
    ]  # fmt: skip
    assert places[2] == 1 and places[4] == 3


@pytest.mark.parametrize("case", ["comment", "two", "loop"])
def test_else_does_not_join(case: str) -> None:
    nested = Branching("while y" if case == "loop" else "if y", [], None, [Ours("break")])
    nested.above, nested.may_join = (["# c"], False) if case == "comment" else ([], True)
    more: list[Item] = [Ours("z = 1")] if case == "two" else []
    made = Branching("if x", [], None, [Ours("break")], [nested, *more])
    outer = Branching("while True", [], None, [made])
    lines, _ = page([outer])
    assert "        else:" in lines and not any("elif" in line for line in lines)


def test_long_statements_of_ours_are_broken_at_their_depth() -> None:
    terms = " + ".join(f"some_value_{k} * x" for k in range(8))
    inner = Branching(f"if {terms} > 0", [], at(1), [Ours(f"y = {terms}", [], at(2))])
    lines, places = page([Branching("while True", [], None, [inner])])
    assert max(map(len, lines)) <= WIDTH and len(lines) > 6
    first = next(n for n, line in enumerate(lines, 1) if line.strip().startswith("y ="))
    # A header in several lines is of one line of the user's, and so is a statement.
    assert set(places) == set(range(3, len(lines) + 1))
    assert all(line == (1 if n < first else 2) for n, line in places.items())


def test_one_node_may_print_several_times() -> None:
    node = user("a = [\n    x,\n]\n")
    lines, places = page([Verbatim(node, [], at(2)), Verbatim(node, [], at(2))])
    assert lines[1:] == ["    a = [", "        x,", "    ]"] * 2
    assert list(places.values()) == [2, 3, 4] * 2
