"""Loops around a matrix product as one product of many matrices.

for i in range(batch):
    for j in range(heads):                  gemm_batched(…, batch * heads, step of q,
        rt.gemm(…, q[i, j], k[i, j],    →                step of k, step of s)
                …, s[i, j])
"""

from __future__ import annotations

from ...ir.record import record, replace
from ..analysis.alias import MayAlias
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L


@record
class BatchedProduct:
    """A matrix product for each of `count` iterations.  `strided` has one entry per operand:
    whether it has one matrix per iteration, consecutive in memory; otherwise all iterations read
    the same one.

    The indices of the operands in `call` are those of the first matrix.
    """

    call: L.Call
    count: L.Expr
    strided: tuple[bool, bool, bool]


def batched_product(
    loop: L.Loop, sizes: dict[str, tuple[L.Expr, ...]], may_alias: MayAlias
) -> BatchedProduct | None:
    """A nest around a matrix product as one batched product, or None.  `sizes` are the sizes of the
    buffers that are allocated once."""
    loops: list[L.Loop] = [loop]
    while True:
        inside = [s for s in loops[-1].body if not isinstance(s, L.Comment)]
        if len(inside) != 1:
            return None
        (stmt,) = inside
        if isinstance(stmt, L.Call):
            break
        if not isinstance(stmt, L.Loop) or names_in(L.exprs_of(stmt)) & {x.var for x in loops}:
            return None
        loops.append(stmt)
    if not all(L.is_lit(x.start, 0) and L.is_lit(x.step, 1) for x in loops):
        return None
    if stmt.function != "rt.gemm":
        return None
    swap_a, swap_b, alpha, a, b, beta, c = stmt.args
    assert isinstance(a, L.Subview) and isinstance(b, L.Subview) and isinstance(c, L.Subview)
    variables = {x.var for x in loops}
    if names_in([swap_a, swap_b, alpha, beta]) & variables:
        return None
    if any(may_alias(c.buffer, other.buffer) for other in (a, b)):
        return None
    firsts: list[L.Subview] = []
    strided: list[bool] = []
    for operand in (a, b, c):
        first = _first_matrix(operand, loops, sizes)
        if first is None:
            return None
        firsts.append(first)
        strided.append(first != operand)
    if not strided[2]:
        return None
    call = replace(stmt, args=(swap_a, swap_b, alpha, firsts[0], firsts[1], beta, firsts[2]))
    count = L.product(tuple(L.clamp_to_zero(x.stop) for x in loops))
    return BatchedProduct(call, count, (strided[0], strided[1], strided[2]))


def _first_matrix(
    a: L.Subview, loops: list[L.Loop], sizes: dict[str, tuple[L.Expr, ...]]
) -> L.Subview | None:
    """An operand at the first iteration, if its matrices follow each other in memory or if it does
    not depend on the loops; otherwise None."""
    variables = [L.Name(x.var) for x in loops]
    if not names_in(a.index) & {x.var for x in loops}:
        return a
    lead, last = a.index[: -len(loops)], list(a.index[-len(loops) :])
    if len(last) != len(loops) or last != variables or names_in(lead) & {x.var for x in loops}:
        return None
    known = sizes.get(a.buffer)
    for position, inner in enumerate(loops[1:], len(lead) + 1):
        size = L.Size(a.buffer, position)
        if inner.stop != size and (known is None or known[position] != inner.stop):
            return None
    return L.Subview(a.buffer, (*lead, *(L.ZERO for _ in loops)))


def single_allocations(body: list[L.Stmt]) -> dict[str, tuple[L.Expr, ...]]:
    """The sizes of the buffers that have one definition, whose sizes have one as well."""
    times: dict[str, int] = {}
    for s in L.walk(body):
        for name in defs(s):
            times[name] = times.get(name, 0) + 1
    return {
        s.name: s.sizes
        for s in L.walk(body)
        if isinstance(s, L.Alloc)
        and all(times.get(n, 0) <= 1 for n in (s.name, *names_in(s.sizes)))
    }
