"""Copy forwarding: loops read a copied or negated row from its source, on loop-level IR.

The adjoint of `a[:, j] -= q * r[j]` copies the adjoint of a row, computes a dot product with the
copy, and only then accumulates to the row:

    for i in range(n):                      for i in range(n):
        t[i] = -a_bar[j, i]                     t = -a_bar[j, i]
        acc = acc + t[i] * q[i]         →       acc = acc + t * q[i]
    for i in range(n):                      for i in range(n):
        a_bar[j, i] += acc * q[i]               t_1 = -a_bar[j, i]
        q_bar[i] += t[i] * r                    a_bar[j, i] += acc * q[i]
                                                q_bar[i] += t_1 * r

So `t` needs no memory.  The row must not change in between.  An iteration of the last loop may
change only the element of the row at its own index, after it has read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...ir.fixpoint import rewrites
from ...ir.record import record
from ..analysis.alias import MayAlias
from ..analysis.buffer_uses import Uses, collect_uses, depth_in_path
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


def forward_copies(body: list[L.Stmt], may_alias: MayAlias, new_name: Callable[[str], str]) -> None:
    """Rewrite `body` in place."""
    # The source of a copy may be a copy, too.
    for _ in rewrites("forward_copies"):
        if not _forward_one(body, may_alias, new_name):
            break


def _forward_one(body: list[L.Stmt], may_alias: MayAlias, new_name: Callable[[str], str]) -> bool:
    """Forward one copy; True if there was one."""
    for name, use in collect_uses(body).items():
        if use.has_other_uses or len(use.allocs) != 1:
            continue
        block, alloc = use.allocs[0]
        found = _find_copy(name, alloc, block, use, may_alias)
        if found is not None:
            for loop in found.loops:
                _replace_in_loop(loop, found, name, alloc.dtype, new_name)
            block[L.position_of(block, alloc)] = L.Comment("")
            return True
    return False


@record
class _Copy:
    """A copy and the loops over the same range that access it.

    The first loop makes the copy with the store `put`.  `row` is the load of the source element,
    and `expr` the copied value, both in terms of the first loop's variable.
    """

    loops: list[L.Loop]
    put: L.Store
    row: L.Load
    expr: L.Expr


def _find_copy(
    name: str, alloc: L.Alloc, block: list[L.Stmt], use: Uses, may_alias: MayAlias
) -> _Copy | None:
    """The copy that a buffer holds, if it can be forwarded, or None."""
    places: dict[int, L.Loop] = {}
    for path, index, _ in use.accesses:
        # Each access is directly in the body of a loop in the allocation's block.
        if depth_in_path(path, block) != len(path) - 2:
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
    # The last loop may change the copy: there it becomes a scalar that is not read later.
    (first, put), *others = puts
    if put.add or first != min(places) or any(at != max(places) for at, _ in others):
        return None
    loops = [places[at] for at in sorted(places)]
    bounds = {(loop.start, loop.stop, loop.step) for loop in loops}
    expr = _copied_value(put, loops[0])
    rows = [p for p in L.walk_expr(expr) if isinstance(p, L.Load)] if expr is not None else []
    if expr is None or len(bounds) != 1 or len(rows) != 1 or expr.dtype != alloc.dtype:
        return None
    between = block[first + 1 : max(places) + 1]
    if _is_source_invariant(loops, rows[0], between, may_alias):
        return _Copy(loops, put, rows[0], expr)
    return None


def _copied_value(put: L.Store, loop: L.Loop) -> L.Expr | None:
    """The copied value with the names of the iteration substituted by their definitions.

    None if it is not a load or a negated load.
    """
    before = loop.body[: L.position_of(loop.body, put)]
    inside = [name for s in L.walk(loop.body) for name in defs(s)]
    known = {s.name: s.expr for s in before if isinstance(s, L.Let) and inside.count(s.name) == 1}
    expr = put.expr
    while isinstance(expr, L.Name) and expr.name in known:
        expr = known[expr.name]
    if isinstance(expr, L.Un) and isinstance(expr.x, L.Name) and expr.x.name in known:
        expr = L.Un(expr.op, known[expr.x.name], expr.dtype)
    row = expr.x if isinstance(expr, L.Un) and expr.op == "-" else expr
    return expr if isinstance(row, L.Load) else None


def _is_source_invariant(
    loops: list[L.Loop], row: L.Load, between: list[L.Stmt], may_alias: MayAlias
) -> bool:
    """True if the row holds the same values wherever the copy is read.

    The row must be along the last axis, with loop-invariant indices at the other axes.  Nothing may
    write to it but the last loop, and only at the index of the current iteration.
    """
    first, last = loops[0], loops[-1]
    *outer, own = row.index
    if own != L.Name(first.var) or any(map(_contains_load, (*outer, first.start, first.stop))):
        return False
    names = names_in([*outer, first.start, first.stop, first.step]) | {row.buffer}
    inside = [*L.walk(first.body), *L.walk(between)]
    if first.var in names or any(name in names for s in inside for name in defs(s)):
        return False
    # An inner loop would access elements of other iterations; an early exit would skip some.
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


def _contains_load(e: L.Expr) -> bool:
    return any(isinstance(p, L.Load) for p in L.walk_expr(e))


def _writes(block: list[L.Stmt]) -> Iterator[tuple[L.Stmt, str]]:
    """The buffers that a block may write to, each with the statement that may write it."""
    for stmt in L.walk(block):
        if isinstance(stmt, L.Store):
            yield stmt, stmt.buffer
        for e in L.exprs_of(stmt):
            if isinstance(e, L.Subview):
                yield stmt, e.buffer


def _replace_in_loop(
    loop: L.Loop, found: _Copy, name: str, dtype: str, new_name: Callable[[str], str]
) -> None:
    """Define a scalar for the copy's element at the top of a loop and replace the copy by it."""
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
