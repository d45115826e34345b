"""The names that a tree of core syntax reads and binds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from . import core as c
from .traverse import children, walk

# By class: the fields that hold targets.
_TARGETS = {
    c.Assign: "targets",
    c.Augment: "target",
    c.Delete: "targets",
    c.For: "target",
    c.Clause: "target",
    c.WithItem: "target",
    c.Bind: "target",
    c.Let: "target",
    c.MatchAs: "target",
    c.MatchStar: "target",
    c.MatchMapping: "rest",
    c.Handler: "target",
}


def with_context(root: c.Node | Iterable[c.Node]) -> Iterator[tuple[c.Node, bool]]:
    """Each node of a tree with whether it is a target: bound, stored into or deleted.  Of `a[i]`
    as a target, `a` and `i` are read."""
    roots = [root] if isinstance(root, c.Node) else list(root)
    todo: list[tuple[c.Node, bool]] = [(node, False) for node in roots]
    for node, stored in todo:
        yield node, stored
        todo += _children(node, stored)


def _children(node: c.Node, stored: bool) -> list[tuple[c.Node, bool]]:
    if stored and isinstance(node, (c.Seq, c.Star)):
        return [(child, True) for child in children(node)]
    part = getattr(node, _TARGETS[type(node)]) if type(node) in _TARGETS else ()
    targets = part if isinstance(part, tuple) else (part,)
    return [(child, any(child is t for t in targets)) for child in children(node)]


def loads(root: c.Node | Iterable[c.Node]) -> Iterator[c.Name]:
    """The names that a tree reads."""
    for node, stored in with_context(root):
        if isinstance(node, c.Name) and not stored:
            yield node


def stores(root: c.Node | Iterable[c.Node]) -> Iterator[c.Name]:
    """The names that the targets in a tree bind or delete."""
    for node, stored in with_context(root):
        if isinstance(node, c.Name) and stored:
            yield node


def names_in(root: c.Node) -> list[str]:
    """All names in a tree."""
    return [n.id for n in walk(root) if isinstance(n, c.Name)]


def bound_names(target: c.Node) -> list[str]:
    """The names that a target binds: none for `a[i]` and `a.b`."""
    if isinstance(target, c.Name):
        return [target.id]
    if isinstance(target, (c.Seq, c.Star)):
        return [name for child in children(target) for name in bound_names(child)]
    return []


def imported_as(alias: c.Alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.split(".")[0]


def local_names(func: c.Func) -> frozenset[str]:
    """The names that a function binds: its locals."""
    names = {p.name for p in func.params.all()}
    todo: list[tuple[c.Node, bool]] = [(stmt, False) for stmt in func.body]
    while todo:
        node, stored = todo.pop()
        if isinstance(node, c.Name) and stored:
            names.add(node.id)
        elif isinstance(node, c.Alias):
            names.add(imported_as(node))
        elif isinstance(node, (c.Refused, c.Pass)):
            names.update(node.binds)
        elif isinstance(node, c.Define):
            names.add(node.func.name)
            # Decorators and defaults are evaluated here, the body is not.
            todo += [(part, False) for part in (*node.decorators, node.func.params)]
            continue
        elif isinstance(node, c.Lambda):
            todo.append((node.func.params, False))
            continue
        elif isinstance(node, c.Clause):
            # A comprehension's targets are its own, those of `:=` inside are not.
            todo += [(part, False) for part in (node.over, *node.tests)]
            continue
        todo += _children(node, stored)
    return frozenset(names)


def all_names(func: c.Func) -> set[str]:
    """Every name that stands in a function, those of nested functions included."""
    found: set[str] = set()
    for node in walk(func):
        if isinstance(node, c.Name):
            found.add(node.id)
        elif isinstance(node, (c.Param, c.Func)):
            found.add(node.name)
        elif isinstance(node, c.Alias):
            found.add(imported_as(node))
        elif isinstance(node, (c.Refused, c.Pass)):
            found.update(node.binds)
        elif isinstance(node, (c.Global, c.Nonlocal)):
            found.update(node.names)
    return found


def fresh(name: str, taken: set[str]) -> str:
    """A name that is not taken, from then on taken."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
