"""Views: index maps onto the elements of another array.

No elements are copied, except where a reshape or a broadcast materialises a virtual operand.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...ir import nodes
from ...ir.symbolic_dims import Dim
from ..build.context import Context, handles, shape_of
from ..build.lazy_array import Emitter, Memory, Value, buffer_value, scalar_value
from ..build.symbolic_range import MAX_CONSTANT
from ..loop_ir import nodes as L
from .broadcast import broadcast_value, same_shape
from .indexing import view


def transpose(x: Value, axes: tuple[int, ...]) -> Value:
    """x with permuted axes: axis k of the result is axis `axes[k]` of x."""

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        source_index: list[L.Expr] = [L.ZERO] * x.ndim
        for k, axis in enumerate(axes):
            source_index[axis] = index[k]
        return x.at(emitter, tuple(source_index))

    memory = x.memory
    if memory is not None:
        memory = Memory(memory.name, tuple(memory.axes[a] for a in axes), memory.contiguous)
    sizes = tuple(x.sizes[a] for a in axes)
    dims = tuple(x.dims[a] for a in axes)
    return Value(x.dtype, sizes, dims, at, x.reads, x.cost, memory, depth=x.depth)


def expand_dims(x: Value, axes: tuple[int, ...]) -> Value:
    """x with new axes of size 1 at the positions `axes` of the result."""
    rank = x.ndim + len(axes)
    kept = [k for k in range(rank) if k not in axes]
    sizes: list[L.Expr] = [L.ONE] * rank
    dims = [Dim.of(1)] * rank
    for k, size, dim in zip(kept, x.sizes, x.dims, strict=True):
        sizes[k], dims[k] = size, dim

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        return x.at(emitter, tuple(index[k] for k in kept))

    return Value(x.dtype, tuple(sizes), tuple(dims), at, x.reads, x.cost, depth=x.depth)


def squeeze(x: Value, axes: tuple[int, ...]) -> Value:
    """x without the axes `axes`, which have size 1."""
    kept = [k for k in range(x.ndim) if k not in axes]

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        source_index: list[L.Expr] = [L.ZERO] * x.ndim
        for k, axis in enumerate(kept):
            source_index[axis] = index[k]
        return x.at(emitter, tuple(source_index))

    sizes = tuple(x.sizes[k] for k in kept)
    return Value(x.dtype, sizes, tuple(x.dims[k] for k in kept), at, x.reads, x.cost, depth=x.depth)


# ---------------------------------------------------------------- reshape


def reshape(
    ctx: Context, x: Value, sizes: tuple[L.Expr, ...], dims: tuple[Dim, ...], into: bool = False
) -> Value:
    """x in another shape with the same number of elements.

    With `into`, the result is to be written to, so it must share x's memory.
    """
    moved = _as_unit_axis_change(ctx, x, sizes, dims)
    if moved is not None:
        return moved
    if not x.is_buffer:
        if into:
            return _by_division(ctx, x, sizes, dims)
        x = ctx.materialise(x)
    memory = x.memory
    assert memory is not None
    name = ctx.emitter.new_name(f"{memory.name}_flat" if len(sizes) == 1 else f"{memory.name}_as")
    sizes = tuple(ctx.emitter.let(s, "n") for s in sizes)
    ctx.emitter.add(L.View(name, memory.name, sizes))
    ctx.emitter.roots[name] = ctx.emitter.root(memory.name)
    return replace(buffer_value(name, x.dtype, dims, x.reads), sizes=sizes)


def _as_unit_axis_change(
    ctx: Context, x: Value, sizes: tuple[L.Expr, ...], dims: tuple[Dim, ...]
) -> Value | None:
    """The reshape as an index map, if it only adds or removes axes of size 1; else None."""
    one = Dim.of(1)
    old = [k for k in range(x.ndim) if ctx.facts.canonical(x.dims[k]) != one]
    new = [k for k in range(len(dims)) if ctx.facts.canonical(dims[k]) != one]
    if len(old) != len(new):
        return None
    if not all(ctx.facts.known_equal(x.dims[p], dims[q]) for p, q in zip(old, new, strict=True)):
        return None

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        source_index: list[L.Expr] = [L.ZERO] * x.ndim
        for p, q in zip(old, new, strict=True):
            source_index[p] = index[q]
        return x.at(emitter, tuple(source_index))

    memory = x.memory if len(old) == x.ndim == len(dims) else None
    return Value(x.dtype, sizes, dims, at, x.reads, x.cost, memory, depth=x.depth)


def _by_division(ctx: Context, x: Value, sizes: tuple[L.Expr, ...], dims: tuple[Dim, ...]) -> Value:
    """The general reshape as an index map: linearise the index, then delinearise it by division."""
    sizes = tuple(ctx.emitter.let(s, "n") for s in sizes)

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        flat: L.Expr = L.ZERO
        for i, n in zip(index, sizes, strict=True):
            flat = L.add(L.mul(flat, n), i)
        flat = emitter.let(flat, "at")
        source_index: list[L.Expr] = []
        for n in reversed(x.sizes[1:]):
            source_index.append(L.Bin("%", flat, n, "int64"))
            flat = emitter.let(L.Bin("//", flat, n, "int64"), "at")
        source_index.append(flat)
        return x.at(emitter, tuple(reversed(source_index)) if x.ndim else ())

    return Value(x.dtype, sizes, dims, at, x.reads, x.cost + 8, depth=x.depth)


def collapse_axes(ctx: Context, v: Value, groups: tuple[int, ...]) -> Value:
    """`v` with adjacent axes collapsed: `groups[k]` axes become axis k."""
    if all(g == 1 for g in groups):
        return v
    *batch, m, n = groups
    b = len(batch)
    back = (*range(b), *range(b + m, b + m + n), *range(b, b + m))
    if v.memory is not None and v.memory.contiguous and not v.memory.is_unpermuted:
        straight = transpose(v, back)
        if straight.is_buffer:
            # The matrix is transposed in memory, which gemm can read.
            return transpose(collapse_axes(ctx, straight, (*batch, n, m)), (*range(b), b + 1, b))
    sizes: list[L.Expr] = []
    dims: list[Dim] = []
    at = 0
    for g in groups:
        sizes.append(L.product(v.sizes[at : at + g]))
        dims.append(functools.reduce(operator.mul, v.dims[at : at + g]))
        at += g
    v = ctx.materialise(v)
    assert v.memory is not None
    name = ctx.emitter.new_name(f"{v.memory.name}_as")
    named = tuple(ctx.emitter.let(s, "n") for s in sizes)
    ctx.emitter.add(L.View(name, v.memory.name, named))
    ctx.emitter.roots[name] = ctx.emitter.root(v.memory.name)
    return replace(buffer_value(name, v.dtype, tuple(dims), v.reads), sizes=named)


# ---------------------------------------------------------------- access paths of updates


def follow_path(
    ctx: Context, x: Value, path: Sequence[Any], args: Sequence[nodes.Operand]
) -> Value:
    """The region of x that an update's access path selects."""
    for step in path:
        kind, what = step[0], step[1]
        if kind == "index":
            x = view(ctx, x, what, args)
        elif kind == "transpose":
            x = transpose(x, tuple(what))
        elif kind == "expand_dims":
            x = expand_dims(x, tuple(what))
        elif kind == "squeeze":
            x = squeeze(x, tuple(what))
        elif kind == "reshape":
            sizes = ctx.shape([args[p] for p in what])
            dims = tuple(ctx.symbolic_value(args[p]) or ctx.fresh_dim() for p in what)
            x = reshape(ctx, x, sizes, dims, into=True)
        else:
            raise ctx.unsupported(f"a write through {kind} cannot be compiled")
    return x


# ---------------------------------------------------------------- operations


@handles("transpose")
def _transpose(ctx: Context, stmt: nodes.Assign) -> Value:
    x = ctx.value(stmt.op.args[0])
    axes = stmt.op.attrs.get("axes")
    return transpose(x, tuple(axes) if axes is not None else tuple(reversed(range(x.ndim))))


@handles("expand_dims")
def _expand_dims(ctx: Context, stmt: nodes.Assign) -> Value:
    return expand_dims(ctx.evaluated_value(stmt.op.args[0]), tuple(stmt.op.attrs["axes"]))


@handles("squeeze")
def _squeeze(ctx: Context, stmt: nodes.Assign) -> Value:
    return squeeze(ctx.value(stmt.op.args[0]), tuple(stmt.op.attrs["axes"]))


@handles("roll")
def _roll(ctx: Context, stmt: nodes.Assign) -> Value:
    """`np.roll`, as an index map modulo the size of the axis.

    `lower/loops/split_wraparound.py` splits loops over it at the wraparound.
    """
    x = ctx.evaluated_value(stmt.op.args[0])
    axis = stmt.op.attrs["axis"]
    shift: L.Expr = L.lit(stmt.op.attrs["shift"])
    size = ctx.emitter.let(x.sizes[axis], "n")
    if abs(stmt.op.attrs["shift"]) > MAX_CONSTANT:
        shift = ctx.emitter.let(L.Apply("rt.remainder", (shift, size), "int64"), "at")

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        from_ = L.Apply("rt.remainder", (L.sub(index[axis], shift), size), "int64")
        return x.at(emitter, (*index[:axis], emitter.let(from_, "at"), *index[axis + 1 :]))

    return replace(x, at=at, cost=x.cost + 1, memory=None, add_into=None)


@handles("reshape")
def _reshape(ctx: Context, stmt: nodes.Assign) -> Value:
    x = ctx.evaluated_value(stmt.op.args[0])
    sizes = ctx.shape(stmt.op.args[1:])
    return reshape(ctx, x, sizes, shape_of(stmt.target))


@handles("broadcast_to")
def _broadcast_to(ctx: Context, stmt: nodes.Assign) -> Value:
    x = ctx.evaluated_value(stmt.op.args[0])
    sizes = ctx.shape(stmt.op.args[1:])
    reads = frozenset().union(*(ctx.value(a).reads for a in stmt.op.args))
    dims = shape_of(stmt.target)
    return replace(_spread(ctx, x, sizes, dims), reads=reads)


@handles("broadcast_like")
def _broadcast_like(ctx: Context, stmt: nodes.Assign) -> Value:
    x, like = (ctx.evaluated_value(a) for a in stmt.op.args)
    return replace(_spread(ctx, x, like.sizes, like.dims), reads=x.reads | like.reads)


def _spread(ctx: Context, x: Value, sizes: tuple[L.Expr, ...], dims: tuple[Dim, ...]) -> Value:
    """x broadcast to a shape; materialised first if elements would be computed repeatedly."""
    if not same_shape(ctx.facts, x, sizes, dims):
        x = ctx.materialise_if_costly(x)
    return broadcast_value(ctx.facts, x, sizes, dims)


@handles("shape")
def _shape(ctx: Context, stmt: nodes.Assign) -> Value:
    """The size of one axis."""
    x = ctx.value(stmt.op.args[0])
    return scalar_value(x.sizes[stmt.op.attrs["axis"]], x.reads)
