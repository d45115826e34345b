"""The variables of a comprehension under names of its own.

A function that is made inside a comprehension sees the comprehension's variables as they are when
it is called, after the comprehension has ended: they need names that nothing else has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir.record import replace
from ..syntax import core
from ..syntax.names import bound_names
from ..syntax.traverse import map_children, walk


def targets_of(node: core.Comp) -> set[str]:
    """The names that a comprehension binds."""
    return {name for clause in node.clauses for name in bound_names(clause.target)}


def makes_functions(node: core.Comp) -> bool:
    """Whether a comprehension may hand out something that reads its variables later."""
    return any(
        isinstance(n, core.Lambda) or (isinstance(n, core.Comp) and n.kind == "generator")
        for n in walk(node)
        if n is not node
    )


def renamed(node: core.Comp, names: Mapping[str, str]) -> core.Comp:
    """A comprehension whose own variables have these names.  Its first iterable is evaluated
    outside of it and keeps its names."""
    over = node.clauses[0].over
    made = map_children(node, lambda child: _renamed(child, names))
    return replace(made, clauses=(replace(made.clauses[0], over=over), *made.clauses[1:]))


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    if isinstance(node, core.Name):
        return replace(node, id=names[node.id]) if node.id in names else node
    if isinstance(node, core.Func):
        inner = _without(names, {p.name for p in node.params.all()})
        params = map_children(node.params, lambda child: _renamed(child, names))
        body = tuple(_renamed(stmt, inner) for stmt in node.body)
        return replace(node, params=params, body=body)
    if isinstance(node, core.Comp):
        # A comprehension in this one: its variables hide ours, but not in its first iterable.
        over = _renamed(node.clauses[0].over, names)
        inner = _without(names, targets_of(node))
        made = map_children(node, lambda child: _renamed(child, inner))
        return replace(made, clauses=(replace(made.clauses[0], over=over), *made.clauses[1:]))
    return map_children(node, lambda child: _renamed(child, names))


def _without(names: Mapping[str, str], hidden: set[str]) -> dict[str, str]:
    return {k: v for k, v in names.items() if k not in hidden}
