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


def places(cx: Context, v: Value) -> Places | None:
    found = element(cx.em, v)
    if found is None:
        return None
    load, names = found
    if not isinstance(load, L.Load) or not cx.is_contiguous(load.buffer):
        return None
    axes = [affine(i, names) for i in load.index]
    known = tuple(a for a in axes if a is not None)
    return Places(load.buffer, known) if known and len(known) == len(axes) else None


def gains(cx: Context, view: Value, right: Value, k: int, dtype: str) -> bool:
    """Whether `view`, whose last `k` axes are summed over, is better read from where it lies: it
    would have to be copied, or the sums are short."""
    if dtype not in FLOATS or not view.dtype == right.dtype == dtype:
        return False
    if view.memory is None:
        return True
    summed = [cx.facts.canonical(d) for d in view.dims[view.ndim - k :]]
    few = all(d.is_const for d in summed) and math.prod(d.const for d in summed) <= FEW
    return view.is_buffer and few


def multiply(
    cx: Context, view: Value, where: Places, right: Value, k: int, dest: Value, add: bool = False
) -> None:
    """dest = view @ right, or dest += view @ right, over the last `k` axes of `view` and the first
    of `right`; `dest` lies in memory."""
    _Product(cx, view, where, right, k).write(dest, add)


def add_to(
    cx: Context, view: Value, where: Places, right: Value, k: int, dest: Value
) -> None:  # fmt: skip
    """dest += view @ right, wherever the elements of `dest` lie."""
    product = _Product(cx, view, where, right, k)
    if dest.is_buffer:
        product.write(dest, add=True)
    else:
        product.spread(dest)


class _Product:
    """A product of a view of `m` axes of rows and `k` of sums with `right`, of `k` and `n` axes.
    `loop` is the axis of the view that is a loop around it, if one is."""

    def __init__(self, cx: Context, view: Value, where: Places, right: Value, k: int) -> None:
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
        self.cx, self.view, self.where, self.m, self.k, self.n = cx, view, where, m, k, n
        self.tables = [
            self._table(name, [a for a in axes if a != self.loop])
            for name, axes in (("rows", range(m)), ("columns", range(m, m + k)))
        ]
        right = cx.materialise(right)
        self.right = joined(cx, right, (1, k - 1, n) if self.by_sums else (k, n))

    def write(self, dest: Value, add: bool) -> None:
        """To an array in memory."""
        if self.by_sums and not add:
            fill(self.cx.em, dest, lambda index: L.Lit(0, dest.dtype))
        c = joined(self.cx, dest, (1, self.m - 1, self.n) if self.by_rows else (self.m, self.n))
        with self._rounds() as index:
            self._call(index, c, index if self.by_rows else (), add or self.by_sums)

    def spread(self, dest: Value) -> None:
        """Added to an array that is itself a view, by way of one that holds a round of the loop."""
        cx, em = self.cx, self.cx.em
        first = 1 if self.by_rows else 0
        part = cx.allocate(em.fresh("t"), dest.dtype, dest.sizes[first:], dest.dims[first:])
        c = joined(cx, part, (self.m - first, self.n))
        if self.by_sums:
            fill(em, part, lambda index: L.Lit(0, dest.dtype))
        with self._rounds() as index:
            self._call(index, c, (), self.by_sums)
            if self.by_rows:
                self._add(part, dest, index)
        if not self.by_rows:
            self._add(part, dest, ())

    def _add(self, part: Value, dest: Value, lead: L.Index) -> None:
        with self.cx.em.nest(part.sizes) as index:
            put(self.cx.em, dest, (*lead, *index), part.at(self.cx.em, index), add=True)

    def _rounds(self) -> AbstractContextManager[L.Index]:
        return self.cx.em.nest(() if self.loop is None else (self.view.sizes[self.loop],))

    def _call(self, index: L.Index, c: Value, place: L.Index, add: bool) -> None:
        assert self.right.memory is not None and c.memory is not None
        start = self.where.axes[0].start
        a = L.Whole(self.where.buffer, tuple(L.add(i, start) for i in index))
        b = L.Whole(self.right.memory.name, index if self.by_sums else ())
        out = L.Whole(c.memory.name, place)
        self.cx.em.add(L.Do("rt.gemm_at", (a, *self.tables, b, L.lit(add, "bool"), out)))

    def _table(self, name: str, axes: list[int]) -> L.Whole:
        """Where the axes of rows, or columns, together lead to, in C order.  What all elements have
        in common counts for the rows."""
        cx, em = self.cx, self.cx.em
        sizes = tuple(self.view.sizes[a] for a in axes)
        table = cx.allocate(em.fresh(name), "int64", (L.product(sizes),), (cx.fresh_dim(),))
        with em.nest(sizes) as index:
            at = dict(zip(axes, index, strict=True))
            full = tuple(at.get(a, L.ZERO) for a in range(self.view.ndim))
            place: L.Expr = L.ZERO
            for axis, a in enumerate(self.where.axes):
                common = name == "rows" and not (axis == 0 and self.loop is not None)
                here = replace(a, start=a.start if common else L.ZERO).at(full)
                place = L.add(L.mul(place, cx.size_of_buffer(self.where.buffer, axis)), here)
            flat: L.Expr = L.ZERO
            for i, size in zip(index, sizes, strict=True):
                flat = L.add(L.mul(flat, size), i)
            put(em, table, (flat,), place)
        return table.whole()


def _reordered(a: Affine, m: int, order: list[int]) -> Affine:
    return replace(a, steps=(*a.steps[:m], *(a.steps[m + k] for k in order)))
