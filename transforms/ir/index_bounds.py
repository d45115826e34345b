"""Bounds of loop indices: the minimum and maximum of each, as symbolic dims."""

from __future__ import annotations

from .nodes import (
    Const,
    For,
    Function,
    Operand,
    symbolic_value,
    walk,
)
from .symbolic_dims import Facts


def with_index_bounds(function: Function, facts: Facts | None) -> Facts:
    """The facts with the index bounds of all loops of a function.  Earlier bounds are discarded,
    since the names of loops that no longer exist may have been reused."""
    facts = facts or Facts()
    facts.bounds = {}
    for stmt in walk(function.body):
        if isinstance(stmt, For):
            add_index_bounds(facts, stmt.index, stmt.start, stmt.stop, stmt.step)
    return facts


def add_index_bounds(
    facts: Facts, index: Operand, start: Operand, stop: Operand, step: Operand
) -> None:
    """Record the bounds of a loop index.  The first bounds of a symbol are kept: a loop and its
    mirror have the same index symbol."""
    counter = symbolic_value(index)
    symbol = None if counter is None else counter.symbol
    first, end = symbolic_value(start), symbolic_value(stop)
    if symbol is None or first is None or end is None or not isinstance(step, Const):
        return
    bounds = (first, end - 1) if step.value > 0 else (end + 1, first)
    facts.bounds.setdefault(symbol, bounds)
