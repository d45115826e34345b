"""The libcst nodes of the user's statements, found by where they begin.

The function is parsed again for that, when somebody prints it.  A statement that is put into
another block prints at the depth of that block: libcst's nodes hold no indentation.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import libcst as cst

from ..frontend.kernel_interface import Whence
from ..frontend.source import Source

Place = tuple[int, int]  # line and column in the user's file
Header = cst.If | cst.For | cst.While
_BLANK = cst.EmptyLine(indent=False)


class UserNodes:
    """The statements of a function, and its definition; nothing for a lambda."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tree = source.tree()
        self.definition: cst.FunctionDef | None = None
        # The node of each statement, and the line it stands in if it is a simple one.
        self.found: dict[Place, tuple[Any, Any]] = {}
        # What stands right before each statement: the statement before it in its block, or the
        # statement whose block it begins.
        self.before: dict[Place, Place] = {}
        if self.tree is None:
            return
        for node in self.tree.recorder.found[cst.FunctionDef]:
            if self.tree.at(node) == source.node.at:
                self.definition = node
        self.add(self.tree.module)

    def add(self, suite: Any, before: Place | None = None) -> None:
        """The statements of a block, and all in them."""
        assert self.tree is not None
        for node in suite.body:
            place = self.tree.at(node)[:2]
            if before is not None:
                self.before[place] = before
            before = place
            parts = [node]
            line = None
            if isinstance(node, cst.SimpleStatementLine):
                parts, line = list(node.body), node
            elif isinstance(suite, cst.SimpleStatementSuite):
                line = suite
            for part in parts:
                self.found.setdefault(self.tree.at(part)[:2], (part, line))
            if line is None:
                self.add_inner(node)

    def add_inner(self, node: Any) -> None:
        assert self.tree is not None
        place = self.tree.at(node)[:2]
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            self.add(part.body, place)
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(node, name, None)
            if isinstance(inner, cst.If):
                at = self.tree.at(inner)[:2]
                self.found[at] = inner, None
                self.before[at] = place
                self.add_inner(inner)
            elif isinstance(inner, (cst.Else, cst.Finally)):
                self.add(inner.body, place)
            elif isinstance(inner, (cst.IndentedBlock, cst.SimpleStatementSuite)):
                self.add(inner, place)

    def statement(self, at: Place) -> cst.BaseStatement | None:
        """The statement that begins there, as one that can stand anywhere."""
        node, line = self.found.get(at, (None, None))
        if node is None:
            return None
        if line is None:
            return _tidy(node)
        alone = node.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        trailing = tidy_trailing(line.trailing_whitespace)
        if node is not line.body[-1]:
            trailing = cst.TrailingWhitespace()
        return cst.SimpleStatementLine([alone], trailing_whitespace=trailing)

    def compound(self, at: Place) -> Header | None:
        """The `if`, `for` or `while` that begins there."""
        node, _ = self.found.get(at, (None, None))
        return node if isinstance(node, (cst.If, cst.For, cst.While)) else None

    def above(self, at: Place, kept: frozenset[Place] | None = None) -> list[str]:
        """The comments above a statement, "" for blank lines; and those above the statements
        before it of which the page has nothing, if `kept` are the places of the others."""
        texts = self.right_above(at)
        place = self.before.get(at)
        while kept is not None and place is not None:
            if place in kept or self.contains(place, at, kept):
                break
            texts = [*self.right_above(place), *texts]
            place = self.before.get(place)
        return texts

    def contains(self, place: Place, at: Place, kept: frozenset[Place]) -> bool:
        """Whether something of a statement is left, except for what surrounds `at`."""
        assert self.tree is not None
        node, _ = self.found.get(place, (None, None))
        if node is None:
            return True
        end = self.tree.at(node)[2:]
        if place < at < end:
            return isinstance(node, cst.FunctionDef)  # whose comments are not those of its body
        return any(place < other < end for other in kept)

    def right_above(self, at: Place) -> list[str]:
        node, line = self.found.get(at, (None, None))
        if isinstance(line, cst.SimpleStatementLine) and line.body[0] is node:
            return texts_above(line.leading_lines)
        return texts_above(node.leading_lines) if line is None and node is not None else []

    def docstring(self, indent: int) -> tuple[cst.SimpleStatementLine, Whence] | None:
        """The docstring of the function for a body of that indentation, and where it stands."""
        if self.definition is None or self.definition.get_docstring(clean=False) is None:
            return None
        assert self.tree is not None
        line: Any = self.definition.body.body[0]
        if not isinstance(line, cst.SimpleStatementLine):
            return None
        text = line.body[0].value  # type: ignore[attr-defined]
        number, column, *_ = self.tree.at(line.body[0])
        if isinstance(text, cst.SimpleString):
            text = text.with_changes(value=_shifted(text.value, column - indent))
        made = cst.SimpleStatementLine(
            [cst.Expr(text)], trailing_whitespace=tidy_trailing(line.trailing_whitespace)
        )
        return made, Whence(self.source.file, number)


def header_text(node: Header) -> str:
    """A header as it prints, with the comments in its brackets."""
    bare = node.with_changes(
        leading_lines=(), orelse=None, body=cst.SimpleStatementSuite([cst.Pass()])
    )
    return cst.Module([]).code_for_node(bare).rstrip().removesuffix("pass").rstrip(" ")


def _shifted(text: str, by: int) -> str:
    """The later lines of a string that stands less deep by some columns."""
    first, *rest = text.split("\n")
    if by > 0 and all(line[:by].isspace() or not line for line in rest):
        rest = [line[by:] for line in rest]
    elif by < 0 and not any(line.startswith("\t") for line in rest):
        rest = [textwrap.indent(line, " " * -by) for line in rest]
    return "\n".join([first, *rest])


def _tidy(node: Any) -> Any:
    """A statement without the lines above it, its comments in the columns of their blocks."""
    if isinstance(node, cst.SimpleStatementLine):
        return node.with_changes(
            leading_lines=(), trailing_whitespace=tidy_trailing(node.trailing_whitespace)
        )
    if not isinstance(node, Header | cst.Else):
        return node.with_changes(leading_lines=())
    node = node.with_changes(leading_lines=(), body=_tidy_block(node.body))
    orelse: Any = node.orelse if isinstance(node, Header) else None
    if orelse is None:
        return node
    return node.with_changes(orelse=_tidy_below(orelse))


def _tidy_block(block: Any) -> Any:
    if not isinstance(block, cst.IndentedBlock):
        return block
    return block.with_changes(
        header=tidy_trailing(block.header),
        footer=tidy_lines(block.footer),
        indent=None,
        body=[_tidy_below(node) for node in block.body],
    )


def _tidy_below(node: Any) -> Any:
    return _tidy(node).with_changes(leading_lines=tidy_lines(node.leading_lines))


# ---- comments and blank lines


def lines_above(texts: Iterable[str]) -> list[cst.EmptyLine]:
    return [cst.EmptyLine(comment=cst.Comment(t)) if t else _BLANK for t in texts]


def texts_above(lines: Iterable[cst.EmptyLine]) -> list[str]:
    """The comments among the lines above a statement, and "" for the blank ones."""
    return ["" if line.comment is None else line.comment.value for line in lines]


def tidy_lines(lines: Iterable[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Comments in the column of their block, blank lines without white space."""
    return lines_above(texts_above(lines))


def tidy_trailing(found: cst.TrailingWhitespace) -> cst.TrailingWhitespace:
    """The end of a line, without white space unless a comment follows."""
    if found.comment is None:
        return cst.TrailingWhitespace()
    return cst.TrailingWhitespace(found.whitespace, found.comment)
