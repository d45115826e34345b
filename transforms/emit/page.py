"""The page that an emitted function is written on: statements in blocks, comments above them.

An item of a page is a statement of ours (`Ours`, a text), one of the user's (`Verbatim`, a libcst
node), or a compound statement (`Branching`) whose header is either.  `build_page.py` makes libcst
nodes of them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import libcst as cst

from ..frontend.kernel_interface import Whence
from ..ir.nodes import Origin, Site
from ..ir.quote import file_name, python_comment
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
        self.top = self.items  # those of the function
        self.indent = 4
        self.sweep = 0
        self.told: Any = None  # the statement whose line was announced last
        self.user_texts: dict[Any, UserText] = {}  # of inlined functions
        # The statements of the user's whose lines stand above the last statement, and the next.
        self.last_line: Any = None
        self.next_line: Any = None
        self.around: list[Any] = []  # the loops around the present line
        self.users: list[str] = []  # the comments of the user's that were announced last
        self.announce: list[str] = []  # comments, and "" for blank lines
        self.sweep_heading = ""  # the comment above the sweep of a tape
        self.requested: Any = None  # the call of `tape.gradient` whose sweep is being written
        self.short_sweeps: set[Any] = set()  # calls whose sweeps have no comments inside
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
        self.last_line = self.next_line
        return found

    def key(self, origin: Origin | None) -> Any:
        """What is announced once: a statement of the user's, an inlined call."""
        if origin is None:
            return None
        if origin.site is not None:
            return origin.site.stmt, origin.site.owner, origin.site.call, origin.sweep
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
        if origin.requested != self.requested:
            self.begin_sweep(origin)
        if origin.requested is not None:
            if origin.requested in self.short_sweeps:
                return
        elif origin.sweep == 0 and self.sweep and self.indent == 4:
            self.sweep = 0  # the program goes on after a derivative inside it
            self.announce = [""]
            self.told = None
        elif origin.sweep > self.sweep and self.indent == 4:
            self.sweep = origin.sweep
            number = "" if origin.sweep == 1 else f" {origin.sweep}"
            self.announce = ["", f"# ---- adjoint sweep{number} ----"]
            self.told = None
        if key == self.told:
            return
        self.told = key
        self.next_line = None
        keep = [a for a in self.announce if is_marker(a) or a == self.sweep_heading]
        if origin.site is not None:
            told = [comment(text, self.indent) for text in self.site_comments(origin, origin.site)]
            self.announce = [*keep, *told]
        elif origin.frame:
            self.announce = [*keep, comment(f"# {' > '.join(origin.frame)}", self.indent)]
        elif self.user is not None:
            node = self.user.node(origin.stmt)
            if origin.sweep == 0 and not origin.batched:
                # The comments of a statement that got no line of its own stay.
                keep = [a for a in self.announce if a in keep or a in self.users]
                self.users = self.user.above(origin.stmt)
                self.announce = [*keep, *self.users]
            elif node is not None and not isinstance(node, core.If):
                label = f"# L{origin.stmt.line}: {self.user.header(node)}"
                self.announce = [*keep, comment(label, self.indent)]

    def site_comments(self, origin: Origin, site: Site) -> list[str]:
        """The line of the user's that an inlined statement belongs to, unless it was written last,
        and the object of the library that runs there: in the program the line that calls, and the
        comments of the function that is called; in a sweep the innermost line."""
        forward = origin.sweep == 0 and self.user is not None
        found = [f"# {site.owner}"] if site.owner else []
        stmt = site.call if forward else site.stmt
        if forward and not found:
            found = [text for text in self.text_of(site.source).above(site.stmt) if text]
        if stmt != self.last_line:
            node = self.user.node(stmt) if forward and self.user is not None else None
            if node is not None and self.user is not None:
                found[:0] = [*self.user.above(stmt), f"# L{stmt.line}: {self.user.header(node)}"]
            else:
                found.insert(0, f"# {self.place_text(site)}: {_line(site)}")
        self.next_line = stmt
        return found

    def place_text(self, site: Site) -> str:
        where = f"L{site.stmt.line}"
        if self.user is None or site.stmt.file != self.user.source.file:
            where = f"{file_name(site.stmt.file)}:{site.stmt.line}"
        return f"{site.function}, {where}" if site.function else where

    def text_of(self, source: Any) -> UserText:
        """The text of a function that was inlined."""
        key = source.file, source.node.line
        if key not in self.user_texts:
            self.user_texts[key] = UserText(source)
        return self.user_texts[key]

    def begin_sweep(self, origin: Origin) -> None:
        """Announces the sweep that a tape requests, or goes on with the program after it."""
        self.requested, self.told = origin.requested, None
        self.announce = []
        node = (
            None
            if self.user is None or origin.requested is None
            else self.user.node(origin.requested)
        )
        if node is not None and self.user is not None and origin.requested is not None:
            label = f"# L{origin.requested.line}: {self.user.header(node)}"
            self.sweep_heading = comment(label, self.indent)
            self.announce = [*self.user.above(origin.requested), self.sweep_heading]


def _line(site: Site) -> str:
    return site.source.without_comments(site.stmt)


def is_marker(text: str) -> bool:
    """Whether a line above a statement belongs to no statement: a blank line, or the comment that
    begins an adjoint sweep."""
    return not text or text.startswith("# ----")


def comment(text: str, indent: int = 0) -> str:
    """A comment, cut off where the line would be too long."""
    line = python_comment(text)
    room = WIDTH - indent
    return line if len(line) <= room else line[: room - 4].rstrip() + " ..."
