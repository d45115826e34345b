"""A copy of a row, or its opposite, that a later loop reads is read from the row, on loop-level IR.

The adjoint of `a[:, j] -= q * r[j]` takes what has come to a row, sums it up with another, and
only then adds to the row:

    for i in range(n):                      for i in range(n):
        t[i] = -a_bar[j, i]                     t = -a_bar[j, i]
        acc = acc + t[i] * q[i]         →       acc = acc + t * q[i]
    for i in range(n):                      for i in range(n):
        a_bar[j, i] += acc * q[i]               t_1 = -a_bar[j, i]
        q_bar[i] += t[i] * r                    a_bar[j, i] += acc * q[i]
                                                q_bar[i] += t_1 * r

So `t` needs no memory.  The row must not change in between, and the later loop may change no
element of it but its own, which it has read before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...ir.fixpoint import rewrites
from ...ir.record import record
from ..analysis.alias import MayAlias
from ..analysis.buffer_uses import Uses, level_of, survey
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


def forward_copies(body: list[L.Stmt], may_alias: MayAlias, new_name: Callable[[str], str]) -> None:
    """Rewrites `body` in place."""
    # What is read in the place of a copy may be one, too.
    for _ in rewrites("read_in_place"):
        if not _read_one(body, may_alias, new_name):
            break


def _read_one(body: list[L.Stmt], may_alias: MayAlias, new_name: Callable[[str], str]) -> bool:
    for name, use in survey(body).items():
        if use.odd or len(use.allocs) != 1:
            continue
        block, alloc = use.allocs[0]
        found = _copy(name, alloc, block, use, may_alias)
        if found is not None:
            for loop in found.loops:
                _read(loop, found, name, alloc.dtype, new_name)
            block[L.place_in(block, alloc)] = L.Comment("")
            return True
    return False


@record
class _Copied:
    """Loops over the same range: the first copies, all read the copy.  `row` is where the element
    of a round lies, and `expr` what the copy holds, in terms of the first loop's variable."""

    loops: list[L.Loop]
    put: L.Store
    row: L.Load
    expr: L.Expr


def _copy(
    name: str, alloc: L.Alloc, block: list[L.Stmt], use: Uses, may_alias: MayAlias
) -> _Copied | None:
    """What a buffer holds, if it is such a copy and need not be made."""
    places: dict[int, L.Loop] = {}
    for path, index, _ in use.accesses:
        # Each access stands right in a loop of the block that makes the buffer.
        if level_of(path, block) != len(path) - 2:
            return None
        at = path[-2][1]
        loop = block[at]
        if not isinstance(loop, L.Loop) or loop.parallel or index != (L.Name(loop.var),):
            return None
        places[at] = loop
    puts = [
        (at, s)
        for at, loop in sorted(places.items())
        for s in loop.body
        if isinstance(s, L.Store) and s.buffer == name
    ]
    if not puts or len(places) < 2:
        return None
    # In the last loop the copy may change: it is a number there that nobody reads later.
    (first, put), *others = puts
    if put.add or first != min(places) or any(at != max(places) for at, _ in others):
        return None
    loops = [places[at] for at in sorted(places)]
    bounds = {(loop.start, loop.stop, loop.step) for loop in loops}
    expr = _spelled_out(put, loops[0])
    rows = [p for p in L.walk_expr(expr) if isinstance(p, L.Load)] if expr is not None else []
    if expr is None or len(bounds) != 1 or len(rows) != 1 or expr.dtype != alloc.dtype:
        return None
    between = block[first + 1 : max(places) + 1]
    if _lies_still(loops, rows[0], between, may_alias):
        return _Copied(loops, put, rows[0], expr)
    return None


def _spelled_out(put: L.Store, loop: L.Loop) -> L.Expr | None:
    """What is copied, without the names that stand for numbers of the round; None if that takes
    more than a sign."""
    before = loop.body[: L.place_in(loop.body, put)]
    inside = [name for s in L.walk(loop.body) for name in defs(s)]
    known = {s.name: s.expr for s in before if isinstance(s, L.Let) and inside.count(s.name) == 1}
    expr = put.expr
    while isinstance(expr, L.Name) and expr.name in known:
        expr = known[expr.name]
    if isinstance(expr, L.Un) and isinstance(expr.x, L.Name) and expr.x.name in known:
        expr = L.Un(expr.op, known[expr.x.name], expr.dtype)
    row = expr.x if isinstance(expr, L.Un) and expr.op == "-" else expr
    return expr if isinstance(row, L.Load) else None


def _lies_still(
    loops: list[L.Loop], row: L.Load, between: list[L.Stmt], may_alias: MayAlias
) -> bool:
    """Whether the row is the same wherever the copy is read: it is in one piece, at a place that
    stays, and nothing writes to it but the last loop, to its own element."""
    first, last = loops[0], loops[-1]
    *outer, own = row.index
    if own != L.Name(first.var) or any(map(_is_loaded, (*outer, first.start, first.stop))):
        return False
    names = names_in([*outer, first.start, first.stop, first.step]) | {row.buffer}
    inside = [*L.walk(first.body), *L.walk(between)]
    if first.var in names or any(name in names for s in inside for name in defs(s)):
        return False
    # A loop inside would come to elements of other rounds; one that ends early, to fewer.
    odd = (L.Loop, L.While, L.Break)
    if any(isinstance(s, odd) for loop in loops for s in L.walk(loop.body)):
        return False
    place = (*outer, L.Name(last.var))
    for stmt, its in _writes([first, *between]):
        if not may_alias(its, row.buffer):
            continue
        in_last = any(stmt is s for s in last.body)
        if not in_last or not isinstance(stmt, L.Store):
            return False
        if stmt.buffer != row.buffer or stmt.index != place:
            return False
    return True


def _is_loaded(e: L.Expr) -> bool:
    return any(isinstance(p, L.Load) for p in L.walk_expr(e))


def _writes(block: list[L.Stmt]) -> Iterator[tuple[L.Stmt, str]]:
    """The buffers that a block may write to, each with the statement that may."""
    for stmt in L.walk(block):
        if isinstance(stmt, L.Store):
            yield stmt, stmt.buffer
        for e in L.exprs_of(stmt):
            if isinstance(e, L.Part):
                yield stmt, e.buffer


def _read(
    loop: L.Loop, found: _Copied, name: str, dtype: str, new_name: Callable[[str], str]
) -> None:
    """Gives the copy's element a name in a loop, at first, and puts that in place of the copy."""
    own, index = L.Name(new_name(name), dtype), (*found.row.index[:-1], L.Name(loop.var))
    row = L.Load(found.row.buffer, index, found.row.dtype)
    expr = L.map_expr(found.expr, lambda e: row if e is found.row else None)
    loop.body[:] = [s for s in loop.body if s is not found.put]
    L.map_stmts(loop.body, lambda e: own if isinstance(e, L.Load) and e.buffer == name else None)
    for k, s in enumerate(loop.body):
        if isinstance(s, L.Store) and s.buffer == name:
            value = L.Bin("+", own, s.expr, dtype) if s.add else s.expr
            loop.body[k] = L.Let(own.name, value)
    loop.body.insert(0, L.Let(own.name, expr))
