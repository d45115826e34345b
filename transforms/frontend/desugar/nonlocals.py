"""Variables that inner functions rebind (`nonlocal`) become lists of one element.

    def f(x):                       def f(x):
        total = 0.0                     total_box = [0.0]
        def add(v):                     def add(v):
            nonlocal total                  total_box[0] += v
            total += v                      return None
        add(x)                          add(x)
        return total                    return total_box[0]

The list is made where the variable is first assigned, which must be a plain assignment outside
branches and loops, before anything else mentions the variable; parameters have theirs at once.  So
the list exists wherever Python has a value.  Other uses are refused: the `nonlocal` statement is
replaced by `Refused`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ir.record import replace
from ...syntax import core as c
from ...syntax.names import (
    all_names,
    bound_names,
    fresh,
    imported_as,
    local_names,
    names_in,
    stores,
)
from ...syntax.traverse import children, map_children

_FIRST = (
    "an inner function writes to {name}, which is not assigned first by a statement of its own",
    "assign it before the inner function, outside branches and loops",
)
_BOUND = (
    "an inner function writes to {name}, which is also {how}",
    "assign it by `=`",
)


def box_nonlocals(func: c.Func) -> c.Func:
    """A function in which `nonlocal` remains only for variables from outside of it."""
    return _Boxes(all_names(func)).function(func, {})


class _Boxes:
    def __init__(self, taken: set[str]) -> None:
        self.taken = taken

    def function(self, func: c.Func, boxes: Mapping[str, str | c.Refused]) -> c.Func:
        """`boxes`: by name, the box of a variable of an enclosing function, or why it has none."""
        own = own_names(func)
        inside = {name: box for name, box in boxes.items() if name not in own}
        parameters = {p.name for p in func.params.all()}
        starts: list[c.Stmt] = []
        first: dict[int, list[tuple[str, str]]] = {}
        for name in sorted(own & _rebound(func)):
            problem, position = _place(func, name, name in parameters)
            if problem is not None:
                inside[name] = problem
                continue
            box = inside[name] = fresh(f"{name}_box", self.taken)
            if position is None:
                starts.append(_make(box, c.Name(func.at, name), func))
            else:
                first.setdefault(position, []).append((name, box))
        params = map_children(func.params, lambda node: self.changed(node, boxes))
        body = list(starts)
        for position, stmt in enumerate(func.body):
            found = first.get(position)
            body += (
                [self.changed(stmt, inside)] if found is None else self.first(stmt, found, inside)
            )
        return replace(func, params=params, body=tuple(body))

    def first(
        self, stmt: Any, found: list[tuple[str, str]], boxes: Mapping[str, str | c.Refused]
    ) -> list[c.Stmt]:
        """The assignment that makes the boxes of some names, and those boxes."""
        if len(stmt.targets) == 1 and isinstance(stmt.targets[0], c.Name):
            return [_make(found[0][1], self.changed(stmt.value, boxes), stmt)]
        new = {name: fresh(f"{name}_first", self.taken) for name, _ in found}
        targets = tuple(_renamed(target, new) for target in stmt.targets)
        made: list[c.Stmt] = [self.changed(replace(stmt, targets=targets), boxes)]
        for name, box in found:
            made.append(_make(box, c.Name(stmt.at, new[name]), stmt))
        return made

    def changed(self, node: Any, boxes: Mapping[str, str | c.Refused]) -> Any:
        if isinstance(node, c.Func):
            return self.function(node, boxes)
        if isinstance(node, c.Name):
            box = boxes.get(node.id)
            if isinstance(box, str):
                return c.Item(node.at, c.Name(node.at, box), c.Const(node.at, 0))
            return node
        if isinstance(node, c.Nonlocal):
            return self.declared(node, boxes)
        if isinstance(node, c.Comp):
            # Its variables hide ours, but not in its first iterable.
            over = self.changed(node.clauses[0].over, boxes)
            hidden = {name for clause in node.clauses for name in bound_names(clause.target)}
            inner = {name: box for name, box in boxes.items() if name not in hidden}
            made = map_children(node, lambda child: self.changed(child, inner))
            return replace(made, clauses=(replace(made.clauses[0], over=over), *made.clauses[1:]))
        return map_children(node, lambda child: self.changed(child, boxes))

    def declared(self, node: c.Nonlocal, boxes: Mapping[str, str | c.Refused]) -> Any:
        for name in node.names:
            box = boxes.get(name)
            if isinstance(box, c.Refused):
                return replace(box, at=node.at)
        outside = tuple(name for name in node.names if name not in boxes)
        return c.Nonlocal(node.at, outside) if outside else c.Pass(node.at)


def own_names(func: c.Func) -> frozenset[str]:
    """The variables of a function: what it binds and does not declare as another's."""
    declared = {
        name
        for node in _own(func)
        if isinstance(node, (c.Global, c.Nonlocal))
        for name in node.names
    }
    return local_names(func) - declared


def _rebound(func: c.Func) -> set[str]:
    """The names that functions inside declare `nonlocal`, and that are this function's."""
    found: set[str] = set()
    for inner in _inner(func):
        found |= {n for node in _own(inner) if isinstance(node, c.Nonlocal) for n in node.names}
        found |= _rebound(inner) - own_names(inner)
    return found


def _own(func: c.Func) -> list[c.Node]:
    """The nodes of a function's body, those of nested functions not counted."""
    found: list[c.Node] = []
    todo: list[c.Node] = list(func.body)
    while todo:
        node = todo.pop()
        found.append(node)
        todo += [child for child in children(node) if not isinstance(child, c.Func)]
    return found


def _inner(func: c.Func) -> list[c.Func]:
    """The functions directly inside a function."""
    found: list[c.Func] = []
    todo: list[c.Node] = list(func.body)
    while todo:
        node = todo.pop()
        if isinstance(node, c.Func):
            found.append(node)
        else:
            todo += children(node)
    return found


def _place(func: c.Func, name: str, parameter: bool) -> tuple[c.Refused | None, int | None]:
    """The statement of a function's body that assigns a variable first, None for a parameter; or
    why the variable cannot have a box."""

    def refused(text: tuple[str, str], how: str = "") -> tuple[c.Refused, None]:
        return c.Refused(func.at, text[0].format(name=name, how=how), text[1]), None

    how = _other_binding(func, name)
    if how:
        return refused(_BOUND, how)
    if parameter:
        return None, None
    for position, stmt in enumerate(func.body):
        if name in _mentioned(stmt):
            if isinstance(stmt, c.Assign) and _is_first(stmt, name):
                return None, position
            break
    return refused(_FIRST)


def _is_first(stmt: c.Assign, name: str) -> bool:
    """Whether an assignment binds a name once, and mentions it nowhere else."""
    mentions = [n for target in stmt.targets for n in names_in(target) if n == name]
    bound = {n.id for n in stores([stmt])}
    return name in bound and len(mentions) == 1 and name not in _mentioned(stmt.value)


def _other_binding(func: c.Func, name: str) -> str:
    """How a function, or one inside that declares the name, binds it other than by assignment."""
    for node in _own(func):
        if isinstance(node, c.Delete) and name in {n.id for n in stores([node])}:
            return "deleted"
        if isinstance(node, c.Bind) and node.target.id == name:
            return "bound by `:=`"
        if isinstance(node, c.For) and name in bound_names(node.target):
            return "the target of a loop"
        if isinstance(node, c.With) and name in {n.id for i in node.items for n in stores([i])}:
            return "the target of a `with`"
        if isinstance(node, c.Define) and node.func.name == name:
            return "a function"
        if isinstance(node, c.Alias) and imported_as(node) == name:
            return "imported"
        if isinstance(node, (c.Refused, c.Pass)) and name in node.binds:
            return "bound by another statement"
    for inner in _inner(func):
        declares = any(isinstance(n, c.Nonlocal) and name in n.names for n in _own(inner))
        if declares or name not in own_names(inner):
            how = _other_binding(inner, name)
            if how:
                return how
    return ""


def _mentioned(node: c.Node) -> set[str]:
    """The names in a node, those in nested functions included."""
    return all_names(c.Func(node.at, "", c.Params(node.at), (node,)))  # type: ignore[arg-type]


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    if isinstance(node, c.Name):
        return replace(node, id=names.get(node.id, node.id))
    return map_children(node, lambda child: _renamed(child, names))


def _make(box: str, value: c.Expr, place: c.Node) -> c.Stmt:
    return c.Assign(place.at, (c.Name(place.at, box),), c.Seq(place.at, "list", (value,)))
