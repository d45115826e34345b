"""What is announced above the statements of a page, and where they come from."""

from __future__ import annotations

from s2s.transforms.emit.format_ops import WIDTH
from s2s.transforms.emit.page import Page, comment, is_marker, source_location
from s2s.transforms.emit.user_text import UserText
from s2s.transforms.frontend.source import read
from s2s.transforms.ir.nodes import Origin, Span


def program(x):  # type: ignore[no-untyped-def]
    # first
    a = x

    # second
    b = a
    return b


SOURCE = read(program)
FIRST, SECOND, LAST = (SOURCE.span(stmt) for stmt in SOURCE.node.body)


def above(*origins: Origin) -> list[list[str]]:
    """What stands above the statements of these origins."""
    page = Page(UserText(SOURCE))
    for origin in origins:
        page.mention(origin)
        page.line("pass")
    return [item.above for item in page.items]


def test_no_blank_line_starts_a_block_and_no_two_follow_each_other() -> None:
    page = Page(None)
    for lines in (["", "# a", "", "", "# b", ""], ["", ""], []):
        page.announce = lines
        page.line("x = 1")
    assert [item.above for item in page.items] == [["# a", "", "# b", ""], [""], []]
    inner = page.open("while x")
    assert inner.above == [] and inner.may_join
    page.announce = ["# c"]
    assert not page.open("if x").may_join


def test_comments_of_the_users_once() -> None:
    first, second = Origin(FIRST, FIRST), Origin(SECOND, SECOND)
    assert above(first, first, second) == [["# first"], [], ["", "# second"]]


def test_comments_of_a_statement_without_a_line_stay() -> None:
    page = Page(UserText(SOURCE))
    page.line("x = 1")
    page.mention(Origin(SECOND, SECOND))
    page.mention(Origin(LAST, LAST))
    page.line("return x")
    assert page.items[1].above == ["", "# second"]


def test_lines_of_the_sweep() -> None:
    forward = Origin(LAST, LAST)
    found = above(forward, *(Origin(s, s, sweep=1) for s in (LAST, SECOND, SECOND)))
    assert found == [
        [],
        ["", "# ---- adjoint sweep ----", f"# L{LAST.line}: return b"],
        [f"# L{SECOND.line}: b = a"],
        [],
    ]
    assert [is_marker(text) for text in found[1]] == [True, True, False]


def test_a_long_comment_is_cut_off() -> None:
    text = "# " + "word " * 30
    for indent in (0, 8):
        assert len(comment(text, indent)) <= WIDTH - indent and comment(text).endswith(" ...")
    assert comment("# short", 8) == "# short"


def test_source_locations() -> None:
    call = Span("g.py", 9, 0, 9, 5)
    found = source_location(Origin(span=LAST, stmt=FIRST, sweep=2, calls=(call,)))
    assert found is not None and source_location(None) is None
    assert (found.file, found.calls, found.sweep) == (SOURCE.file, (("g.py", 9),), 2)
    assert found.line == LAST.line
    moved = source_location(Origin(LAST, FIRST), 77)
    assert moved is not None and moved.line == 77
