"""Products of a view, such as the windows of an image, with a matrix, without a copy of the view.

    for i in range(samples):
        rt.gemm_at(x[i], rows, columns, kernel, False, out[i])

Where element (r, c) of such a matrix lies is the sum of two numbers, one for its row and one for
its column: `x[i, 2 * h + k, w + l, c]` is a matrix with rows (h, w) and columns (k, l, c).  Two
short tables hold these numbers.  The first axis of the rows, or else of the columns, is a loop
around the product where it is the first of the array in memory, too: tables are shorter for it,
and what they lead to stays in the cache.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

from ...ir.record import record, replace
from ..build.affine_array import Affine, affine, element
from ..build.context import Context
from ..build.lazy_array import Value, fill, put
from ..loop_ir import nodes as L
from .view import joined, transpose

# Sums of so few products are not what BLAS is made for.
FEW = 32
FLOATS = ("float32", "float64")


@record(frozen=True)
class Places:
    """Where the elements of a view lie in a contiguous buffer: the index of each axis of the
    buffer as a function of the view's index."""

    buffer: str
    axes: tuple[Affine, ...]

    def begins_with(self, axis: int) -> bool:
        """Whether this axis of the view is the first of the buffer, and nothing else."""
        first, *rest = self.axes
        others = [s for k, s in enumerate(first.steps) if k != axis]
        others += [a.steps[axis] for a in rest]
        return L.is_lit(first.steps[axis], 1) and all(L.is_lit(s, 0) for s in others)


def places(ctx: Context, v: Value) -> Places | None:
    found = element(ctx.emitter, v)
    if found is None:
        return None
    load, names = found
    if not isinstance(load, L.Load) or not ctx.is_contiguous(load.buffer):
        return None
    axes = [affine(i, names) for i in load.index]
    known = tuple(a for a in axes if a is not None)
    return Places(load.buffer, known) if known and len(known) == len(axes) else None


def gains(ctx: Context, view: Value, right: Value, k: int, dtype: str) -> bool:
    """Whether `view`, whose last `k` axes are summed over, is better read from where it lies: it
    would have to be copied, or the sums are short."""
    if dtype not in FLOATS or not view.dtype == right.dtype == dtype:
        return False
    if view.memory is None:
        return True
    summed = [ctx.facts.canonical(d) for d in view.dims[view.ndim - k :]]
    few = all(d.is_const for d in summed) and math.prod(d.const for d in summed) <= FEW
    return view.is_buffer and few


def multiply(
    ctx: Context, view: Value, where: Places, right: Value, k: int, dest: Value, add: bool = False
) -> None:
    """dest = view @ right, or dest += view @ right, over the last `k` axes of `view` and the first
    of `right`; `dest` lies in memory."""
    _Product(ctx, view, where, right, k).write(dest, add)


def add_to(
    ctx: Context, view: Value, where: Places, right: Value, k: int, dest: Value
) -> None:  # fmt: skip
    """dest += view @ right, wherever the elements of `dest` lie."""
    product = _Product(ctx, view, where, right, k)
    if dest.is_buffer:
        product.write(dest, add=True)
    else:
        product.spread(dest)


class _Product:
    """A product of a view of `m` axes of rows and `k` of sums with `right`, of `k` and `n` axes.
    `loop` is the axis of the view that is a loop around it, if one is."""

    def __init__(self, ctx: Context, view: Value, where: Places, right: Value, k: int) -> None:
        m, n = view.ndim - k, right.ndim - k
        # In the order in which the sums go through `right` in memory; for a view all are alike.
        if right.memory is not None:
            order = sorted(range(k), key=right.memory.axes.__getitem__)
            view = transpose(view, (*range(m), *(m + a for a in order)))
            right = transpose(right, (*order, *range(k, k + n)))
            where = replace(where, axes=tuple(_reordered(a, m, order) for a in where.axes))
        loops = (a for a, few in ((0, m), (m, k)) if few > 1 and where.begins_with(a))
        self.loop = next(loops, None)
        self.by_rows, self.by_sums = self.loop == 0, self.loop == m
        self.ctx, self.view, self.where, self.m, self.k, self.n = ctx, view, where, m, k, n
        self.tables = [
            self._table(name, [a for a in axes if a != self.loop])
            for name, axes in (("rows", range(m)), ("columns", range(m, m + k)))
        ]
        right = ctx.materialise(right)
        self.right = joined(ctx, right, (1, k - 1, n) if self.by_sums else (k, n))

    def write(self, dest: Value, add: bool) -> None:
        """To an array in memory."""
        if self.by_sums and not add:
            fill(self.ctx.emitter, dest, lambda index: L.Lit(0, dest.dtype))
        c = joined(self.ctx, dest, (1, self.m - 1, self.n) if self.by_rows else (self.m, self.n))
        with self._rounds() as index:
            self._call(index, c, index if self.by_rows else (), add or self.by_sums)

    def spread(self, dest: Value) -> None:
        """Added to an array that is itself a view, by way of one that holds a round of the loop."""
        ctx, emitter = self.ctx, self.ctx.emitter
        first = 1 if self.by_rows else 0
        part = ctx.allocate(
            emitter.new_name("t"), dest.dtype, dest.sizes[first:], dest.dims[first:]
        )
        c = joined(ctx, part, (self.m - first, self.n))
        if self.by_sums:
            fill(emitter, part, lambda index: L.Lit(0, dest.dtype))
        with self._rounds() as index:
            self._call(index, c, (), self.by_sums)
            if self.by_rows:
                self._add(part, dest, index)
        if not self.by_rows:
            self._add(part, dest, ())

    def _add(self, part: Value, dest: Value, lead: L.Index) -> None:
        with self.ctx.emitter.nest(part.sizes) as index:
            put(self.ctx.emitter, dest, (*lead, *index), part.at(self.ctx.emitter, index), add=True)

    def _rounds(self) -> AbstractContextManager[L.Index]:
        return self.ctx.emitter.nest(() if self.loop is None else (self.view.sizes[self.loop],))

    def _call(self, index: L.Index, c: Value, place: L.Index, add: bool) -> None:
        assert self.right.memory is not None and c.memory is not None
        start = self.where.axes[0].start
        a = L.Part(self.where.buffer, tuple(L.add(i, start) for i in index))
        b = L.Part(self.right.memory.name, index if self.by_sums else ())
        out = L.Part(c.memory.name, place)
        self.ctx.emitter.add(L.Call("rt.gemm_at", (a, *self.tables, b, L.lit(add, "bool"), out)))

    def _table(self, name: str, axes: list[int]) -> L.Part:
        """Where the axes of rows, or columns, together lead to, in C order.  What all elements have
        in common counts for the rows."""
        ctx, emitter = self.ctx, self.ctx.emitter
        sizes = tuple(self.view.sizes[a] for a in axes)
        table = ctx.allocate(
            emitter.new_name(name), "int64", (L.product(sizes),), (ctx.fresh_dim(),)
        )
        with emitter.nest(sizes) as index:
            at = dict(zip(axes, index, strict=True))
            full = tuple(at.get(a, L.ZERO) for a in range(self.view.ndim))
            place: L.Expr = L.ZERO
            for axis, a in enumerate(self.where.axes):
                common = name == "rows" and not (axis == 0 and self.loop is not None)
                here = replace(a, start=a.start if common else L.ZERO).at(full)
                place = L.add(L.mul(place, ctx.size_of_buffer(self.where.buffer, axis)), here)
            flat: L.Expr = L.ZERO
            for i, size in zip(index, sizes, strict=True):
                flat = L.add(L.mul(flat, size), i)
            put(emitter, table, (flat,), place)
        return table.whole()


def _reordered(a: Affine, m: int, order: list[int]) -> Affine:
    return replace(a, steps=(*a.steps[:m], *(a.steps[m + k] for k in order)))
