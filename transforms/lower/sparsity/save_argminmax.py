"""Of a running smallest or largest only the last choice is kept, on loop-level IR.

    for i in range(n):                          for i in range(n):
        m = inf                                     m, last = inf, -1
        for c in range(k):                          for c in range(k):
            a[i, c] = m                                 v = f(x[i], y[c])
            v = f(x[i], y[c])               →           last = last if m < v else c
            b[i, c] = v                                 m = min(m, v)
            m = min(m, v)                           chosen[i] = last

The sweep begins there (`shorten_minmax_sweep.py`), and ends there: v was smaller, which is all it
asks about what was kept.  Where it was not, as with ties, which `chosen` tells, too, the sweep
computes the row again and goes through all of it.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable

from ...ir.record import record
from ..analysis.buffer_uses import Uses, level_of, survey
from ..analysis.liveness import defs, exposed, names_in
from ..analysis.single_assignment import fixed_integers, resolve
from ..analysis.zero_product import Numbers
from ..loop_ir import nodes as L
from ..memory.array_contraction import without_axis
from .shorten_minmax_sweep import TURNED, Given, Shortened

# More than this is not written down a second time.
LONG = 60
_PLAIN = (L.Let, L.Store, L.Loop, L.If, L.Fail, L.Comment)


@record
class _Kept:
    """What `loop`, in `rows`, puts into rows of two buffers, for a sweep in `swept` that compares
    the first of them with the second."""

    home: list[L.Stmt]  # where they are made
    rows: L.Loop
    loop: L.Loop
    swept: L.Loop
    allocs: list[L.Alloc]
    puts: list[L.Store]
    op: str = "<"

    def names(self) -> list[str]:
        return [put.buffer for put in self.puts]


def save_argminmax(
    body: list[L.Stmt], sweeps: list[Shortened], numbers: Numbers, new_name: Callable[[str], str]
) -> None:
    """Rewrites the loops that sweeps belong to, in place, and tells the sweeps where to begin and
    what to do if that is not enough."""
    for sweep in sweeps:
        kept = _kept(body, sweep, numbers)
        if kept is None or not _mirrors(body, kept, sweep) or not _only_compares(kept, sweep):
            continue
        again = _row_again(body, kept, numbers, {*names_in([sweep.loop.stop])}, new_name)
        if again is not None and _is_at_hand(kept):
            _rewrite(kept, sweep, again, new_name)


def _kept(body: list[L.Stmt], sweep: Shortened, numbers: Numbers) -> _Kept | None:
    passes = sweep.passes
    if not isinstance(passes, L.Bin):
        return None
    if not (isinstance(passes.left, L.Load) and isinstance(passes.right, L.Load)):
        return None
    names = [passes.left.buffer, passes.right.buffer]
    uses = survey(body)
    first, second = (_one(name, uses[name], sweep, numbers) for name in names)
    if names[0] == names[1] or first is None or second is None:
        return None
    for a, b in ((first.rows, second.rows), (first.loop, second.loop), (first.swept, second.swept)):
        if a is not b:
            return None
    if first.home is not second.home:
        return None
    first.allocs += second.allocs
    first.puts += second.puts
    first.op = passes.op
    return first


def _one(name: str, use: Uses, sweep: Shortened, numbers: Numbers) -> _Kept | None:
    """What is put into one buffer, if that is all that happens to it."""
    if use.odd or len(use.allocs) != 1:
        return None
    home, alloc = use.allocs[0]
    found: _Kept | None = None
    swept: L.Loop | None = None
    shifts: set[int | None] = set()
    for path, index, plain in use.accesses:
        level = level_of(path, home)
        if level is None:
            return None
        rows, loop, *rest = (*(block[k] for block, k in path[level:]), None, None)
        if not isinstance(rows, L.Loop) or not isinstance(loop, L.Loop):
            return None
        if len(index) != 2 or index[0] != L.Name(rows.var):
            return None
        shifts.add(L.offset(resolve(index[1], numbers.known), loop.var))
        if plain:
            put = rest[0]
            if found is not None or not isinstance(put, L.Store):
                return None
            if not isinstance(put.expr, L.Name) or put.expr.dtype != alloc.dtype:
                return None
            found = _Kept(home, rows, loop, rows, [alloc], [put])
        else:
            last = path[-1][0][path[-1][1]]
            added = isinstance(last, L.Store) and last.buffer == name
            if loop is not sweep.loop or added or (swept is not None and swept is not rows):
                return None
            swept = rows
    # Elements are found by the round in which they were kept.
    if found is None or swept is None or len(shifts) > 1 or None in shifts:
        return None
    found.swept = swept
    return found


def _mirrors(body: list[L.Stmt], kept: _Kept, sweep: Shortened) -> bool:
    """Whether the sweep comes later and goes through the same rows and rounds, those backwards."""
    integers = fixed_integers(body, exposed(body))

    def span(loop: L.Loop) -> tuple[L.Expr, ...]:
        start, stop = (resolve(e, integers) for e in (loop.start, loop.stop))
        return L.span(L.Loop(loop.var, start, stop, loop.step)) or ()

    place = {id(s): k for k, s in enumerate(kept.home)}
    ahead = place[id(kept.rows)] < place[id(kept.swept)]
    pairs = ((kept.rows, kept.swept), (kept.loop, sweep.loop))
    same = all(span(a) and span(a) == span(b) for a, b in pairs)
    return ahead and same and kept.loop.step != sweep.loop.step


def _only_compares(kept: _Kept, sweep: Shortened) -> bool:
    """Whether a sweep asks only how the numbers of a pair compare, and ends if it is otherwise
    than where it passes all on."""
    assert isinstance(sweep.passes, L.Bin)
    other = L.Bin(TURNED[kept.op], sweep.passes.left, sweep.passes.right, "bool")
    if Given(other, {}).value(sweep.factor) != 0.0:
        return False
    inside = list(L.walk(sweep.loop.body))
    side = {
        s.name: s.expr.buffer
        for s in inside
        if isinstance(s, L.Let) and isinstance(s.expr, L.Load) and s.expr.buffer in kept.names()
    }

    def of(e: L.Expr) -> str | None:
        if isinstance(e, L.Load):
            return e.buffer if e.buffer in kept.names() else None
        return side.get(e.name) if isinstance(e, L.Name) else None

    def compares(e: L.Expr) -> bool:
        if isinstance(e, L.Bin) and e.op in TURNED:
            if {of(e.left), of(e.right)} == {*kept.names()}:
                return True
        return of(e) is None and all(map(compares, L.parts_of(e)))

    named = (s for s in inside if not (isinstance(s, L.Let) and s.name in side))
    return all(compares(e) for s in named for e in L.exprs_of(s))


def _is_at_hand(kept: _Kept) -> bool:
    """Whether both numbers are still what they were when the last of them is kept."""
    block = kept.loop.body
    last = max(L.place_in(block, put) for put in kept.puts)
    for put in kept.puts:
        between = L.walk(block[L.place_in(block, put) + 1 : last + 1])
        if names_in([put.expr]) & {name for s in between for name in defs(s)}:
            return False
    return True


def _row_again(
    body: list[L.Stmt],
    kept: _Kept,
    numbers: Numbers,
    also: set[str],
    new_name: Callable[[str], str],
) -> list[L.Stmt] | None:
    """The statements that compute a row once more, for the loop around the sweep.  The names in
    `also` must mean the same in both places, too."""
    if not all(isinstance(s, _PLAIN) for s in L.walk(kept.rows.body)):
        return None
    stmts = copy.deepcopy(kept.rows.body[: L.place_in(kept.rows.body, kept.loop) + 1])
    stmts = _needed(stmts, {*kept.names()})
    inside = list(L.walk(stmts))
    read = [p for s in inside for e in L.exprs_of(s) for p in L.walk_expr(e)]
    loads = {e.buffer for e in read if isinstance(e, L.Load)}
    if len(inside) > LONG or not loads <= {*numbers.ranks}:
        return None
    # What it starts from is what it was: set once, ahead of both loops, or given.
    given = exposed(body)
    times = Counter(name for s in L.walk(body) for name in defs(s))
    times.update(given)
    ahead = {n for s in kept.home[: L.place_in(kept.home, kept.rows)] for n in defs(s)} | given
    sizes = {name for alloc in kept.allocs for name in names_in(alloc.sizes)}
    start = (exposed(stmts) | sizes | also) - {kept.rows.var}
    if any(times[name] > 1 or name not in ahead for name in start):
        return None
    names: dict[str, str] = {kept.rows.var: kept.swept.var}
    names |= {name: new_name(name) for s in inside for name in defs(s)}
    _rename(stmts, names)
    return stmts


def _needed(stmts: list[L.Stmt], buffers: set[str]) -> list[L.Stmt]:
    """Those statements that what is written to buffers follows from."""
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

    # What is set late in a round may be read early in the next.
    before = -1
    while before != len(needed):
        before = len(needed)
        out = filtered(stmts)
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
    kept: _Kept, sweep: Shortened, again: list[L.Stmt], new_name: Callable[[str], str]
) -> None:
    chosen, last = new_name("chosen"), L.Name(new_name("last"))
    rows, block, names = kept.rows.body, kept.loop.body, kept.names()
    m, v = (put.expr for put in kept.puts)
    op = kept.op
    # Twice the round, and one more if it is not known to take all.
    taken = L.Select(L.Bin(TURNED[op], m, v, "bool"), L.ZERO, L.ONE, "int64")
    two = L.Lit(2, "int64")
    told = L.Bin("+", L.mul(L.Name(kept.loop.var), two), taken, "int64")
    note = L.Let(last.name, L.Select(L.Bin(op, m, v, "bool"), last, told, "int64"))
    block.insert(1 + max(L.place_in(block, put) for put in kept.puts), note)
    block[:] = [s for s in block if not any(s is put for put in kept.puts)]
    place = L.place_in(rows, kept.loop)
    rows.insert(place + 1, L.Store(chosen, (L.Name(kept.rows.var),), last))
    rows.insert(place, L.Let(last.name, L.mul(sweep.loop.stop, two)))
    made = L.Alloc(chosen, "int64", kept.allocs[0].sizes[:1])
    kept.home.insert(L.place_in(kept.home, kept.allocs[0]), made)
    kept.home[:] = [s for s in kept.home if not any(s is alloc for alloc in kept.allocs)]
    # Of each buffer one row is left, which the sweep makes.
    for name in names:
        without_axis(again, name, 0)
        without_axis(sweep.loop.body, name, 0)
    made_rows = [L.Alloc(a.name, a.dtype, a.sizes[1:]) for a in kept.allocs]
    kept.swept.body[:0] = made_rows
    sweep.chosen = L.Load(chosen, (L.Name(kept.swept.var),), "int64")
    sweep.again = again
    larger, smaller = kept.allocs if op == "<" else kept.allocs[::-1]
    for alloc, x in ((larger, 1), (smaller, 0)):
        sweep.stands_for[alloc.name] = L.Lit(x, alloc.dtype)
