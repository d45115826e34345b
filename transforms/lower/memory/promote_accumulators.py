"""Scalar promotion of accumulators: sum a loop-invariant element in a register, on loop-level IR.

    for i in range(n):                  acc = np.float64(0.0)
        c_bar[2] += f(x[i])     →       for i in range(n):
                                            acc = acc + f(x[i])
                                        if n > 0:
                                            c_bar[2] += acc

The loop stores nothing to memory any more, so it can be vectorised.  Where only some iterations
accumulate, the element must be within bounds even if none does (`lower/analysis/in_bounds.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.alias import MayAlias
from ..analysis.analyses import buffer_dtypes
from ..analysis.in_bounds import AccumulationFacts, conditional_accumulations
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L

FLOATS = ("float32", "float64")


def promote_accumulators(
    body: list[L.Stmt],
    dtypes: dict[str, str],
    escaping: set[str],
    may_alias: MayAlias,
    new_name: Callable[[str], str],
    places: AccumulationFacts,
) -> list[L.Stmt]:
    """`body` with accumulators promoted to scalars.

    `dtypes` are those of the array parameters.  `escaping` are the buffers whose contents the
    caller sees even if the call fails.
    """
    return _Promoter(buffer_dtypes(body, dtypes), escaping, may_alias, new_name, places).block(body)


class _Promoter:
    def __init__(
        self,
        dtypes: dict[str, str],
        escaping: set[str],
        may_alias: MayAlias,
        new_name: Callable[[str], str],
        places: AccumulationFacts,
    ) -> None:
        self.dtypes, self.escaping, self.may_alias, self.new_name = (
            dtypes,
            escaping,
            may_alias,
            new_name,
        )
        self.places = places

    def block(self, body: list[L.Stmt]) -> list[L.Stmt]:
        out: list[L.Stmt] = []
        for stmt in body:
            for inner in L.blocks_of(stmt):
                inner[:] = self.block(inner)
            out += self._loop(stmt) if isinstance(stmt, L.Loop) else [stmt]
        return out

    def _loop(self, loop: L.Loop) -> list[L.Stmt]:
        span = L.index_range(loop)
        bound = {name for s in L.walk(loop.body) for name in defs(s)} | {loop.var}
        # The range is evaluated after the loop, so the loop must not change it.
        if span is None or names_in(span) & bound:
            return [loop]
        before: list[L.Stmt] = []
        after: list[L.Stmt] = []
        for put in self._promotable(loop, bound):
            dtype = put.expr.dtype
            total = L.Name(self.new_name("acc"), dtype)
            before.append(L.Let(total.name, L.Lit(0, dtype)))
            after.append(L.Store(put.buffer, put.index, total, add=True))
            _replace(loop.body, put, L.Let(total.name, L.Bin("+", total, put.expr, dtype)))
        some = L.compare(">", span[1], span[0])
        if after and not L.is_lit(some, True):
            # If the loop has no iterations, the element may be out of bounds.
            after = [L.If(some, after)]
        return [*before, loop, *after]

    def _promotable(self, loop: L.Loop, bound: set[str]) -> list[L.Store]:
        """The accumulations to a loop-invariant element that the loop accesses in no other way.

        Then the order of accumulations does not matter.  `bound` are the names that the loop
        defines.
        """
        inside = list(L.walk(loop.body))
        # Only for innermost loops: with an inner loop, promotion gains nothing.
        if not all(isinstance(s, (L.Let, L.Store, L.If, L.Fail, L.Comment)) for s in inside):
            return []
        some = [s for s in conditional_accumulations(loop) if self.places.is_in_bounds(s)]
        found = [
            s
            for s in (*loop.body, *some)
            if isinstance(s, L.Store)
            and s.add
            and s.expr.dtype in FLOATS
            and s.expr.dtype == self.dtypes.get(s.buffer)
            and s.index
            and not names_in([*s.index, L.Size(s.buffer, 0)]) & bound
            and not any(isinstance(p, L.Load) for e in s.index for p in L.walk_expr(e))
        ]
        fails = any(isinstance(s, L.Fail) for s in inside)
        return [
            s
            for s in found
            if not any(self._conflicts(s, other) for other in inside)
            and not (fails and any(self.may_alias(s.buffer, v) for v in self.escaping))
        ]

    def _conflicts(self, put: L.Store, stmt: L.Stmt) -> bool:
        """True if a statement may load the accumulated element or store to it."""
        if isinstance(stmt, L.Store) and not stmt.add and self.may_alias(put.buffer, stmt.buffer):
            return True
        return any(
            isinstance(p, L.Load)
            and self.may_alias(put.buffer, p.buffer)
            and not (put.buffer == p.buffer and self.places.is_disjoint_load(stmt, p, put))
            for p in L.subexprs_read(stmt)
        )


def _replace(body: list[L.Stmt], old: L.Stmt, new: L.Stmt) -> None:
    for place, stmt in enumerate(body):
        if stmt is old:
            body[place] = new
        for block in L.blocks_of(stmt):
            _replace(block, old, new)
