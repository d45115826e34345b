"""The page emitted code is written on: lines, indentation, and comments above statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..frontend.kernel_interface import Whence
from ..ir.nodes import Origin
from ..ir.quote import python_comment
from ..syntax import core
from .format_ops import WIDTH, lay_out
from .user_text import UserText


class Line(str):
    """A line that stands for one of the user's."""

    place: Whence

    @staticmethod
    def of(text: str, origin: Origin | None, number: int | None = None) -> str:
        """A line of the statement with that origin; `number` says which of its lines it is, if
        not the one of the expression."""
        if origin is None:
            return text
        line, span = Line(text), origin.span
        calls = tuple((c.file, c.line) for c in origin.calls)
        line.place = Whence(span.file, number or span.line, calls, origin.sweep)
        return line

    def moved(self, text: str) -> Line:
        """Another text at the same place."""
        line = Line(text)
        line.place = self.place
        return line


class Page:
    """Collects lines.  Comments are announced, and written once a line follows."""

    def __init__(self, user: UserText | None) -> None:
        self.user = user
        self.lines: list[str] = []
        self.indent = 4
        self.sweep = 0
        self.told: Any = None  # the statement whose line was announced last
        self.around: list[Any] = []  # the loops around the present line
        self.announce: list[str] = []
        self.origin: Origin | None = None  # of the statement that is being written

    def line(self, text: str) -> None:
        self.put([Line.of(t, self.origin) for t in lay_out(text, self.indent)])

    def verbatim(self, lines: list[str]) -> None:
        """The lines of the present statement, one by one."""
        assert self.origin is not None
        first, pad = self.origin.stmt.line, " " * self.indent
        lines = [pad + line if line.strip() else "" for line in lines]
        self.put([Line.of(t, self.origin, first + k) for k, t in enumerate(lines)])

    def put(self, lines: Sequence[str]) -> None:
        above = [Line.of(t, self.origin) if t and "# ----" not in t else t for t in self.announce]
        self.lines += [*above, *lines]
        self.announce = []

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
            self.announce = ["", f"    # ---- adjoint sweep{number} ----"]
            self.told = None
        if key == self.told:
            return
        self.told = key
        pad = " " * self.indent
        keep = [a for a in self.announce if not a or "----" in a]
        if origin.frame:
            self.announce = [*keep, *comment(f"# {' > '.join(origin.frame)}", pad)]
        elif self.user is not None:
            node = self.user.node(origin.stmt)
            if origin.sweep == 0 and not origin.batched:
                comments = self.user.source.comments_above(origin.stmt.line)
                self.announce = [*keep, *(pad + c for c in comments)]
            elif node is not None and not isinstance(node, core.If):
                label = f"# L{origin.stmt.line}: {self.user.header(node)}"
                self.announce = [*keep, *comment(label, pad)]


def comment(text: str, pad: str = "") -> list[str]:
    line = pad + python_comment(text)
    return [line if len(line) <= WIDTH else line[: WIDTH - 4].rstrip() + " ..."]
