"""Loop interchange: order the loops of a nest as its elements lie in memory.

    for i in range(n):                      for j in range(m):
        for j in range(m):              →       for i in range(n):
            y[j, i] = 0.0                           y[j, i] = 0.0

Each element is stored in one iteration, and no iteration reads what another one stores.  So any
order of the iterations is valid.
"""

from __future__ import annotations

from ..analysis.alias import MayAlias
from ..analysis.liveness import names_in
from ..loop_ir import nodes as L


def interchange_loops(body: list[L.Stmt], may_alias: MayAlias) -> None:
    """Rewrite `body` in place."""
    for stmt in body:
        nest = L.perfect_nest(stmt)
        if nest is not None:
            _reorder(*nest, may_alias)
        else:
            for block in L.blocks_of(stmt):
                interchange_loops(block, may_alias)


def _reorder(loops: list[L.Loop], store: L.Store, may_alias: MayAlias) -> None:
    names = [loop.var for loop in loops]
    axes = _axes(store.index, names)
    if axes is None or any(names_in(L.exprs_of(loop)) & {*names} for loop in loops):
        return
    loads = [p for p in L.walk_expr(store.expr) if isinstance(p, L.Load)]
    loads += [p for i in store.index for p in L.walk_expr(i) if isinstance(p, L.Load)]
    loads += [p for x in loops for p in L.walk_expr(x.stop) if isinstance(p, L.Load)]
    for load in loads:
        if may_alias(load.buffer, store.buffer):
            if load.buffer != store.buffer or load.index != store.index:
                return
    order = sorted(names, key=axes.__getitem__)
    indices = [store.index, *(load.index for load in loads)]
    if _strided_accesses(indices, order[-1]) < _strided_accesses(indices, names[-1]):
        stops = {loop.var: loop.stop for loop in loops}
        for loop, name in zip(loops, order):
            loop.var, loop.stop = name, stops[name]


def _axes(index: L.Index, names: list[str]) -> dict[str, int] | None:
    """Return the axis along which each loop runs, if each loop has an axis of its own."""
    axes: dict[str, int] = {}
    for axis, e in enumerate(index):
        variables = names_in([e]) & {*names}
        if variables:
            (name, *more) = variables
            if more or name in axes or L.constant_offset(e, name) is None:
                return None
            axes[name] = axis
    return axes if len(axes) == len(names) else None


def _strided_accesses(indices: list[L.Index], name: str) -> int:
    """Return the number of accesses with a non-unit stride between iterations of a loop.

    Their indices depend on its variable before the last axis.
    """
    return sum(name in names_in(index[:-1]) for index in indices if index)
