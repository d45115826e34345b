"""Matrix products with a strided view, such as the windows of an image, without copying the view.

    for i in range(samples):
        rt.gemm_at(x[i], rows, columns, kernel, False, out[i])

The offset of element (r, c) of such a matrix is the sum of a row offset and a column offset:
`x[i, 2 * h + k, w + l, c]` is a matrix with rows (h, w) and columns (k, l, c).  Two short offset
tables hold them, as in an implicit im2col.  The first axis of the rows, or else of the columns,
becomes a loop around the product if it is also the first axis of the array in memory.  The tables
are then shorter, and the elements of one iteration stay in the cache.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

from ...ir.record import record, replace
from ..build.affine_array import Affine, as_affine, symbolic_element
from ..build.context import Context
from ..build.lazy_array import Value, fill, store_element
from ..loop_ir import nodes as L
from .view import collapse_axes, transpose

# Maximum length of a sum of products that is read in place although BLAS could read the operand:
# BLAS is inefficient for such short sums.
MAX_SHORT_SUM = 32
FLOATS = ("float32", "float64")


@record(frozen=True)
class ViewAccess:
    """The access function of a view of a contiguous buffer.

    `axes` holds the index along each axis of the buffer as an affine function of the view's index.
    """

    buffer: str
    axes: tuple[Affine, ...]

    def begins_with(self, axis: int) -> bool:
        """True if this axis of the view has stride 1 along the first axis of the buffer.

        The first axis of the buffer then depends on no other axis of the view, and the axis
        indexes no other axis of the buffer.
        """
        first, *rest = self.axes
        others = [s for k, s in enumerate(first.steps) if k != axis]
        others += [a.steps[axis] for a in rest]
        return L.is_lit(first.steps[axis], 1) and all(L.is_lit(s, 0) for s in others)


def view_access(ctx: Context, v: Value) -> ViewAccess | None:
    """The access function of `v`; None unless it is an affine view of a contiguous buffer."""
    found = symbolic_element(ctx.emitter, v)
    if found is None:
        return None
    load, names = found
    if not isinstance(load, L.Load) or not ctx.is_contiguous(load.buffer):
        return None
    axes = [as_affine(i, names) for i in load.index]
    known = tuple(a for a in axes if a is not None)
    return ViewAccess(load.buffer, known) if known and len(known) == len(axes) else None


def is_profitable(ctx: Context, view: Value, right: Value, k: int, dtype: str) -> bool:
    """True if reading `view`, whose last `k` axes are summed over, in place is profitable.

    That is so if it would have to be copied otherwise, or if the sums are short.
    """
    if dtype not in FLOATS or not view.dtype == right.dtype == dtype:
        return False
    if view.memory is None:
        return True
    summed = [ctx.facts.canonical(d) for d in view.dims[view.ndim - k :]]
    short = all(d.is_const for d in summed) and math.prod(d.const for d in summed) <= MAX_SHORT_SUM
    return view.is_buffer and short


def multiply(
    ctx: Context,
    view: Value,
    where: ViewAccess,
    right: Value,
    k: int,
    dest: Value,
    add: bool = False,
) -> None:
    """Emit dest = view @ right, or dest += view @ right.

    The sums run over the last `k` axes of `view` and the first `k` of `right`.  `dest` lies in
    memory.
    """
    _Product(ctx, view, where, right, k).write(dest, add)


def add_to(
    ctx: Context, view: Value, where: ViewAccess, right: Value, k: int, dest: Value
) -> None:  # fmt: skip
    """Emit dest += view @ right, where `dest` may itself be a view."""
    product = _Product(ctx, view, where, right, k)
    if dest.is_buffer:
        product.write(dest, add=True)
    else:
        product.spread(dest)


class _Product:
    """A product of a view, with `m` row axes and `k` summed axes, and `right`, with `k` and `n`.

    `loop` is the axis of the view that becomes a loop around the product, or None.  `by_rows` and
    `by_sums` tell whether it is a row axis or a summed axis.
    """

    def __init__(self, ctx: Context, view: Value, where: ViewAccess, right: Value, k: int) -> None:
        m, n = view.ndim - k, right.ndim - k
        # Order the summed axes as they lie in `right` in memory.  For the view, read through a
        # table, the order is irrelevant.
        if right.memory is not None:
            order = sorted(range(k), key=right.memory.axes.__getitem__)
            view = transpose(view, (*range(m), *(m + a for a in order)))
            right = transpose(right, (*order, *range(k, k + n)))
            where = replace(where, axes=tuple(_reordered(a, m, order) for a in where.axes))
        loops = (a for a, count in ((0, m), (m, k)) if count > 1 and where.begins_with(a))
        self.loop = next(loops, None)
        self.by_rows, self.by_sums = self.loop == 0, self.loop == m
        self.ctx, self.view, self.where, self.m, self.k, self.n = ctx, view, where, m, k, n
        self.tables = [
            self._table(name, [a for a in axes if a != self.loop])
            for name, axes in (("rows", range(m)), ("columns", range(m, m + k)))
        ]
        right = ctx.materialise(right)
        self.right = collapse_axes(ctx, right, (1, k - 1, n) if self.by_sums else (k, n))

    def write(self, dest: Value, add: bool) -> None:
        """Write the product to an array in memory, or add it."""
        if self.by_sums and not add:
            fill(self.ctx.emitter, dest, lambda index: L.Lit(0, dest.dtype))
        c = collapse_axes(
            self.ctx, dest, (1, self.m - 1, self.n) if self.by_rows else (self.m, self.n)
        )
        with self._outer_loop() as index:
            self._call(index, c, index if self.by_rows else (), add or self.by_sums)

    def spread(self, dest: Value) -> None:
        """Add the product to a view, through a buffer that holds one iteration of the loop."""
        ctx, emitter = self.ctx, self.ctx.emitter
        first = 1 if self.by_rows else 0
        part = ctx.allocate(
            emitter.new_name("t"), dest.dtype, dest.sizes[first:], dest.dims[first:]
        )
        c = collapse_axes(ctx, part, (self.m - first, self.n))
        if self.by_sums:
            fill(emitter, part, lambda index: L.Lit(0, dest.dtype))
        with self._outer_loop() as index:
            self._call(index, c, (), self.by_sums)
            if self.by_rows:
                self._add(part, dest, index)
        if not self.by_rows:
            self._add(part, dest, ())

    def _add(self, part: Value, dest: Value, lead: L.Index) -> None:
        """Add `part` to the sub-array of `dest` at the leading index `lead`."""
        with self.ctx.emitter.nest(part.sizes) as index:
            store_element(
                self.ctx.emitter, dest, (*lead, *index), part.at(self.ctx.emitter, index), add=True
            )

    def _outer_loop(self) -> AbstractContextManager[L.Index]:
        """The loop around the product; yields its index, () if there is no loop."""
        return self.ctx.emitter.nest(() if self.loop is None else (self.view.sizes[self.loop],))

    def _call(self, index: L.Index, c: Value, dest_index: L.Index, add: bool) -> None:
        """Emit the call of the runtime for one iteration of the loop."""
        assert self.right.memory is not None and c.memory is not None
        start = self.where.axes[0].start
        a = L.Subview(self.where.buffer, tuple(L.add(i, start) for i in index))
        b = L.Subview(self.right.memory.name, index if self.by_sums else ())
        out = L.Subview(c.memory.name, dest_index)
        self.ctx.emitter.add(L.Call("rt.gemm_at", (a, *self.tables, b, L.lit(add, "bool"), out)))

    def _table(self, name: str, axes: list[int]) -> L.Subview:
        """The offset table over the row axes, or over the column axes, in C order.

        The constant offset that all elements share belongs to the row table.
        """
        ctx, emitter = self.ctx, self.ctx.emitter
        sizes = tuple(self.view.sizes[a] for a in axes)
        table = ctx.allocate(
            emitter.new_name(name), "int64", (L.product(sizes),), (ctx.fresh_dim(),)
        )
        with emitter.nest(sizes) as index:
            at = dict(zip(axes, index, strict=True))
            full = tuple(at.get(a, L.ZERO) for a in range(self.view.ndim))
            offset: L.Expr = L.ZERO
            for axis, a in enumerate(self.where.axes):
                common = name == "rows" and not (axis == 0 and self.loop is not None)
                here = replace(a, start=a.start if common else L.ZERO).at(full)
                offset = L.add(L.mul(offset, ctx.size_of_buffer(self.where.buffer, axis)), here)
            flat: L.Expr = L.ZERO
            for i, size in zip(index, sizes, strict=True):
                flat = L.add(L.mul(flat, size), i)
            store_element(emitter, table, (flat,), offset)
        return table.as_argument()


def _reordered(a: Affine, m: int, order: list[int]) -> Affine:
    """`a` with the steps of the summed axes, which follow the `m` row axes, permuted."""
    return replace(a, steps=(*a.steps[:m], *(a.steps[m + k] for k in order)))
