"""Walk and rewrite trees of core syntax."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, TypeVar

from ..ir.record import replace
from .core import For, If, Match, Node, Return, Try, While, With

N = TypeVar("N", bound=Node)

# By class: the fields that may hold nodes, in the order of the grammar.
_parts: dict[type, tuple[str, ...]] = {}
_LEAVES = {"at", "op", "ops", "kind", "name", "id", "until", "asname", "level", "module"}
_LEAVES |= {"conversion", "advice", "binds", "is_lambda", "always", "before_finally", "silent"}


def parts_of(cls: type) -> tuple[str, ...]:
    """The names of the fields of a class of nodes that may hold nodes."""
    found = _parts.get(cls)
    if found is None:
        names = (f.name for f in fields(cls))
        found = _parts[cls] = tuple(n for n in names if n not in _LEAVES)
    return found


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside a node."""
    for name in parts_of(type(node)):
        part = getattr(node, name)
        if isinstance(part, Node):
            yield part
        elif type(part) is tuple:
            for child in part:
                if isinstance(child, Node):
                    yield child


def walk(root: Node | Iterable[Node]) -> Iterator[Node]:
    """A tree's nodes, breadth first."""
    todo = [root] if isinstance(root, Node) else list(root)
    for node in todo:
        yield node
        todo.extend(children(node))


def map_children(node: N, change: Callable[[Any], Any]) -> N:
    """A node with `change` applied to each child; the same node if none changes.  A child in a
    tuple may be replaced by a tuple of nodes."""
    changes: dict[str, Any] = {}
    for name in parts_of(type(node)):
        part = getattr(node, name)
        if isinstance(part, Node):
            new: Any = change(part)
        elif type(part) is tuple:
            new = _map_tuple(part, change)
        else:
            continue
        if new is not part:
            changes[name] = new
    return replace(node, **changes) if changes else node


def _map_tuple(part: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    new: list[Any] = []
    changed = False
    for child in part:
        made = change(child) if isinstance(child, Node) else child
        changed = changed or made is not child
        if type(made) is tuple:
            new.extend(made)
        else:
            new.append(made)
    return tuple(new) if changed else part


def rewrite(root: Any, change: Callable[[Any], Any]) -> Any:
    """A tree with `change` applied to each of its nodes, children first.  `change` returns the
    node itself to keep it; for a statement it may return a tuple of statements."""
    return change(map_children(root, lambda child: rewrite(child, change)))


def returns_of(block: Iterable[Node]) -> Iterator[Return]:
    """The returns in a block, those of nested functions not counted."""
    for stmt in block:
        if isinstance(stmt, Return):
            yield stmt
        elif isinstance(stmt, (If, For, While)):
            yield from returns_of(stmt.body)
            yield from returns_of(stmt.orelse)
        elif isinstance(stmt, With):
            yield from returns_of(stmt.body)
        elif isinstance(stmt, Match):
            for case in stmt.cases:
                yield from returns_of(case.body)
        elif isinstance(stmt, Try):
            for block in (stmt.body, *(h.body for h in stmt.handlers), stmt.orelse, stmt.final):
                yield from returns_of(block)
