"""Unroll-and-jam: unroll an outer loop and fuse the copies of its inner loops, on loop-level IR.

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

Elements that all unrolled iterations read, or add to, are loaded and stored once for all of them.
The iterations of the outer loop must be independent.  The inner loops are jammed over the common
part of their ranges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ..analysis.alias import MayAlias
from ..analysis.cost_model import trip_count
from ..analysis.dependence import loop_reductions
from ..analysis.liveness import defs, induction_vars_read_outside, names_in, upward_exposed
from ..loop_ir import nodes as L
from .unroll_and_jam_rewrite import JammedLoop, accesses, loads_in, loops_in
from .unroll_and_jam_sums import Unroller, is_sum_of_products

# Unroll factors, tried from the largest.
UNROLL_FACTORS = (4, 2)
# The maximal number of scalars that are invariant in an innermost loop, and of sums: more do not
# fit into registers.
MAX_LIVE_SCALARS = 8
# The minimal fraction of the memory accesses in the innermost loops that must be saved.
MIN_SAVED_ACCESSES = 0.25
# The maximal number of statements.  Larger loops would take long to compile.
MAX_STATEMENTS = 40

# The statements that an unrolled loop may contain.
_ALLOWED = (L.Let, L.Store, L.Loop, L.If, L.Comment)


def unroll_and_jam(
    body: list[L.Stmt],
    dtypes: dict[str, str],
    escaping: set[str],
    may_alias: MayAlias,
    new_name: Callable[[str], str],
) -> None:
    """Rewrite `body` in place.

    `dtypes` are those of the arrays among the parameters.  `escaping` are the buffers whose
    contents the caller sees even if the call fails.
    """
    _Unroller(body, dtypes, escaping, may_alias, new_name).block(body)


class _Unroller(Unroller):
    def unrolled(self, loop: L.Loop) -> list[L.Stmt] | None:
        if not _is_allowed(loop) or not _is_candidate(loop):
            return None
        common = loop_reductions(loop, self.live_after[id(loop)], self.may_alias, self.escaping)
        if common is None:
            return None
        for factor in UNROLL_FACTORS:
            if isinstance(count := trip_count(loop), L.Lit) and count.value < 2 * factor:
                continue
            if _live_scalars(loop, common.scalar_reductions) * factor > MAX_LIVE_SCALARS:
                continue
            tile = JammedLoop(loop, common, factor, self.dtypes, self.new_name)
            if _is_profitable(tile):
                return tile.statements()
        return None


def _is_allowed(loop: L.Loop) -> bool:
    """True if nothing in a loop may fail or allocates memory, and no inner loop's variable is read
    after its loop."""
    if loop.parallel or not (L.is_lit(loop.step, 1) or L.is_lit(loop.step, -1)):
        return False
    if any(isinstance(p, L.Load) for e in (loop.start, loop.stop) for p in L.walk_expr(e)):
        return False
    stmts = list(L.walk(loop.body))
    if len(stmts) > MAX_STATEMENTS or not all(isinstance(s, _ALLOWED) for s in stmts):
        return False
    if any(isinstance(s, L.Loop) and s.parallel for s in stmts):
        return False
    inside = {s.var for s in stmts if isinstance(s, L.Loop)}
    lets = {s.name for s in stmts if isinstance(s, L.Let)}
    return not inside & lets and not induction_vars_read_outside(loop.body, inside)


def _is_candidate(loop: L.Loop) -> bool:
    """True if the innermost loops are simple and unrolling may save enough accesses."""
    inner = _innermost(loop)
    return bool(inner) and all(_is_simple(s) for s in inner) and _may_save_accesses(loop, inner)


def _may_save_accesses(loop: L.Loop, inner: list[L.Loop]) -> bool:
    """True if enough accesses of the innermost loops may be saved: those at indices that are
    invariant in `loop`, and those to buffers that are accessed at several indices."""
    changing = _changing(loop)
    locations = [location for s in inner for location in accesses(s.body, s.var)]
    several = Counter(buffer for buffer, _ in {*locations})
    common = sum(several[b] > 1 or not names_in(index) & changing for b, index in locations)
    return common * (1 - 1 / max(UNROLL_FACTORS)) > MIN_SAVED_ACCESSES * len(locations)


def _changing(loop: L.Loop) -> set[str]:
    """Return the scalars that change between iterations of a loop."""
    found = {loop.var}
    lets = [s for s in L.walk(loop.body) if isinstance(s, L.Let)]
    for _ in range(2):  # a sum is set to zero before it is added to
        found |= {s.name for s in lets if names_in([s.expr]) & found}
    return found


def _is_simple(loop: L.Loop) -> bool:
    """True for a loop that computes sums and products of elements, without control flow."""
    if not L.is_lit(loop.step, 1):
        return False
    for s in loop.body:
        if isinstance(s, L.Comment):
            continue
        if not isinstance(s, (L.Let, L.Store)) or not is_sum_of_products(s.expr):
            return False
    return True


def _innermost(loop: L.Loop) -> list[L.Loop]:
    """Return the loops at the largest depth inside of a loop."""
    found: list[L.Loop] = []
    inside = loops_in(loop.body)
    while inside:
        found, inside = inside, [n for s in inside for n in loops_in(s.body)]
    return found


def _live_scalars(loop: L.Loop, folds: Iterable[str]) -> int:
    """Return the number of values per iteration of `loop` that are live throughout an innermost
    loop: scalars and loads that are invariant in that loop."""
    changing = _changing(loop)
    own = {s.name for s in L.walk(loop.body) if isinstance(s, L.Let)} - {*folds}
    found = [0]
    for inner in _innermost(loop):
        bound = {name for s in inner.body for name in defs(s)} | {inner.var}
        names = own & changing & upward_exposed(inner.body)
        loads = {
            p
            for p in loads_in(inner.body)
            if names_in(p.index) & changing and not names_in(p.index) & bound
        }
        found.append(len(names) + len(loads))
    return max(found)


def _is_profitable(tile: JammedLoop) -> bool:
    """True if the loops at the largest depth are jammed and save enough memory accesses."""
    deepest = max((depth for depth, _, _ in tile.jammed), default=0)
    if max(tile.unjammed_depths) >= deepest:
        return False
    counted = [(was, now) for depth, was, now in tile.jammed if depth == deepest]
    was, now = (sum(column) for column in zip(*counted))
    return was - now > MIN_SAVED_ACCESSES * was
