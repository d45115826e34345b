"""An axis whose elements the program names one by one has as many as it names.

A program that reads `pos[:, 0]`, `pos[:, 1]` and `pos[:, 2]` of an array with three columns is
about points in space.  Loops along that axis are so short that counting takes longer than what they
do; so its size is a constant, and guarded: a call with another size is another specialisation,
whichever comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import nodes
from ...ir.symbolic_dims import Dim, Facts

# Longer axes are worth a loop.
MOST = 4


def specialise_small_axes(function: nodes.Function, facts: Facts) -> None:
    """Adds to `facts` what is relied on."""
    if facts.sizes is None:
        return
    last: dict[Dim, int] = {}
    for dim, k in _named(function):
        dim = facts.canonical(dim)
        last[dim] = max(last.get(dim, 0), k)
    for dim, k in last.items():
        if 1 <= k < MOST:
            facts.settle(dim, k + 1)


def _named(function: nodes.Function) -> Iterator[tuple[Dim, int]]:
    """The sizes of axes beside others, and the constants by which the program indexes them."""
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
