"""Updates by a product of matrices go through gemm's own accumulation, on loop-level IR.

    rt.gemm(True, False, 1.0, x, d, 0.0, g)          rt.gemm(True, False, -rate, x, d, 1.0, w)
    for i in range(n):
        for j in range(m):                       →
            t[i, j] = w[i, j] - rate * g[i, j]
    for i in range(n):
        for j in range(m):
            w[i, j] = t[i, j]

The gradient of a weight is then never written down, nor is the weight read a second time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from . import loop_ir as L
from .siblings import Footprint, Shares, footprint

# The sizes of the arrays that may be updated: contiguous, and not to be bound anew.
Sizes = Mapping[str, tuple[L.Expr, ...]]


def accumulate(body: list[L.Stmt], sizes: Sizes, shares: Shares) -> None:
    """Rewrites `body` in place."""
    _block(body, sizes, shares, _mentions(body))


def _mentions(body: list[L.Stmt]) -> Counter[tuple[str, type]]:
    """How often each buffer occurs in each kind of statement or expression."""
    out: Counter[tuple[str, type]] = Counter()
    for stmt in L.walk(body):
        named = [getattr(stmt, field, None) for field in ("name", "buffer", "other")]
        for name in (*named, *getattr(stmt, "names", ())):
            if name is not None:
                out[name, type(stmt)] += 1
        for e in L.exprs_of(stmt):
            if isinstance(e, L.Whole):
                out[e.buffer, L.Whole] += 1
            for part in e.index if isinstance(e, L.Whole) else (e,):
                for p in L.walk_expr(part):
                    if isinstance(p, (L.Load, L.Size)):
                        out[p.buffer, type(p)] += 1
    return out


@dataclass
class _Nest:
    """A perfect nest with a single assignment to an element."""

    names: tuple[str, ...]
    stops: tuple[L.Expr, ...]
    put: L.Put

    def at_own(self, index: L.Index) -> bool:
        return index == tuple(map(L.Name, self.names))


def _nest(stmt: L.Stmt) -> _Nest | None:
    found = L.perfect_nest(stmt)
    if found is None:
        return None
    loops, put = found
    nest = _Nest(tuple(loop.var for loop in loops), tuple(loop.stop for loop in loops), put)
    return nest if nest.at_own(put.index) else None


def _block(
    body: list[L.Stmt], sizes: Sizes, shares: Shares, count: Counter[tuple[str, type]]
) -> None:
    for stmt in body:
        for inner in L.blocks_of(stmt):
            _block(inner, sizes, shares, count)
    for last in [s for s in body if isinstance(s, L.Loop)]:
        _update(body, last, sizes, shares, count)


def _update(
    body: list[L.Stmt],
    last: L.Loop,
    sizes: Sizes,
    shares: Shares,
    count: Counter[tuple[str, type]],
) -> None:
    """Replaces the update that ends in the nest `last`, if there is one."""
    copy = _nest(last)
    if copy is None or copy.put.add or sizes.get(copy.put.buffer) != copy.stops:
        return
    w, new = copy.put.buffer, copy.put.expr
    if not (isinstance(new, L.Load) and copy.at_own(new.index)):
        return
    made = _nest_that_fills(body, new.buffer)
    if made is None or made[1].stops != copy.stops or not _only(count, new.buffer, L.Put, L.Load):
        return
    middle, nest = made
    found = _scaled(nest, w)
    if found is None or found[0] == w:
        return
    g, factor = found
    product = next((s for s in body if _is_product(s, g)), None)
    if not isinstance(product, L.Do) or not _only(count, g, L.Whole, L.Load):
        return
    if _size_of(body, g) != copy.stops:
        return
    start, end = body.index(product), body.index(last)
    if not start < body.index(middle) < end:
        return
    moved = Footprint()
    for part in (product, L.Let("", factor)):
        f = footprint(part)
        moved.reads |= f.reads
        moved.loads += f.loads
    if any(buffer == w or shares(buffer, w) for buffer, _ in moved.loads if buffer != g):
        return
    loaded = [b for b, _ in moved.loads]
    for stmt in body[start + 1 : end]:
        f = footprint(stmt)
        if f.fixed or (stmt is not middle and f.writes & moved.reads):
            return
        if any(shares(b, other) for b, _ in f.stores for other in (*loaded, w)):
            return
    swap_a, swap_b, _, a, b, _, _ = product.args
    one = L.Lit(1, factor.dtype)
    update = L.Do("rt.gemm", (swap_a, swap_b, factor, a, b, one, L.Whole(w)))
    gone = {id(product), id(middle)}
    gone |= {id(s) for s in body if isinstance(s, L.Alloc) and s.name in (g, new.buffer)}
    body[:] = [update if s is last else s for s in body if id(s) not in gone]


def _only(count: Counter[tuple[str, type]], buffer: str, *kinds: type) -> bool:
    """Allocated once, and mentioned once in each of these ways and in no other."""
    return {k: n for (b, k), n in count.items() if b == buffer} == dict.fromkeys(
        (L.Alloc, *kinds), 1
    )


def _nest_that_fills(body: list[L.Stmt], buffer: str) -> tuple[L.Stmt, _Nest] | None:
    for stmt in body:
        nest = _nest(stmt)
        if nest is not None and nest.put.buffer == buffer and not nest.put.add:
            return stmt, nest
    return None


def _size_of(body: list[L.Stmt], buffer: str) -> tuple[L.Expr, ...] | None:
    return next((s.sizes for s in body if isinstance(s, L.Alloc) and s.name == buffer), None)


def _is_product(stmt: L.Stmt, buffer: str) -> bool:
    """`buffer = a @ b` in all of it."""
    return (
        isinstance(stmt, L.Do)
        and stmt.function == "rt.gemm"
        and stmt.args[-1] == L.Whole(buffer)
        and L.is_lit(stmt.args[2], 1)
        and L.is_lit(stmt.args[-2], 0)
    )


def _scaled(nest: _Nest, w: str) -> tuple[str, L.Expr] | None:
    """(g, f) of a nest that computes w + f * g."""
    e = nest.put.expr
    if not isinstance(e, L.Bin) or e.op not in "+-":
        return None
    own, other = e.left, e.right
    if e.op == "+" and not _is_element(own, w, nest):
        own, other = other, own
    if not _is_element(own, w, nest):
        return None
    found = _multiple(other, nest)
    if found is None or e.op == "+":
        return found
    return found[0], L.Un("-", found[1], e.dtype)


def _is_element(e: L.Expr, buffer: str, nest: _Nest) -> bool:
    return isinstance(e, L.Load) and e.buffer == buffer and nest.at_own(e.index)


def _multiple(e: L.Expr, nest: _Nest) -> tuple[str, L.Expr] | None:
    if isinstance(e, L.Load) and nest.at_own(e.index):
        return e.buffer, L.Lit(1, e.dtype)
    if isinstance(e, L.Un) and e.op == "-":
        found = _multiple(e.x, nest)
        return found and (found[0], L.Un("-", found[1], e.dtype))
    if isinstance(e, L.Bin) and e.op == "*":
        for factor, rest in ((e.left, e.right), (e.right, e.left)):
            found = None if _reads(factor, nest.names) else _multiple(rest, nest)
            if found is not None:
                one = L.is_lit(found[1], 1)
                return found[0], factor if one else L.Bin("*", factor, found[1], e.dtype)
    return None


def _reads(e: L.Expr, names: tuple[str, ...]) -> bool:
    return any(isinstance(p, L.Name) and p.name in names for p in L.walk_expr(e))
