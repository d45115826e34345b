"""The page that an emitted function is written on: statements in blocks, comments above them.

An item of a page is a statement of ours (`Ours`, a text), one of the user's (`Verbatim`, a libcst
node), or a compound statement (`Branching`) whose header is either.  `build_page.py` makes libcst
nodes of them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import libcst as cst

from ..frontend.kernel_interface import Whence
from ..ir.nodes import Origin
from ..ir.quote import python_comment
from ..ir.record import field, record
from ..syntax import core
from .format_ops import WIDTH
from .user_nodes import Header
from .user_text import UserText


@record
class Ours:
    """A simple statement as text, on one line."""

    text: str
    above: list[str] = field(default_factory=list)
    place: Whence | None = None


@record
class Verbatim:
    """A statement of the user's; `place` is that of its first line."""

    node: cst.BaseStatement
    above: list[str] = field(default_factory=list)
    place: Whence | None = None


@record
class Branching:
    """An `if`, `for` or `while`: its header is a text without the colon, or the user's node."""

    header: str | Header
    above: list[str] = field(default_factory=list)
    place: Whence | None = None
    body: list[Item] = field(default_factory=list)
    orelse: list[Item] = field(default_factory=list)
    user_else: cst.Else | None = None
    else_place: Whence | None = None
    may_join: bool = True  # in an `else:` of its own, it may become `elif`


Item: TypeAlias = Ours | Verbatim | Branching


def source_location(origin: Origin | None, number: int | None = None) -> Whence | None:
    """The place of a line of the statement with that origin; `number` says which of its lines it
    is, if not the one of the expression."""
    if origin is None:
        return None
    span = origin.span
    calls = tuple((c.file, c.line) for c in origin.calls)
    return Whence(span.file, number or span.line, calls, origin.sweep)


class Page:
    """Collects items.  Comments are announced, and written once a statement follows."""

    def __init__(self, user: UserText | None) -> None:
        self.user = user
        self.items: list[Item] = []  # of the block that is being written
        self.indent = 4
        self.sweep = 0
        self.told: Any = None  # the statement whose line was announced last
        self.around: list[Any] = []  # the loops around the present line
        self.announce: list[str] = []  # comments, and "" for blank lines
        self.origin: Origin | None = None  # of the statement that is being written

    def line(self, text: str) -> None:
        self.items.append(Ours(text, self.above(), source_location(self.origin)))

    def verbatim(self, node: cst.BaseStatement) -> None:
        """The present statement as the user wrote it."""
        assert self.origin is not None
        place = source_location(self.origin, self.origin.stmt.line)
        self.items.append(Verbatim(node, self.above(), place))

    def open(self, header: str | Header) -> Branching:
        """A compound statement, whose body is still to be written."""
        made = Branching(header, self.above(), source_location(self.origin))
        made.may_join = not made.above
        self.items.append(made)
        return made

    def above(self) -> list[str]:
        """What was announced: no blank line at the start of a block, and no two in a row."""
        found: list[str] = []
        for text in self.announce:
            if text or (found[-1] if found else self.items):
                found.append(text)
        self.announce = []
        return found

    def key(self, origin: Origin | None) -> Any:
        """What is announced once: a statement of the user's, an inlined call."""
        if origin is None:
            return None
        return (None if origin.frame else origin.stmt, origin.frame, origin.sweep)

    def mention(self, origin: Origin | None) -> None:
        """Prepares the comments that stand above a statement."""
        self.origin = origin
        if origin is None:
            return
        key = self.key(origin)
        if key in self.around:
            return
        if origin.tangent:
            return  # it stands right below what it is the tangent of
        if origin.sweep == 0 and self.sweep and self.indent == 4:
            self.sweep = 0  # the program goes on after a derivative inside it
            self.announce = [""]
            self.told = None
        if origin.sweep > self.sweep and self.indent == 4:
            self.sweep = origin.sweep
            number = "" if origin.sweep == 1 else f" {origin.sweep}"
            self.announce = ["", f"# ---- adjoint sweep{number} ----"]
            self.told = None
        if key == self.told:
            return
        self.told = key
        keep = [a for a in self.announce if is_marker(a)]
        if origin.frame:
            self.announce = [*keep, comment(f"# {' > '.join(origin.frame)}", self.indent)]
        elif self.user is not None:
            node = self.user.node(origin.stmt)
            if origin.sweep == 0 and not origin.batched:
                self.announce = [*keep, *self.user.above(origin.stmt)]
            elif node is not None and not isinstance(node, core.If):
                label = f"# L{origin.stmt.line}: {self.user.header(node)}"
                self.announce = [*keep, comment(label, self.indent)]


def is_marker(text: str) -> bool:
    """Whether a line above a statement belongs to no statement: a blank line, or the comment that
    begins an adjoint sweep."""
    return not text or text.startswith("# ----")


def comment(text: str, indent: int = 0) -> str:
    """A comment, cut off where the line would be too long."""
    line = python_comment(text)
    room = WIDTH - indent
    return line if len(line) <= room else line[: room - 4].rstrip() + " ..."
