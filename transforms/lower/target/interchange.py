"""Loop interchange for grids: the loops that become a grid are the outer ones.

    for i in range(n):                      for j in range(m):
        for j in range(m):          →           for i in range(n):
            b[j] += d[i, j]                         b[j] += d[i, j]

Fusion then finds loops over the same cells: the zeros before a sum over rows, the sum, and the
update of the weights become one grid.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.alias import MayAlias
from ..analysis.liveness import Names, live_after_loops
from ..loop_ir import nodes as L
from .nests import Nest, as_nest, explain_in_any_order, nested


def interchange_for_grids(
    body: list[L.Stmt], may_alias: MayAlias, new_name: Callable[[str], str]
) -> None:
    """Rewrite `body` in place.

    Inner loops get new variables: that of an outer one may be the variable of a loop to fuse with.
    """
    _Interchange(body, may_alias, new_name).block(body)


def is_grid(body: list[L.Stmt], may_alias: MayAlias) -> Callable[[L.Loop], bool]:
    """A test for loops whose iterations are independent, with what each of them allocates."""
    after, explain = live_after_loops(body), explain_in_any_order(may_alias)

    def test(loop: L.Loop) -> bool:
        return not isinstance(explain(loop, after.get(id(loop), frozenset())), str)

    return test


class _Interchange:
    def __init__(
        self, body: list[L.Stmt], may_alias: MayAlias, new_name: Callable[[str], str]
    ) -> None:
        self.new_name = new_name
        self.after = live_after_loops(body)
        self.explain = explain_in_any_order(may_alias)

    def live_after(self, loop: L.Loop) -> Names:
        return self.after.get(id(loop), frozenset())

    def block(self, stmts: list[L.Stmt]) -> None:
        for s in stmts:
            found = as_nest(s, self.live_after, self.explain) if isinstance(s, L.Loop) else ""
            if isinstance(found, str):
                for inner in L.blocks_of(s):
                    self.block(inner)
            elif found.inside and isinstance(s, L.Loop):
                self.reorder(s, found)

    def reorder(self, loop: L.Loop, nest: Nest) -> None:
        """Order the loops of a nest as its grid, in place."""
        for inner in nest.inside:
            old, inner.var = inner.var, self.new_name("k")
            L.map_stmts(nest.body, lambda e, old=old, new=inner.var: _renamed(e, old, new))
        new = nested([*nest.grid, *nest.inside], nest.body)
        loop.var, loop.start, loop.stop, loop.step = new.var, new.start, new.stop, new.step
        loop.body = new.body


def _renamed(e: L.Expr, old: str, new: str) -> L.Expr | None:
    return L.Name(new, e.dtype) if isinstance(e, L.Name) and e.name == old else None
