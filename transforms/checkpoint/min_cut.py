"""Which values of a loop's body to store, and which to compute again from them.

The sweep needs some values of each iteration.  Each can be stored, or computed again from its
operands, which in turn are at hand, stored, or computed again.  Storing costs memory traffic,
computing again costs the operation; the cheapest choice is a minimum cut of the graph

    needed → out(v) —store(v)→ in(v) —compute(v)→ end,    in(v) → out(each operand of v)

where cutting the first edge of a value means to store it and cutting the second to compute it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ..ir.nodes import Array, Op, Scalar, Type
from ..ir.op_registry import RULES
from ..ir.record import field, record
from .rematerialize import LIMIT, NEVER, cost

# What a size that is not known counts as, to compare arrays of different ranks.
TYPICAL = 64
# A choice must be this much cheaper than to store what is needed; else the text is shorter.
WORTHWHILE = 0.8
# Beyond this many values the search itself takes too long.
LARGE = 2000

_BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "float32": 4, "complex128": 16}


@record
class Value:
    """A value of the body.  What is at hand in the sweep has no `Value`: it costs nothing."""

    store: float
    compute: float
    operands: list[str] = field(default_factory=list)


@record(frozen=True)
class Choice:
    stored: frozenset[str]
    computed: frozenset[str]


def store_cost(type_: Type) -> float:
    """In units of an addition."""
    if not isinstance(type_, (Array, Scalar)):
        return NEVER
    return LIMIT * elements(type_) * _BYTES.get(type_.dtype, 8) / 8


def compute_cost(op: Op, type_: Type) -> float:
    one = cost(op)
    picks = op.name == "index" and isinstance(type_, Array) and one <= 1.0
    if one == NEVER or RULES[op.name].kind in ("view", "query") or picks:
        return one
    return one * elements(type_)


def elements(type_: Type) -> float:
    out = 1.0
    for dim in type_.shape if isinstance(type_, Array) else ():
        degree = max((len(monomial) for monomial, _ in dim.terms), default=0)
        out *= TYPICAL**degree if degree else max(dim.const, 1)
    return out


def choose(needed: Iterable[str], values: dict[str, Value]) -> Choice | None:
    """The cheapest way to have all that is needed; None if it is hardly cheaper than to store
    what cannot be computed cheaply from what is at hand."""
    needed = list(needed)
    if len(values) > LARGE:
        return None
    usual = sum(min(values[n].store, _alone(n, values, set(needed) - {n})) for n in needed)
    flow, reached = _minimum_cut(needed, values)
    if flow == NEVER or flow > WORTHWHILE * usual:
        return None
    computed = {n for n in values if ("in", n) in reached}
    stored = {n for n in values if ("out", n) in reached} - computed
    return Choice(frozenset(stored), frozenset(computed))


def _alone(name: str, values: dict[str, Value], others: set[str]) -> float:
    """What it costs to compute a value from what is at hand and what is needed anyway."""
    total, seen, todo = 0.0, {name}, [name]
    while todo:
        value = values[todo.pop()]
        total += value.compute
        new = [o for o in value.operands if o in values and o not in seen and o not in others]
        seen.update(new)
        todo += new
        if total >= NEVER:
            return NEVER
    return total


Vertex = tuple[str, str]
_START: Vertex = ("", "start")
_END: Vertex = ("", "end")


def _minimum_cut(needed: list[str], values: dict[str, Value]) -> tuple[float, set[Vertex]]:
    """The cut's cost, and what is on the side of the start."""
    room: dict[Vertex, dict[Vertex, float]] = {}

    def edge(a: Vertex, b: Vertex, capacity: float) -> None:
        room.setdefault(a, {})[b] = capacity
        room.setdefault(b, {}).setdefault(a, 0.0)

    for name in needed:
        edge(_START, ("out", name), NEVER)
    for name, value in values.items():
        edge(("out", name), ("in", name), value.store)
        edge(("in", name), _END, value.compute)
        for operand in value.operands:
            if operand in values:
                edge(("in", name), ("out", operand), NEVER)
    total = 0.0
    while True:
        came_from = _search(room)
        if _END not in came_from:
            return total, set(came_from)
        path = [_END]
        while path[-1] != _START:
            path.append(came_from[path[-1]])
        steps = list(zip(path[1:], path))
        flow = min(room[a][b] for a, b in steps)
        if flow == NEVER:
            return NEVER, set()
        for a, b in steps:
            room[a][b] -= flow
            room[b][a] += flow
        total += flow


def _search(room: dict[Vertex, dict[Vertex, float]]) -> dict[Vertex, Vertex]:
    came_from: dict[Vertex, Vertex] = {_START: _START}
    todo = deque([_START])
    while todo and _END not in came_from:
        here = todo.popleft()
        for there, capacity in room.get(here, {}).items():
            if capacity > 0 and there not in came_from:
                came_from[there] = here
                todo.append(there)
    return came_from
