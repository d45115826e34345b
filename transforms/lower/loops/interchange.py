"""Lets the loops of a nest run in the order in which its elements lie in memory.

    for i in range(n):                      for j in range(m):
        for j in range(m):              →       for i in range(n):
            y[j, i] = 0.0                           y[j, i] = 0.0

Each element is written in one round, from nothing that another round writes: any order will do.
"""

from __future__ import annotations

from ..analysis.alias import MayAlias
from ..analysis.liveness import names_in
from ..loop_ir import nodes as L


def interchange_loops(body: list[L.Stmt], may_alias: MayAlias) -> None:
    """Rewrites `body` in place."""
    for stmt in body:
        nest = L.perfect_nest(stmt)
        if nest is not None:
            _reorder(*nest, may_alias)
        else:
            for block in L.blocks_of(stmt):
                interchange_loops(block, may_alias)


def _reorder(loops: list[L.Loop], put: L.Store, may_alias: MayAlias) -> None:
    names = [loop.var for loop in loops]
    axes = _axes(put.index, names)
    if axes is None or any(names_in(L.exprs_of(loop)) & {*names} for loop in loops):
        return
    loads = [p for p in L.walk_expr(put.expr) if isinstance(p, L.Load)]
    loads += [p for i in put.index for p in L.walk_expr(i) if isinstance(p, L.Load)]
    loads += [p for x in loops for p in L.walk_expr(x.stop) if isinstance(p, L.Load)]
    for load in loads:
        if may_alias(load.buffer, put.buffer):
            if load.buffer != put.buffer or load.index != put.index:
                return
    order = sorted(names, key=axes.__getitem__)
    indices = [put.index, *(load.index for load in loads)]
    if _apart(indices, order[-1]) < _apart(indices, names[-1]):
        stops = {loop.var: loop.stop for loop in loops}
        for loop, name in zip(loops, order):
            loop.var, loop.stop = name, stops[name]


def _axes(index: L.Index, names: list[str]) -> dict[str, int] | None:
    """The axis along which each loop runs, if each has one of its own."""
    axes: dict[str, int] = {}
    for axis, e in enumerate(index):
        held = names_in([e]) & {*names}
        if held:
            (name, *more) = held
            if more or name in axes or L.offset(e, name) is None:
                return None
            axes[name] = axis
    return axes if len(axes) == len(names) else None


def _apart(indices: list[L.Index], name: str) -> int:
    """How many accesses jump from one round of a loop to the next."""
    return sum(name in names_in(index[:-1]) for index in indices if index)
