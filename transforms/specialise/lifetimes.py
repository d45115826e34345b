"""Which of the user's names may still be read, statement by statement.

Whether two names share memory matters only while both are in use.
"""

from __future__ import annotations

from ..syntax import core
from ..syntax.names import loads
from ..syntax.traverse import walk


def lifetimes(body: core.Block) -> dict[int, frozenset[str]]:
    """For each statement (by identity), the names that it or anything after it may read."""
    nodes = list(walk(body))
    consumed = {id(a) for n in nodes if _consumes(n) for a in n.args}  # type: ignore[attr-defined]
    inner = [n for n in nodes if _runs_later(n) and id(n) not in consumed]
    always = frozenset(name for n in inner for name in _loads(n))
    found: dict[int, frozenset[str]] = {}
    _visit(body, always, always, found)
    return found


def _runs_later(node: core.Node) -> bool:
    """Whether a node's inside is evaluated when it is called or consumed."""
    if isinstance(node, core.Comp):
        return node.kind == "generator"
    return isinstance(node, (core.Define, core.Lambda))


def _consumes(node: core.Node) -> bool:
    """Whether generators that are arguments of a call are consumed there and then."""
    function = node.function if isinstance(node, core.Call) else None
    return isinstance(function, core.Name) and function.id in _CONSUMING


_CONSUMING = frozenset("all any dict list max min sorted sum tuple".split())


def _visit(
    block: core.Block,
    after: frozenset[str],
    always: frozenset[str],
    found: dict[int, frozenset[str]],
) -> None:
    """`always`: names that inner functions read, whenever they are called."""
    for stmt in reversed(block):
        here = (after - _bound(stmt)) | always | _loads(stmt)
        if isinstance(stmt, (core.For, core.While)):
            # The next iteration may read whatever the loop reads.
            _visit(stmt.body, here, always, found)
        elif isinstance(stmt, core.If):
            _visit(stmt.body, after, always, found)
            _visit(stmt.orelse, after, always, found)
        found[id(stmt)] = here
        after = here


def _bound(stmt: core.Stmt) -> frozenset[str]:
    """The names that are bound anew whenever what follows is reached."""
    targets = stmt.targets if isinstance(stmt, core.Assign) else ()
    return frozenset(t.id for t in targets if isinstance(t, core.Name))


def _loads(node: core.Node) -> frozenset[str]:
    names = {n.id for n in loads(node)}
    for n in walk(node):
        if isinstance(n, core.Augment):
            names |= {m.id for m in walk(n.target) if isinstance(m, core.Name)}
        elif isinstance(n, (core.For, core.While)) and n.until is not None:
            names.add(n.until)
    return frozenset(names)
