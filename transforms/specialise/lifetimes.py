"""Which of the user's names may still be read, statement by statement.

Whether two names share memory matters only while both are in use.
"""

from __future__ import annotations

import ast


def lifetimes(body: list[ast.stmt]) -> dict[int, frozenset[str]]:
    """For each statement (by identity), the names that it or anything after it may read."""
    nodes = [n for stmt in body for n in ast.walk(stmt)]
    consumed = {id(a) for n in nodes if _consumes(n) for a in n.args}  # type: ignore[attr-defined]
    later = (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)
    inner = [n for n in nodes if isinstance(n, later) and id(n) not in consumed]
    always = frozenset(name for n in inner for name in _loads(n))
    found: dict[int, frozenset[str]] = {}
    _visit(body, always, always, found)
    return found


def _consumes(node: ast.AST) -> bool:
    """Whether generators that are arguments of a call are consumed there and then."""
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Name) and function.id in _CONSUMING


_CONSUMING = frozenset("all any dict list max min sorted sum tuple".split())


def _visit(
    block: list[ast.stmt],
    after: frozenset[str],
    always: frozenset[str],
    found: dict[int, frozenset[str]],
) -> None:
    """`always`: names that inner functions read, whenever they are called."""
    for stmt in reversed(block):
        here = (after - _bound(stmt)) | always | _loads(stmt)
        if isinstance(stmt, (ast.For, ast.While)):
            # The next iteration may read whatever the loop reads.
            _visit(stmt.body, here, always, found)
        elif isinstance(stmt, ast.If):
            _visit(stmt.body, after, always, found)
            _visit(stmt.orelse, after, always, found)
        found[id(stmt)] = here
        after = here


def _bound(stmt: ast.stmt) -> frozenset[str]:
    """The names that are bound anew whenever what follows is reached."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    return frozenset(t.id for t in targets if isinstance(t, ast.Name))


def _loads(node: ast.AST) -> frozenset[str]:
    names: set[str] = set()
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
            names.add(n.id)
        elif isinstance(n, ast.AugAssign):
            names |= {m.id for m in ast.walk(n.target) if isinstance(m, ast.Name)}
        until = getattr(n, "until", None)
        if until is not None:
            names.add(until)
    return frozenset(names)
