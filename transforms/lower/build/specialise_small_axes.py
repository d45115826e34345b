"""Specialisation on the size of short axes that the program indexes by constants.

A program that reads `pos[:, 0]`, `pos[:, 1]` and `pos[:, 2]` of an array with three columns handles
points in space.  In loops along that axis, the loop overhead exceeds the work of the body.  So the
size is made a constant, with a guard.  A call with another size is another specialisation,
whichever size is compiled first.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import nodes
from ...ir.symbolic_dims import Dim, Facts

# Longest axis to specialise.  Longer axes keep a loop with a run-time trip count.
MAX_AXIS_SIZE = 4


def specialise_small_axes(function: nodes.Function, facts: Facts) -> None:
    """Add the constant sizes, and the guards they rely on, to `facts`."""
    if facts.sizes is None:
        return
    last: dict[Dim, int] = {}
    for dim, k in _constant_indices(function):
        dim = facts.canonical(dim)
        last[dim] = max(last.get(dim, 0), k)
    for dim, k in last.items():
        if 1 <= k < MAX_AXIS_SIZE:
            facts.guard_value(dim, k + 1)


def _constant_indices(function: nodes.Function) -> Iterator[tuple[Dim, int]]:
    """Pairs of an axis size and a constant index along that axis.

    Only basic indexing of at least two axes is considered.
    """
    for stmt in nodes.walk(function.body):
        if not isinstance(stmt, nodes.Assign) or stmt.op.name != "index":
            continue
        array, *_ = args = stmt.op.args
        items = stmt.op.attrs["items"]
        if not isinstance(array.type, nodes.Array) or any(i[0] in ("array", "mask") for i in items):
            continue
        axes = [item for item in items if item[0] != "new"]
        if len(axes) < 2:
            continue
        for dim, item in zip(array.type.shape, axes):
            if item[0] == "int" and isinstance(args[item[1]], nodes.Const):
                yield dim, args[item[1]].value
