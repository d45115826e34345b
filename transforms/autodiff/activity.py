"""Activity analysis: the values that need an adjoint or a tangent.

Derivatives flow along the edges of a graph whose nodes are float values and tape slots: from a
differentiable operand to the result of its operation, through phis, along loop-carried values,
and from a `Save` to its `restore`.  A value is active if it lies on a path from `wrt` to the
result: it is both varied (depends on `wrt`) and useful (influences the result).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir.nodes import (
    Assign,
    Call,
    Custom,
    Draw,
    For,
    Function,
    If,
    Op,
    Operand,
    Save,
    Stmt,
    Var,
    While,
    is_float,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.record import record

# A kind ("value" or "slot") and the name of the value or slot.
Node = tuple[str, str]


@record(frozen=True)
class Activity:
    """The active values and slots of a function, by name."""

    values: frozenset[str]
    slots: frozenset[str]

    def __contains__(self, operand: Operand) -> bool:
        return isinstance(operand, Var) and operand.name in self.values


def activity(function: Function, wrt: Iterable[str], results: Iterable[Operand]) -> Activity:
    """The values through which the parameters `wrt` influence `results`.  The values that
    `notes["unrecorded"]` names count as constants."""
    forward: dict[Node, list[Node]] = {}
    backward: dict[Node, list[Node]] = {}
    unrecorded = function.notes.get("unrecorded", ())
    for stmt in walk(function.body):
        for source, target in edges(stmt):
            if target[1] in unrecorded and target[0] == "value":
                continue
            forward.setdefault(source, []).append(target)
            backward.setdefault(target, []).append(source)
    params = {p.name: p for p in function.params}
    varied = _reach(forward, [("value", n) for n in wrt if n not in params or _carries(params[n])])
    useful = _reach(backward, [_node(r) for r in results if _carries(r)])
    active = varied & useful
    return Activity(
        frozenset(name for kind, name in active if kind == "value"),
        frozenset(name for kind, name in active if kind == "slot"),
    )


def dependences(function: Function) -> tuple[frozenset[int], ...]:
    """By result: the positions of the parameters on which its derivatives may depend."""
    backward: dict[Node, list[Node]] = {}
    for stmt in walk(function.body):
        for source, target in edges(stmt):
            backward.setdefault(target, []).append(source)
    found: list[frozenset[int]] = []
    for result in function.results:
        reached = _reach(backward, [_node(result)] if _carries(result) else [])
        params = enumerate(function.params)
        found.append(frozenset(i for i, p in params if _carries(p) and _node(p) in reached))
    return tuple(found)


def edges(stmt: Stmt) -> Iterator[tuple[Node, Node]]:
    """The edges along which derivatives flow through one statement, without nested blocks."""
    if isinstance(stmt, Assign):
        if not _carries(stmt.target):
            return
        if stmt.op.name == "restore":
            yield ("slot", stmt.op.attrs["slot"].name), _node(stmt.target)
        for position in differentiable(stmt.op):
            if _carries(stmt.op.args[position]):
                yield _node(stmt.op.args[position]), _node(stmt.target)
    elif isinstance(stmt, Call) and stmt.depends is not None:
        for target, positions in zip(stmt.targets, stmt.depends, strict=True):
            yield from _merge([stmt.args[i] for i in sorted(positions)], (target,))
    elif isinstance(stmt, (Call, Draw)):
        yield from _merge(stmt.args, stmt.targets)
    elif isinstance(stmt, Custom):
        yield from _merge(stmt.inputs, stmt.targets)
    elif isinstance(stmt, Save):
        if _carries(stmt.value):
            yield _node(stmt.value), ("slot", stmt.slot.name)
    elif isinstance(stmt, If):
        for phi in stmt.phis:
            yield from _merge((phi.then_value, phi.else_value), (phi.target,))
    elif isinstance(stmt, (For, While)):
        for c in stmt.carried:
            yield from _merge((c.init, c.next), (c.phi, c.result))


def differentiable(op: Op) -> tuple[int, ...]:
    """The positions of an operation's arguments that carry derivatives."""
    positions = RULES[op.name].differentiable
    return tuple(range(len(op.args))) if positions is None else positions


def _merge(inputs: Iterable[Operand], targets: Iterable[Var]) -> Iterator[tuple[Node, Node]]:
    sources = [x for x in inputs if _carries(x)]
    for target in targets:
        if _carries(target):
            yield from ((_node(x), _node(target)) for x in sources)


def _carries(operand: Operand) -> bool:
    """True if an operand can carry a derivative."""
    return isinstance(operand, Var) and is_float(operand.type)


def _node(operand: Operand) -> Node:
    assert isinstance(operand, Var)
    return ("value", operand.name)


def _reach(graph: dict[Node, list[Node]], start: Iterable[Node]) -> set[Node]:
    """The nodes reachable from `start`."""
    seen = set(start)
    todo = list(seen)
    while todo:
        for node in graph.get(todo.pop(), ()):
            if node not in seen:
                seen.add(node)
                todo.append(node)
    return seen
