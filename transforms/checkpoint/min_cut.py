"""Store-or-recompute by minimum cut: which values of a loop's body to store, and which to
rematerialise from them.

The sweep needs some values of each iteration.  Each can be stored, or recomputed from its
operands, which in turn are available, stored, or recomputed.  Storing costs memory traffic;
recomputing costs the operation.  The cheapest choice is a minimum cut of the graph

    needed → out(v) —store(v)→ in(v) —compute(v)→ end,    in(v) → out(each operand of v)

where cutting the first edge of a value means to store it, and cutting the second to recompute it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ..ir.nodes import Array, Op, Scalar, Type
from ..ir.op_registry import RULES
from ..ir.record import field, record
from .rematerialize import INFINITE_COST, MAX_RECOMPUTE_COST, cost

# The assumed value of an unknown size, to compare arrays of different ranks.
TYPICAL_SIZE = 64
# A choice is taken if it costs at most this fraction of storing the needed values.  Otherwise
# storing them yields shorter code.
MAX_COST_RATIO = 0.8
# The largest number of values to search; the search would take too long for more.
MAX_VALUES = 2000

_BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "float32": 4, "complex128": 16}


@record
class Value:
    """The costs of a value of the body.  Values that are available in the sweep cost nothing and
    have no `Value`."""

    store: float
    compute: float
    operands: list[str] = field(default_factory=list)


@record(frozen=True)
class Choice:
    """The values to store and those to recompute, by name."""

    stored: frozenset[str]
    computed: frozenset[str]


def store_cost(type_: Type) -> float:
    """The cost of storing a value, in units of an addition."""
    if not isinstance(type_, (Array, Scalar)):
        return INFINITE_COST
    return MAX_RECOMPUTE_COST * elements(type_) * _BYTES.get(type_.dtype, 8) / 8


def compute_cost(op: Op, type_: Type) -> float:
    """The cost of recomputing a value, in units of an addition."""
    one = cost(op)
    slices = op.name == "index" and isinstance(type_, Array) and one <= 1.0
    if one == INFINITE_COST or RULES[op.name].kind in ("view", "query") or slices:
        return one
    return one * elements(type_)


def elements(type_: Type) -> float:
    """The estimated number of elements."""
    out = 1.0
    for dim in type_.shape if isinstance(type_, Array) else ():
        degree = max((len(monomial) for monomial, _ in dim.terms), default=0)
        out *= TYPICAL_SIZE**degree if degree else max(dim.const, 1)
    return out


def choose(needed: Iterable[str], values: dict[str, Value]) -> Choice | None:
    """The cheapest choice that provides all needed values.  None if it is hardly cheaper than the
    default: to store each needed value that is not cheaper to recompute from available ones."""
    needed = list(needed)
    if len(values) > MAX_VALUES:
        return None
    default = sum(
        min(values[n].store, _recompute_cost(n, values, set(needed) - {n})) for n in needed
    )
    flow, reached = _minimum_cut(needed, values)
    if flow == INFINITE_COST or flow > MAX_COST_RATIO * default:
        return None
    computed = {n for n in values if ("in", n) in reached}
    stored = {n for n in values if ("out", n) in reached} - computed
    return Choice(frozenset(stored), frozenset(computed))


def _recompute_cost(name: str, values: dict[str, Value], others: set[str]) -> float:
    """The cost of recomputing a value from available values and from `others`, which are needed
    anyway."""
    total, seen, todo = 0.0, {name}, [name]
    while todo:
        value = values[todo.pop()]
        total += value.compute
        new = [o for o in value.operands if o in values and o not in seen and o not in others]
        seen.update(new)
        todo += new
        if total >= INFINITE_COST:
            return INFINITE_COST
    return total


Vertex = tuple[str, str]
_START: Vertex = ("", "start")
_END: Vertex = ("", "end")


def _minimum_cut(needed: list[str], values: dict[str, Value]) -> tuple[float, set[Vertex]]:
    """The cost of a minimum cut, and the vertices on the source side (Edmonds and Karp)."""
    residual: dict[Vertex, dict[Vertex, float]] = {}

    def edge(a: Vertex, b: Vertex, capacity: float) -> None:
        residual.setdefault(a, {})[b] = capacity
        residual.setdefault(b, {}).setdefault(a, 0.0)

    for name in needed:
        edge(_START, ("out", name), INFINITE_COST)
    for name, value in values.items():
        edge(("out", name), ("in", name), value.store)
        edge(("in", name), _END, value.compute)
        for operand in value.operands:
            if operand in values:
                edge(("in", name), ("out", operand), INFINITE_COST)
    total = 0.0
    while True:
        came_from = _augmenting_path(residual)
        if _END not in came_from:
            return total, set(came_from)
        path = [_END]
        while path[-1] != _START:
            path.append(came_from[path[-1]])
        steps = list(zip(path[1:], path))
        flow = min(residual[a][b] for a, b in steps)
        if flow == INFINITE_COST:
            return INFINITE_COST, set()
        for a, b in steps:
            residual[a][b] -= flow
            residual[b][a] += flow
        total += flow


def _augmenting_path(residual: dict[Vertex, dict[Vertex, float]]) -> dict[Vertex, Vertex]:
    """Breadth-first search from the source along edges with residual capacity: the predecessor
    of each vertex reached."""
    came_from: dict[Vertex, Vertex] = {_START: _START}
    todo = deque([_START])
    while todo and _END not in came_from:
        here = todo.popleft()
        for there, capacity in residual.get(here, {}).items():
            if capacity > 0 and there not in came_from:
                came_from[there] = here
                todo.append(there)
    return came_from
