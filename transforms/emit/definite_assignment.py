"""Names that are bound on every path, by statements of the IR and by the user's text.

Where a name of the user's is bound on one path only, the IR binds it on the other path, too: to
a stand-in that has the type.  The text does not, so it can print in place of the IR only if
nobody reads the name elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ir.nodes import For, If, Raise, Stmt, While, targets_of, walk
from ..ir.record import replace
from ..syntax import core
from ..syntax.names import stores
from ..syntax.traverse import map_children
from .user_text import UserText, names_in

# None stands for a path that does not reach the end.
Bound = set[str] | None


def leaves_unbound(node: core.Stmt, run: list[Stmt], text: UserText, names: set[str]) -> set[str]:
    """Those of the names that the IR binds on every path, and the text does not."""
    by_ir = _bound_by_ir(run)
    by_text = _TextPaths(text, run).bound([node])
    return set() if by_ir is None or by_text is None else (names & by_ir) - by_text


def _either(a: Bound, b: Bound) -> Bound:
    """After a branch."""
    if a is None or b is None:
        return b if a is None else a
    return a & b


def _bound_by_ir(stmts: Iterable[Stmt]) -> Bound:
    found: set[str] = set()
    for stmt in stmts:
        if isinstance(stmt, Raise):
            return None
        if isinstance(stmt, If):
            inner = _either(_bound_by_ir(stmt.then), _bound_by_ir(stmt.orelse))
            if inner is None:
                return None
            found |= inner
        elif isinstance(stmt, While):
            found |= _bound_by_ir(stmt.test) or set()
        elif not isinstance(stmt, For):  # which may run no times
            found.update(v.name for v in targets_of(stmt))
    return found


class _TextPaths:
    """The paths through the text of a run.  A branch or loop that has no counterpart in the IR
    has been decided or unrolled: it binds what the IR binds in its place."""

    def __init__(self, text: UserText, run: list[Stmt]) -> None:
        self.text = text
        kept = [s.origin for s in walk(run) if isinstance(s, (If, For, While))]
        self.kept = {(o.stmt.line, o.stmt.col) for o in kept if o is not None}

    def bound(self, nodes: Iterable[core.Stmt]) -> Bound:
        found: set[str] = set()
        for node in nodes:
            if isinstance(node, (core.Raise, core.Break, core.Continue)):
                return None
            if not isinstance(node, (core.If, core.For, core.While)):
                found.update(_stores(node))
            elif not self.is_kept(node):
                found |= names_in([node]).stores
            else:
                found.update(_stores(node.over if isinstance(node, core.For) else node.test))
                if isinstance(node, core.If):
                    inner = _either(self.bound(node.body), self.bound(node.orelse))
                    if inner is None:
                        return None
                    found |= inner
        return found

    def is_kept(self, node: core.Stmt) -> bool:
        span = self.text.source.span(node)
        return (span.line, span.col) in self.kept


def _stores(node: core.Node) -> set[str]:
    """The names that an expression or a simple statement binds in any case."""
    always = _without_conditional_parts(node)
    return {n.id for n in stores(always)}


def _without_conditional_parts(node: Any) -> Any:
    """A tree without the parts that are not always evaluated."""
    if isinstance(node, core.Bool):
        return _without_conditional_parts(node.values[0])
    if isinstance(node, core.Choose):
        return _without_conditional_parts(node.test)
    if isinstance(node, core.Comp):
        return _without_conditional_parts(node.clauses[0].over)
    if isinstance(node, core.Compare):
        node = replace(node, ops=node.ops[:1], rights=node.rights[:1])
    return map_children(node, _without_conditional_parts)
