"""Save the argmin or argmax of a running minimum or maximum instead of all compared values.

The pass works on loop-level IR.

    for i in range(n):                          for i in range(n):
        m = inf                                     m, last = inf, -1
        for c in range(k):                          for c in range(k):
            a[i, c] = m                                 v = f(x[i], y[c])
            v = f(x[i], y[c])               →           last = last if m < v else c
            b[i, c] = v                                 m = min(m, v)
            m = min(m, v)                           chosen[i] = last

The reverse sweep starts at the saved index (`shorten_minmax_sweep.py`) and ends there: v was
smaller, which is all that the sweep reads of `a` and `b`.  If v was not smaller, as with ties,
`saved_index` says so as well.  Then the sweep recomputes the row and runs over all of it.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable

from ...ir.record import record
from ..analysis.buffer_uses import Uses, collect_uses, depth_in_path
from ..analysis.liveness import defs, names_in, upward_exposed
from ..analysis.single_assignment import fixed_integers, resolve
from ..analysis.zero_product import ScalarDefinitions
from ..loop_ir import nodes as L
from ..memory.array_contraction import drop_axis
from .shorten_minmax_sweep import SWAPPED_COMPARISONS, ConditionalValues, ShortenedSweep

# The maximal number of statements that are duplicated to recompute a row.
MAX_RECOMPUTED_STATEMENTS = 60
# The statements that the forward loop over rows may contain.
_ALLOWED = (L.Let, L.Store, L.Loop, L.If, L.Fail, L.Comment)


@record
class _SavedPair:
    """Two buffers of saved values.

    `loop`, in the loop `rows`, stores a row of each.  The reverse sweep, in the loop
    `reverse_rows`, compares the elements of the first with those of the second.
    """

    alloc_block: list[L.Stmt]  # the block of the allocations
    rows: L.Loop
    loop: L.Loop
    reverse_rows: L.Loop
    allocs: list[L.Alloc]
    stores: list[L.Store]
    op: str = "<"

    def names(self) -> list[str]:
        return [store.buffer for store in self.stores]


def save_argminmax(
    body: list[L.Stmt],
    sweeps: list[ShortenedSweep],
    numbers: ScalarDefinitions,
    new_name: Callable[[str], str],
) -> None:
    """Rewrite the forward loops of `sweeps` in place.

    Set in each sweep the saved index at which it starts, and the statements that recompute a row if
    that is not sufficient.
    """
    for sweep in sweeps:
        saved = _saved_pair(body, sweep, numbers)
        if saved is None or not _mirrors(body, saved, sweep) or not _only_compares(saved, sweep):
            continue
        again = _recomputation(body, saved, numbers, {*names_in([sweep.loop.stop])}, new_name)
        if again is not None and _values_unchanged(saved):
            _rewrite(saved, sweep, again, new_name)


def _saved_pair(
    body: list[L.Stmt], sweep: ShortenedSweep, numbers: ScalarDefinitions
) -> _SavedPair | None:
    """Return the two buffers that a sweep compares, if the same loops store and compare both."""
    passes = sweep.unchanged_if
    if not isinstance(passes, L.Bin):
        return None
    if not (isinstance(passes.left, L.Load) and isinstance(passes.right, L.Load)):
        return None
    names = [passes.left.buffer, passes.right.buffer]
    uses = collect_uses(body)
    first, second = (_saved_buffer(name, uses[name], sweep, numbers) for name in names)
    if names[0] == names[1] or first is None or second is None:
        return None
    for a, b in (
        (first.rows, second.rows),
        (first.loop, second.loop),
        (first.reverse_rows, second.reverse_rows),
    ):
        if a is not b:
            return None
    if first.alloc_block is not second.alloc_block:
        return None
    first.allocs += second.allocs
    first.stores += second.stores
    first.op = passes.op
    return first


def _saved_buffer(
    name: str, use: Uses, sweep: ShortenedSweep, numbers: ScalarDefinitions
) -> _SavedPair | None:
    """Return how one buffer is stored and read, if it has no other uses."""
    if use.has_other_uses or len(use.allocs) != 1:
        return None
    alloc_block, alloc = use.allocs[0]
    found: _SavedPair | None = None
    reverse_rows: L.Loop | None = None
    shifts: set[int | None] = set()
    for path, index, plain in use.accesses:
        level = depth_in_path(path, alloc_block)
        if level is None:
            return None
        rows, loop, *rest = (*(block[k] for block, k in path[level:]), None, None)
        if not isinstance(rows, L.Loop) or not isinstance(loop, L.Loop):
            return None
        if len(index) != 2 or index[0] != L.Name(rows.var):
            return None
        shifts.add(L.constant_offset(resolve(index[1], numbers.known), loop.var))
        if plain:
            store = rest[0]
            if found is not None or not isinstance(store, L.Store):
                return None
            if not isinstance(store.expr, L.Name) or store.expr.dtype != alloc.dtype:
                return None
            found = _SavedPair(alloc_block, rows, loop, rows, [alloc], [store])
        else:
            last = path[-1][0][path[-1][1]]
            added = isinstance(last, L.Store) and last.buffer == name
            if (
                loop is not sweep.loop
                or added
                or (reverse_rows is not None and reverse_rows is not rows)
            ):
                return None
            reverse_rows = rows
    # Both loops must access an element at the same offset from their variables.
    if found is None or reverse_rows is None or len(shifts) > 1 or None in shifts:
        return None
    found.reverse_rows = reverse_rows
    return found


def _mirrors(body: list[L.Stmt], saved: _SavedPair, sweep: ShortenedSweep) -> bool:
    """True if the sweep runs after the forward loop, over the same rows and iterations, with the
    inner loop reversed."""
    integers = fixed_integers(body, upward_exposed(body))

    def span(loop: L.Loop) -> tuple[L.Expr, ...]:
        start, stop = (resolve(e, integers) for e in (loop.start, loop.stop))
        return L.index_range(L.Loop(loop.var, start, stop, loop.step)) or ()

    position = {id(s): k for k, s in enumerate(saved.alloc_block)}
    ahead = position[id(saved.rows)] < position[id(saved.reverse_rows)]
    pairs = ((saved.rows, saved.reverse_rows), (saved.loop, sweep.loop))
    same = all(span(a) and span(a) == span(b) for a, b in pairs)
    return ahead and same and saved.loop.step != sweep.loop.step


def _only_compares(saved: _SavedPair, sweep: ShortenedSweep) -> bool:
    """True if a sweep only compares the two elements of a pair, and its adjoint becomes zero where
    they compare the other way than in the iterations that leave it unchanged."""
    assert isinstance(sweep.unchanged_if, L.Bin)
    other = L.Bin(
        SWAPPED_COMPARISONS[saved.op], sweep.unchanged_if.left, sweep.unchanged_if.right, "bool"
    )
    if ConditionalValues(other, {}).value(sweep.factor) != 0.0:
        return False
    inside = list(L.walk(sweep.loop.body))
    side = {
        s.name: s.expr.buffer
        for s in inside
        if isinstance(s, L.Let) and isinstance(s.expr, L.Load) and s.expr.buffer in saved.names()
    }

    def of(e: L.Expr) -> str | None:
        if isinstance(e, L.Load):
            return e.buffer if e.buffer in saved.names() else None
        return side.get(e.name) if isinstance(e, L.Name) else None

    def compares(e: L.Expr) -> bool:
        if isinstance(e, L.Bin) and e.op in SWAPPED_COMPARISONS:
            if {of(e.left), of(e.right)} == {*saved.names()}:
                return True
        return of(e) is None and all(map(compares, L.operands_of(e)))

    named = (s for s in inside if not (isinstance(s, L.Let) and s.name in side))
    return all(compares(e) for s in named for e in L.exprs_of(s))


def _values_unchanged(saved: _SavedPair) -> bool:
    """True if neither scalar is reassigned between its store and the last of the two stores."""
    block = saved.loop.body
    last = max(L.position_of(block, store) for store in saved.stores)
    for store in saved.stores:
        between = L.walk(block[L.position_of(block, store) + 1 : last + 1])
        if names_in([store.expr]) & {name for s in between for name in defs(s)}:
            return False
    return True


def _recomputation(
    body: list[L.Stmt],
    saved: _SavedPair,
    numbers: ScalarDefinitions,
    also: set[str],
    new_name: Callable[[str], str],
) -> list[L.Stmt] | None:
    """Return the statements that recompute a row in the loop around the sweep, or None.

    The names that they read, and those in `also`, must have the same values in both loops.
    """
    if not all(isinstance(s, _ALLOWED) for s in L.walk(saved.rows.body)):
        return None
    stmts = copy.deepcopy(saved.rows.body[: L.position_of(saved.rows.body, saved.loop) + 1])
    stmts = _backward_slice(stmts, {*saved.names()})
    inside = list(L.walk(stmts))
    read = [p for s in inside for e in L.exprs_of(s) for p in L.walk_expr(e)]
    loads = {e.buffer for e in read if isinstance(e, L.Load)}
    if len(inside) > MAX_RECOMPUTED_STATEMENTS or not loads <= {*numbers.ranks}:
        return None
    # The inputs have the same values in both loops if they are parameters or are assigned once,
    # before both loops.
    given = upward_exposed(body)
    times = Counter(name for s in L.walk(body) for name in defs(s))
    times.update(given)
    ahead = {
        n
        for s in saved.alloc_block[: L.position_of(saved.alloc_block, saved.rows)]
        for n in defs(s)
    } | given
    sizes = {name for alloc in saved.allocs for name in names_in(alloc.sizes)}
    start = (upward_exposed(stmts) | sizes | also) - {saved.rows.var}
    if any(times[name] > 1 or name not in ahead for name in start):
        return None
    names: dict[str, str] = {saved.rows.var: saved.reverse_rows.var}
    names |= {name: new_name(name) for s in inside for name in defs(s)}
    _rename(stmts, names)
    return stmts


def _backward_slice(stmts: list[L.Stmt], buffers: set[str]) -> list[L.Stmt]:
    """Return the backward slice of the stores to `buffers`."""
    needed: set[str] = set()

    def filtered(block: list[L.Stmt]) -> list[L.Stmt]:
        out: list[L.Stmt] = []
        for s in reversed(block):
            if isinstance(s, (L.Loop, L.If)):
                s = copy.copy(s)
                parts = [filtered(part) for part in L.blocks_of(s)]
                if not any(parts):
                    continue
                if isinstance(s, L.Loop):
                    (s.body,) = parts
                else:
                    s.then, s.orelse = parts
            elif isinstance(s, L.Store):
                if s.buffer not in buffers:
                    continue
            elif not isinstance(s, L.Let) or s.name not in needed:
                continue
            needed.update(names_in(L.exprs_of(s)))
            out.append(s)
        return out[::-1]

    # Iterate to a fixed point: a scalar assigned late in an iteration may be read early in the
    # next.
    while True:
        before = len(needed)
        out = filtered(stmts)
        if len(needed) == before:
            return out


def _rename(body: list[L.Stmt], names: dict[str, str]) -> None:
    def new(e: L.Expr) -> L.Expr | None:
        return L.Name(names[e.name], e.dtype) if isinstance(e, L.Name) and e.name in names else None

    L.map_stmts(body, new)
    for s in L.walk(body):
        if isinstance(s, L.Let):
            s.name = names[s.name]
        elif isinstance(s, L.Loop):
            s.var = names[s.var]


def _rewrite(
    saved: _SavedPair, sweep: ShortenedSweep, again: list[L.Stmt], new_name: Callable[[str], str]
) -> None:
    """Replace the two saved buffers by the saved index in the forward loop and in the sweep."""
    chosen, last = new_name("chosen"), L.Name(new_name("last"))
    rows, block, names = saved.rows.body, saved.loop.body, saved.names()
    m, v = (store.expr for store in saved.stores)
    op = saved.op
    # Twice the iteration, plus 1 unless v is strictly better, so that it consumes all of the
    # adjoint.
    not_strict = L.Select(L.Bin(SWAPPED_COMPARISONS[op], m, v, "bool"), L.ZERO, L.ONE, "int64")
    two = L.Lit(2, "int64")
    encoded = L.Bin("+", L.mul(L.Name(saved.loop.var), two), not_strict, "int64")
    update = L.Let(last.name, L.Select(L.Bin(op, m, v, "bool"), last, encoded, "int64"))
    block.insert(1 + max(L.position_of(block, store) for store in saved.stores), update)
    block[:] = [s for s in block if not any(s is store for store in saved.stores)]
    place = L.position_of(rows, saved.loop)
    rows.insert(place + 1, L.Store(chosen, (L.Name(saved.rows.var),), last))
    rows.insert(place, L.Let(last.name, L.mul(sweep.loop.stop, two)))
    made = L.Alloc(chosen, "int64", saved.allocs[0].sizes[:1])
    saved.alloc_block.insert(L.position_of(saved.alloc_block, saved.allocs[0]), made)
    saved.alloc_block[:] = [
        s for s in saved.alloc_block if not any(s is alloc for alloc in saved.allocs)
    ]
    # Of each buffer one row is left, which the loop around the sweep allocates.
    for name in names:
        drop_axis(again, name, 0)
        drop_axis(sweep.loop.body, name, 0)
    made_rows = [L.Alloc(a.name, a.dtype, a.sizes[1:]) for a in saved.allocs]
    saved.reverse_rows.body[:0] = made_rows
    sweep.saved_index = L.Load(chosen, (L.Name(saved.reverse_rows.var),), "int64")
    sweep.recompute = again
    larger, smaller = saved.allocs if op == "<" else saved.allocs[::-1]
    for alloc, x in ((larger, 1), (smaller, 0)):
        sweep.known_elements[alloc.name] = L.Lit(x, alloc.dtype)
