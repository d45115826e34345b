"""Runs several rounds of a loop around others side by side, on loop-level IR.

    for i in range(n):                      rest = n - n % 4
        for k in range(m):                  for i in range(0, rest, 4):
            for j in range(i + 1):              for k in range(m):
                x[k, j] += y[i, j]      →           for j in range(i + 1):
                                                        x[k, j] = x[k, j] + y[i, j] + … \\
                                                            + y[i + 3, j]
                                                    for j in range(i + 1, i + 2):
                                                        x[k, j] += y[i + 1, j]
                                                    …
                                            for i in range(rest, n):
                                                …

Elements that all rounds read, or add to, are read and written once for all.  So the loop is one
whose rounds may come in any order; the loops inside run together as far as all rounds need them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ..analysis.alias import MayAlias
from ..analysis.analyses import Overview
from ..analysis.cost_model import trips
from ..analysis.dependence import loop_reductions
from ..analysis.liveness import counters_read, defs, exposed, names_in
from ..loop_ir import nodes as L
from .unroll_and_jam_rewrite import Tile, accesses, loads_in, loops_in
from .unroll_and_jam_sums import is_cheap

# So many rounds become one, the more the better.
ROUNDS = (4, 2)
# Numbers that stay the same in an innermost loop, and sums: more do not fit into registers.
NUMBERS = 8
# Of the accesses to memory in the innermost loops, more than such a part must be spared.
SPARED = 0.25
# Longer loops would take long to compile.
LONG = 40

_PLAIN = (L.Let, L.Store, L.Loop, L.If, L.Comment)


def unroll_and_jam(
    body: list[L.Stmt],
    dtypes: dict[str, str],
    escaping: set[str],
    may_alias: MayAlias,
    new_name: Callable[[str], str],
) -> None:
    """Rewrites `body` in place.  `dtypes` are those of the arrays among the parameters; `visible`
    are the buffers that the caller sees even if the call fails."""
    _Runner(body, dtypes, escaping, may_alias, new_name).block(body)


class _Runner(Overview):
    def __init__(
        self,
        body: list[L.Stmt],
        dtypes: dict[str, str],
        escaping: set[str],
        may_alias: MayAlias,
        new_name: Callable[[str], str],
    ) -> None:
        super().__init__(body, dtypes, may_alias)
        self.escaping, self.new_name = escaping, new_name

    def block(self, block: list[L.Stmt]) -> None:
        out: list[L.Stmt] = []
        for stmt in block:
            new = self._loop(stmt) if isinstance(stmt, L.Loop) else None
            if new is None:
                for inner in L.blocks_of(stmt):
                    self.block(inner)
            out += new or [stmt]
        block[:] = out

    def _loop(self, loop: L.Loop) -> list[L.Stmt] | None:
        if not _is_plain(loop) or not _is_worth_a_look(loop):
            return None
        common = loop_reductions(loop, self.after[id(loop)], self.may_alias, self.escaping)
        if common is None:
            return None
        for rounds in ROUNDS:
            if isinstance(count := trips(loop), L.Lit) and count.value < 2 * rounds:
                continue
            if _numbers(loop, common.folds) * rounds > NUMBERS:
                continue
            tile = Tile(loop, common, rounds, self.dtypes, self.new_name)
            if _pays(tile):
                return tile.written()
        return None


def _is_plain(loop: L.Loop) -> bool:
    """Whether nothing in a loop may fail or makes memory, and no counter is read after its loop."""
    if loop.parallel or not (L.is_lit(loop.step, 1) or L.is_lit(loop.step, -1)):
        return False
    if any(isinstance(p, L.Load) for e in (loop.start, loop.stop) for p in L.walk_expr(e)):
        return False
    stmts = list(L.walk(loop.body))
    if len(stmts) > LONG or not all(isinstance(s, _PLAIN) for s in stmts):
        return False
    if any(isinstance(s, L.Loop) and s.parallel for s in stmts):
        return False
    inside = {s.var for s in stmts if isinstance(s, L.Loop)}
    lets = {s.name for s in stmts if isinstance(s, L.Let)}
    return not inside & lets and not counters_read(loop.body, inside)


def _is_worth_a_look(loop: L.Loop) -> bool:
    inner = _innermost(loop)
    return bool(inner) and all(_is_simple(s) for s in inner) and _may_pay(loop, inner)


def _may_pay(loop: L.Loop, inner: list[L.Loop]) -> bool:
    """Whether enough accesses of the innermost loops may be spared: those at places that do not
    change from round to round, and those of buffers with several places."""
    changing = _changing(loop)
    places = [place for s in inner for place in accesses(s.body, s.var)]
    several = Counter(buffer for buffer, _ in {*places})
    common = sum(several[b] > 1 or not names_in(index) & changing for b, index in places)
    return common * (1 - 1 / max(ROUNDS)) > SPARED * len(places)


def _changing(loop: L.Loop) -> set[str]:
    """The numbers that change from round to round."""
    found = {loop.var}
    lets = [s for s in L.walk(loop.body) if isinstance(s, L.Let)]
    for _ in range(2):  # a sum is set to zero before it is added to
        found |= {s.name for s in lets if names_in([s.expr]) & found}
    return found


def _is_simple(loop: L.Loop) -> bool:
    """Sums and products of elements, and nothing decided by them."""
    if not L.is_lit(loop.step, 1):
        return False
    for s in loop.body:
        if isinstance(s, L.Comment):
            continue
        if not isinstance(s, (L.Let, L.Store)) or not is_cheap(s.expr):
            return False
    return True


def _innermost(loop: L.Loop) -> list[L.Loop]:
    """The loops that are deepest inside."""
    found: list[L.Loop] = []
    inside = loops_in(loop.body)
    while inside:
        found, inside = inside, [n for s in inside for n in loops_in(s.body)]
    return found


def _numbers(loop: L.Loop, folds: Iterable[str]) -> int:
    """How many numbers of its own a round has in an innermost loop."""
    changing = _changing(loop)
    own = {s.name for s in L.walk(loop.body) if isinstance(s, L.Let)} - {*folds}
    found = [0]
    for inner in _innermost(loop):
        bound = {name for s in inner.body for name in defs(s)} | {inner.var}
        names = own & changing & exposed(inner.body)
        loads = {
            p
            for p in loads_in(inner.body)
            if names_in(p.index) & changing and not names_in(p.index) & bound
        }
        found.append(len(names) + len(loads))
    return max(found)


def _pays(tile: Tile) -> bool:
    deepest = max((depth for depth, _, _ in tile.together), default=0)
    if max(tile.one_by_one) >= deepest:
        return False
    counted = [(was, now) for depth, was, now in tile.together if depth == deepest]
    was, now = (sum(column) for column in zip(*counted))
    return was - now > SPARED * was
