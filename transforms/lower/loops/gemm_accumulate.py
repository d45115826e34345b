"""Fuse updates by a matrix product into gemm with beta = 1, on loop-level IR.

    rt.gemm(True, False, 1.0, x, d, 0.0, g)          rt.gemm(True, False, -rate, x, d, 1.0, w)
    for i in range(n):
        for j in range(m):                       →
            t[i, j] = w[i, j] - rate * g[i, j]
    for i in range(n):
        for j in range(m):
            w[i, j] = t[i, j]

The gradient of a weight is then never stored, and the weight is not read a second time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from ...ir.record import record
from ..analysis.alias import MayAlias
from ..analysis.footprint import Footprint, footprint
from ..loop_ir import nodes as L

# The sizes of the arrays that may be updated: they are contiguous and are never rebound.
Sizes = Mapping[str, tuple[L.Expr, ...]]


def fuse_gemm_accumulate(body: list[L.Stmt], sizes: Sizes, may_alias: MayAlias) -> None:
    """Rewrite `body` in place."""
    _rewrite_blocks(body, sizes, may_alias, _mentions(body))


# The number of occurrences of a buffer in each kind of statement or expression.
Mentions = Mapping[str, Counter[type]]


def _mentions(body: list[L.Stmt]) -> Mentions:
    out: dict[str, Counter[type]] = defaultdict(Counter)
    for stmt in L.walk(body):
        named = [getattr(stmt, field, None) for field in ("name", "buffer", "other")]
        for name in (*named, *getattr(stmt, "names", ())):
            if name is not None:
                out[name][type(stmt)] += 1
        for e in L.exprs_of(stmt):
            if isinstance(e, L.Subview):
                out[e.buffer][L.Subview] += 1
            for part in e.index if isinstance(e, L.Subview) else (e,):
                for p in L.walk_expr(part):
                    if isinstance(p, (L.Load, L.Size)):
                        out[p.buffer][type(p)] += 1
    return out


@record
class _Nest:
    """A perfect loop nest around a single store."""

    names: tuple[str, ...]
    stops: tuple[L.Expr, ...]
    store: L.Store

    def is_own_index(self, index: L.Index) -> bool:
        """True if an index consists of the loops' variables in order."""
        return index == tuple(map(L.Name, self.names))


def _nest(stmt: L.Stmt) -> _Nest | None:
    """Return a statement as a perfect nest that stores at the index of its loops' variables."""
    found = L.perfect_nest(stmt)
    if found is None:
        return None
    loops, store = found
    nest = _Nest(tuple(loop.var for loop in loops), tuple(loop.stop for loop in loops), store)
    return nest if nest.is_own_index(store.index) else None


def _rewrite_blocks(body: list[L.Stmt], sizes: Sizes, may_alias: MayAlias, count: Mentions) -> None:
    for stmt in body:
        for inner in L.blocks_of(stmt):
            _rewrite_blocks(inner, sizes, may_alias, count)
    _Block(body, sizes, may_alias, count).rewrite()


class _Block:
    """A block of statements, with the positions at which buffers are allocated and filled.

    In `stmts`, None replaces the statements that have been removed.
    """

    def __init__(
        self, body: list[L.Stmt], sizes: Sizes, may_alias: MayAlias, count: Mentions
    ) -> None:
        self.body, self.sizes, self.may_alias, self.count = body, sizes, may_alias, count
        self.stmts: list[L.Stmt | None] = list(body)
        self.footprints: dict[int, Footprint] = {}

    def rewrite(self) -> None:
        updates = [self._copy_to_updatable(position) for position in range(len(self.body))]
        if any(updates):
            self._survey()
            for update in updates:
                if update is not None:
                    self._update(*update)
            self.body[:] = [s for s in self.stmts if s is not None]

    def _copy_to_updatable(self, position: int) -> tuple[int, _Nest, str] | None:
        """Return position, nest and source of a nest that copies a buffer with no other use to an
        array that may be updated."""
        stmt = self.body[position]
        copy = _nest(stmt) if isinstance(stmt, L.Loop) else None
        if copy is None or copy.store.add or self.sizes.get(copy.store.buffer) != copy.stops:
            return None
        new = copy.store.expr
        if not (isinstance(new, L.Load) and copy.is_own_index(new.index)):
            return None
        return (
            (position, copy, new.buffer)
            if self._occurs_only_in(new.buffer, L.Store, L.Load)
            else None
        )

    def _survey(self) -> None:
        """Find the nests, matrix products and allocations of the block, by their buffers."""
        self.fills: dict[str, tuple[int, _Nest]] = {}
        self.products: dict[str, tuple[int, L.Call]] = {}
        self.allocs: dict[str, list[int]] = defaultdict(list)
        for position, stmt in enumerate(self.body):
            if isinstance(stmt, L.Alloc):
                self.allocs[stmt.name].append(position)
            elif isinstance(stmt, L.Call):
                c = stmt.args[-1]
                if isinstance(c, L.Subview) and _is_product(stmt, c.buffer):
                    self.products.setdefault(c.buffer, (position, stmt))
            elif isinstance(stmt, L.Loop):
                nest = _nest(stmt)
                if nest is not None and not nest.store.add:
                    self.fills.setdefault(nest.store.buffer, (position, nest))

    def _update(self, last: int, copy: _Nest, new: str) -> None:
        """Replace the update `w + f * (a @ b)` that the nest `copy` copies to w by a call of gemm,
        if `new` holds such an update and no statement in between interferes."""
        w = copy.store.buffer
        if new not in self.fills or self.fills[new][1].stops != copy.stops:
            return
        middle, nest = self.fills[new]
        found = _scaled(nest, w)
        if found is None or found[0] == w:
            return
        g, factor = found
        if g not in self.products or not self._occurs_only_in(g, L.Subview, L.Load):
            return
        start, product = self.products[g]
        if self._size_of(g) != copy.stops or not start < middle < last:
            return
        moved = Footprint()
        for part in (product, L.Let("", factor)):
            f = footprint(part)
            moved.reads |= f.reads
            moved.loads += f.loads
        if any(b == w or self.may_alias(b, w) for b, _ in moved.loads if b != g):
            return
        live = (*(b for b, _ in moved.loads), w)
        for position in range(start + 1, last):
            f = self._footprint(position)
            if f is None:
                continue
            if f.is_barrier or (position != middle and f.writes & moved.reads):
                return
            if any(self.may_alias(b, other) for b, _ in f.stores for other in live):
                return
        transpose_a, transpose_b, _, a, b, _, _ = product.args
        one = L.Lit(1, factor.dtype)
        update = L.Call("rt.gemm", (transpose_a, transpose_b, factor, a, b, one, L.Subview(w)))
        for position in (start, middle, *self.allocs[g], *self.allocs[new]):
            self.stmts[position] = None
        self.stmts[last] = update
        self.footprints.pop(last, None)

    def _footprint(self, position: int) -> Footprint | None:
        stmt = self.stmts[position]
        if stmt is None:
            return None
        if position not in self.footprints:
            self.footprints[position] = footprint(stmt)
        return self.footprints[position]

    def _occurs_only_in(self, buffer: str, *kinds: type) -> bool:
        """True if a buffer is allocated once, and occurs once in each of `kinds` and in no other
        kind of statement or expression."""
        return dict(self.count[buffer]) == dict.fromkeys((L.Alloc, *kinds), 1)

    def _size_of(self, buffer: str) -> tuple[L.Expr, ...] | None:
        for position in self.allocs[buffer][:1]:
            stmt = self.body[position]
            assert isinstance(stmt, L.Alloc)
            return stmt.sizes
        return None


def _is_product(stmt: L.Stmt, buffer: str) -> bool:
    """True for `buffer = a @ b`, with all of `buffer` stored."""
    return (
        isinstance(stmt, L.Call)
        and stmt.function == "rt.gemm"
        and stmt.args[-1] == L.Subview(buffer)
        and L.is_lit(stmt.args[2], 1)
        and L.is_lit(stmt.args[-2], 0)
    )


def _scaled(nest: _Nest, w: str) -> tuple[str, L.Expr] | None:
    """Return (g, f) of a nest that computes w + f * g."""
    e = nest.store.expr
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
    return isinstance(e, L.Load) and e.buffer == buffer and nest.is_own_index(e.index)


def _multiple(e: L.Expr, nest: _Nest) -> tuple[str, L.Expr] | None:
    """Return (g, f) if `e` is f * g with a loop-invariant f."""
    if isinstance(e, L.Load) and nest.is_own_index(e.index):
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
