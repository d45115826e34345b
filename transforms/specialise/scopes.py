"""The variables of a comprehension under names of its own.

A function that is made inside a comprehension sees the comprehension's variables as they are when
it is called, after the comprehension has ended: they need names that nothing else has.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ..frontend.desugar import copied

COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)


def names_in(target: ast.expr) -> list[str]:
    """The names that an assignment to a target binds."""
    return [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]


def targets_of(node: Any) -> set[str]:
    """The names that a comprehension binds."""
    return {name for g in node.generators for name in names_in(g.target)}


def makes_functions(node: Any) -> bool:
    """Whether a comprehension may hand out something that reads its variables later."""
    inner = (n for n in ast.walk(node) if n is not node)
    return any(isinstance(n, (ast.Lambda, ast.GeneratorExp)) for n in inner)


def renamed(node: Any, names: Mapping[str, str]) -> Any:
    """A copy of a comprehension whose own variables have these names.  Its first iterable is
    evaluated outside of it and keeps its names."""
    first = node.generators[0]
    made = copied(node)
    made = _Rename(names).inside(made)
    made.generators[0].iter = first.iter
    return made


class _Rename(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def without(self, hidden: set[str]) -> _Rename:
        return _Rename({k: v for k, v in self.names.items() if k not in hidden})

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        a = node.args
        a.defaults = [self.visit(d) for d in a.defaults]
        a.kw_defaults = [d and self.visit(d) for d in a.kw_defaults]
        parameters = (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg)
        node.body = self.without({p.arg for p in parameters if p is not None}).visit(node.body)
        return node

    def generic_visit(self, node: Any) -> Any:
        if not isinstance(node, COMPREHENSIONS):
            return super().generic_visit(node)
        # A comprehension in this one: its variables hide ours, but not in its first iterable.
        first = self.visit(node.generators[0].iter)
        made = self.without(targets_of(node)).inside(node)
        made.generators[0].iter = first
        return made

    def inside(self, node: Any) -> Any:
        return super().generic_visit(node)
