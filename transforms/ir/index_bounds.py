"""Between which values the counters of loops run."""

from __future__ import annotations

from .nodes import Const, For, Function, Operand, Scalar, walk
from .symbolic_dims import Dim, Facts


def with_counters(function: Function, facts: Facts | None) -> Facts:
    """The facts with the bounds of all loops that a function has.  Names of loops that are gone may
    have been given to something else."""
    facts = facts or Facts()
    facts.bounds = {}
    for stmt in walk(function.body):
        if isinstance(stmt, For):
            note_counter(facts, stmt.index, stmt.start, stmt.stop, stmt.step)
    return facts


def note_counter(
    facts: Facts, index: Operand, start: Operand, stop: Operand, step: Operand
) -> None:
    """A loop and its mirror count by one symbol."""
    counter = _value(index)
    symbol = None if counter is None else counter.symbol
    first, end = _value(start), _value(stop)
    if symbol is None or first is None or end is None or not isinstance(step, Const):
        return
    bounds = (first, end - 1) if step.value > 0 else (end + 1, first)
    facts.bounds.setdefault(symbol, bounds)


def _value(x: Operand) -> Dim | None:
    return x.type.value if isinstance(x.type, Scalar) else None
