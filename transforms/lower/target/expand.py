"""Runtime routines that have no kernel, written out as loops on loop-level IR.

`rt.gemm_at` becomes a loop nest, which is a grid with a sum inside of each thread.  `rt.reserve`
becomes a test, an allocation and a copy.
"""

from __future__ import annotations

from collections import Counter

from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L
from .symbols import Symbols


def expand_routines(
    body: list[L.Stmt], symbols: Symbols, bound: frozenset[str] | None = None
) -> None:
    """Rewrite `body` in place.  The views that it makes stand before the loops around.

    `bound` are the buffers that the routine binds itself.
    """
    if bound is None:
        bound = frozenset(symbols.buffers)
    out: list[L.Stmt] = []
    for s in body:
        for inner in L.blocks_of(s):
            expand_routines(inner, symbols, bound)
        if isinstance(s, L.Loop):
            views = [v for v in _invariant_views(s) if v.name not in bound]
            s.body = [q for q in s.body if all(q is not v for v in views)]
            out += views
        if isinstance(s, L.Call) and s.function == "rt.gemm_at":
            out += _gathered_product(s, symbols)
        elif isinstance(s, L.CallBuffers) and s.function == "rt.reserve":
            out += _reserve(s, symbols)
        else:
            out.append(s)
    body[:] = out


def _invariant_views(loop: L.Loop) -> list[L.View]:
    """The views in a loop of buffers that it does not bind."""
    times = Counter(name for s in L.walk([loop]) for name in defs(s))
    return [
        s
        for s in loop.body
        if isinstance(s, L.View)
        and times[s.name] == 1
        and not any(times[n] for n in (s.buffer, *names_in(s.sizes)))
    ]


def _gathered_product(s: L.Call, symbols: Symbols) -> list[L.Stmt]:
    """c = A @ b or c += A @ b, where A[i, p] is element rows[i] + columns[p] of `a`."""
    a, rows, columns, b, add, c = s.args
    assert all(isinstance(x, L.Subview) for x in (a, rows, columns, b, c))
    assert isinstance(a, L.Subview) and isinstance(b, L.Subview) and isinstance(c, L.Subview)
    assert isinstance(rows, L.Subview) and isinstance(columns, L.Subview)
    dtype, rank = symbols.buffers[a.buffer]
    flat = symbols.new_buffer(f"{a.buffer}_flat", dtype, 1)
    first: L.Expr = L.ZERO
    for axis in range(rank):
        i = a.index[axis] if axis < len(a.index) else L.ZERO
        first = L.add(L.mul(first, L.Size(a.buffer, axis)), i)
    size = L.product(tuple(L.Size(a.buffer, axis) for axis in range(rank)))
    i, j, p = (symbols.new_scalar(hint) for hint in ("row", "column", "term"))
    total = symbols.new_scalar("total", dtype)
    at = L.add(
        L.add(first, L.Load(rows.buffer, (i,), "int64")), L.Load(columns.buffer, (p,), "int64")
    )
    term = L.Bin("*", L.Load(flat, (at,), dtype), L.Load(b.buffer, (*b.index, p, j), dtype), dtype)
    is_sum = isinstance(add, L.Lit) and add.value
    nest = L.Loop(
        i.name, L.ZERO, L.Size(rows.buffer, 0), L.ONE,
        [L.Loop(
            j.name, L.ZERO, L.Size(c.buffer, len(c.index) + 1), L.ONE,
            [
                L.Let(total.name, L.Lit(0, dtype)),
                L.Loop(
                    p.name, L.ZERO, L.Size(columns.buffer, 0), L.ONE,
                    [L.Let(total.name, L.Bin("+", total, term, dtype))],
                ),
                L.Store(c.buffer, (*c.index, i, j), total, bool(is_sum)),
            ],
        )],
    )  # fmt: skip
    return [L.View(flat, a.buffer, (size,)), nest]


def _reserve(s: L.CallBuffers, symbols: Symbols) -> list[L.Stmt]:
    """A buffer with its first `used` elements and capacity for `more`."""
    (name,), (buffer, used, more) = s.names, s.args
    assert isinstance(buffer, L.Subview) and not isinstance(used, L.Subview)
    assert not isinstance(more, L.Subview)
    dtype, _ = symbols.buffers[buffer.buffer]
    longer = symbols.new_buffer(f"{name}_longer", dtype, 1)
    i = symbols.new_scalar("k")
    copy = L.Loop(
        i.name, L.ZERO, used, L.ONE, [L.Store(longer, (i,), L.Load(buffer.buffer, (i,), dtype))]
    )
    size = L.add(L.mul(L.add(used, more), L.lit(2)), L.lit(8))
    free = L.sub(L.Size(buffer.buffer, 0), used)
    grow: list[L.Stmt] = [L.Alloc(longer, dtype, (size,)), copy, L.Rebind(name, longer)]
    keep: list[L.Stmt] = [] if name == buffer.buffer else [L.Rebind(name, buffer.buffer)]
    return [L.If(L.compare(">", more, free), grow, keep)]
