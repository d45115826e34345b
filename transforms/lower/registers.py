"""An element to which every round of a loop adds is summed up in a variable, on loop-level IR.

    for i in range(n):                  acc = np.float64(0.0)
        c_bar[2] += f(x[i])     →       for i in range(n):
                                            acc = acc + f(x[i])
                                        if n > 0:
                                            c_bar[2] += acc

So the loop writes nothing to memory, and several of its rounds are computed at once.
"""

from __future__ import annotations

from collections.abc import Callable

from . import loop_ir as L
from .live import binds, names_in
from .siblings import Shares

FLOATS = ("float32", "float64")


def sum_up(
    body: list[L.Stmt],
    dtypes: dict[str, str],
    visible: set[str],
    shares: Shares,
    fresh: Callable[[str], str],
) -> list[L.Stmt]:
    """`dtypes` are those of the arrays among the parameters; `visible` are the buffers whose
    contents the caller sees even if the call fails."""
    made = {s.name: s.dtype for s in L.walk(body) if isinstance(s, L.Alloc)}
    return _Summer({**made, **dtypes}, visible, shares, fresh).block(body)


class _Summer:
    def __init__(
        self,
        dtypes: dict[str, str],
        visible: set[str],
        shares: Shares,
        fresh: Callable[[str], str],
    ) -> None:
        self.dtypes, self.visible, self.shares, self.fresh = dtypes, visible, shares, fresh

    def block(self, body: list[L.Stmt]) -> list[L.Stmt]:
        out: list[L.Stmt] = []
        for stmt in body:
            for inner in L.blocks_of(stmt):
                inner[:] = self.block(inner)
            out += self._loop(stmt) if isinstance(stmt, L.Loop) else [stmt]
        return out

    def _loop(self, loop: L.Loop) -> list[L.Stmt]:
        span = L.span(loop)
        bound = {name for s in L.walk(loop.body) for name in binds(s)} | {loop.var}
        # What the loop went through is asked for after it.
        if span is None or names_in(span) & bound:
            return [loop]
        before: list[L.Stmt] = []
        after: list[L.Stmt] = []
        for put in self._sums(loop, bound):
            dtype = put.expr.dtype
            total = L.Name(self.fresh("acc"), dtype)
            before.append(L.Let(total.name, L.Lit(0, dtype)))
            after.append(L.Put(put.buffer, put.index, total, add=True))
            place = L.place_in(loop.body, put)
            loop.body[place] = L.Let(total.name, L.Bin("+", total, put.expr, dtype))
        some = L.compare(">", span[1], span[0])
        if after and not L.is_lit(some, True):
            # An element that no round has come to may not be there.
            after = [L.Branch(some, after)]
        return [*before, loop, *after]

    def _sums(self, loop: L.Loop, bound: set[str]) -> list[L.Put]:
        """What is added in each round to one and the same element of a buffer that is only added
        to: in which order does not matter.  `bound` are the names that the loop sets."""
        inside = list(L.walk(loop.body))
        # Beside other loops there is nothing to gain.
        if not all(isinstance(s, (L.Let, L.Put, L.Branch, L.Fail, L.Remark)) for s in inside):
            return []
        found = [
            s
            for s in loop.body
            if isinstance(s, L.Put)
            and s.add
            and s.expr.dtype in FLOATS
            and s.expr.dtype == self.dtypes.get(s.buffer)
            and s.index
            and not names_in([*s.index, L.Size(s.buffer, 0)]) & bound
            and not any(isinstance(p, L.Load) for e in s.index for p in L.walk_expr(e))
        ]
        fails = any(isinstance(s, L.Fail) for s in inside)
        others = {s.buffer for s in inside if isinstance(s, L.Put) and not s.add}
        others |= {
            p.buffer
            for s in inside
            for e in L.exprs_of(s)
            if not isinstance(e, L.Whole)
            for p in L.walk_expr(e)
            if isinstance(p, L.Load)
        }
        return [
            s
            for s in found
            if not any(self.shares(s.buffer, other) for other in others)
            and not (fails and any(self.shares(s.buffer, v) for v in self.visible))
        ]
