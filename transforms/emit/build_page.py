"""Make libcst nodes of the items of a page, print them, and say where their lines come from.

The texts of a function are parsed together: one call of the parser for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from ..frontend.kernel_interface import Whence
from ..frontend.positions import Recorder
from ..syntax.cst_parser import parse_module
from .format_ops import lay_out
from .page import Branching, Item, Ours, Verbatim, is_marker
from .user_nodes import lines_above, texts_above, tidy_lines, tidy_trailing


class Builder:
    """Builds the definitions of one module.  `placed` are the nodes whose lines have a place."""

    def __init__(self) -> None:
        self.placed: list[tuple[cst.CSTNode, Item]] = []

    def definition(
        self, signature: str, items: list[Item], heading: Sequence[str] = ()
    ) -> cst.FunctionDef:
        """A function with comments above it; its signature begins with `def` and has no colon."""
        texts = [*lay_out(f"{signature}:", 0), "    pass"]
        numbers: dict[int, int] = {}
        count = 1
        for item, indent in _with_indent(items, 4):
            if isinstance(item, Ours):
                lines = lay_out(item.text, indent)
            elif isinstance(item, Branching) and isinstance(item.header, str):
                lines = [*lay_out(f"{item.header}:", indent), " " * indent + "    pass"]
            else:
                continue
            texts += [line[indent:] for line in lines]
            numbers[id(item)] = count
            count += 1
        parsed = parse_module("\n".join(texts) + "\n").body
        assert len(parsed) == count, "a text that is not one statement"
        self.parsed = {key: parsed[number] for key, number in numbers.items()}
        made: Any = parsed[0]
        return made.with_changes(body=self.block(items), leading_lines=lines_above(heading))

    def block(self, items: list[Item], user: Any = None) -> cst.IndentedBlock:
        """A block; that of the user's which it stands for has comments behind its header and at
        its end."""
        made = cst.IndentedBlock([self.node(item) for item in items])
        if not isinstance(user, cst.IndentedBlock):
            return made
        return made.with_changes(header=tidy_trailing(user.header), footer=tidy_lines(user.footer))

    def node(self, item: Item) -> Any:
        if isinstance(item, Branching):
            made = self.branching(item)
        else:
            made = item.node if isinstance(item, Verbatim) else self.parsed[id(item)]
        made = made.with_changes(leading_lines=lines_above(item.above))
        self.placed.append((made, item))
        return made

    def branching(self, item: Branching) -> Any:
        user: Any = None if isinstance(item.header, str) else item.header
        base: Any = self.parsed[id(item)] if user is None else user
        body = self.block(item.body, user and user.body)
        made = base.with_changes(body=body, orelse=None)
        if not item.orelse:
            return made
        if len(item.orelse) == 1 and _may_join(item.orelse[0]):
            return made.with_changes(orelse=self.node(item.orelse[0]))
        orelse = cst.Else(body=self.block(item.orelse, item.user_else and item.user_else.body))
        if item.user_else is not None:
            above = tidy_lines(item.user_else.leading_lines)
            orelse = orelse.with_changes(leading_lines=above)
        above = texts_above(orelse.leading_lines)
        self.placed.append((orelse, Ours("else", above, item.else_place)))
        return made.with_changes(orelse=orelse)

    def places(self, module: cst.Module) -> dict[int, Whence]:
        """For the numbers of the lines of the printed module: where they come from."""
        spans = Recorder(module).spans
        found: dict[int, Whence] = {}
        for node, item in self.placed:
            place = item.place
            if place is None:
                continue
            (first, _), (last, _) = spans[id(node)]
            if isinstance(item, Branching) or isinstance(node, cst.Else):
                last = spans[id(node.body.header)][0][0]  # type: ignore[attr-defined]
            for number in range(first, last + 1):
                step = number - first if isinstance(item, Verbatim) else 0
                found[number] = place._replace(line=place.line + step)
            for number, text in enumerate(item.above, first - len(item.above)):
                if not is_marker(text):
                    found[number] = place
        return found


def _may_join(item: Item) -> bool:
    """Whether `else:` with this statement alone may be printed as `elif`."""
    if isinstance(item, Verbatim):
        return isinstance(item.node, cst.If) and not item.above
    if not isinstance(item, Branching) or not item.may_join:
        return False
    header = item.header
    return header.startswith("if ") if isinstance(header, str) else isinstance(header, cst.If)


def _with_indent(items: list[Item], indent: int) -> Iterator[tuple[Item, int]]:
    for item in items:
        yield item, indent
        if isinstance(item, Branching):
            yield from _with_indent(item.body, indent + 4)
            yield from _with_indent(item.orelse, indent + 4)
