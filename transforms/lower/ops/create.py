"""Array constructors: constants, sequences, and arrays assembled from scalars or arrays."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce as _reduce

import numpy as np

from ...ir import nodes
from ...ir.symbolic_dims import Dim
from ..build.context import Context, handles, shape_of
from ..build.lazy_array import Emitter, Value, scalar_value, store_element
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast, kind
from .stacks import new_stack


def constant(
    target: nodes.Var, e: L.Expr, sizes: tuple[L.Expr, ...], reads: frozenset[str]
) -> Value:
    """A virtual array with the same scalar in every element."""
    dtype = target.type.dtype
    e = cast(e, dtype)
    return Value(dtype, sizes, shape_of(target), lambda emitter, index: e, reads, 0)


def _sizes(
    ctx: Context, operands: tuple[nodes.Operand, ...]
) -> tuple[tuple[L.Expr, ...], frozenset[str]]:
    """The checked sizes of a shape, and the variables that they read."""
    sizes = ctx.shape(operands)
    return sizes, frozenset().union(*(ctx.value(a).reads for a in operands))


@handles("zeros", "ones")
def zeros(ctx: Context, stmt: nodes.Assign) -> Value:
    sizes, reads = _sizes(ctx, stmt.op.args)
    fill = L.Lit(int(stmt.op.name == "ones"), "int64")
    return constant(stmt.target, fill, sizes, reads)


@handles("full")
def full(ctx: Context, stmt: nodes.Assign) -> Value:
    fill = ctx.evaluated_value(stmt.op.args[0])
    sizes, reads = _sizes(ctx, stmt.op.args[1:])
    return constant(stmt.target, _fill_scalar(ctx, fill), sizes, reads | fill.reads)


def _fill_scalar(ctx: Context, v: Value) -> L.Expr:
    """The scalar that fills an array."""
    if v.ndim:
        raise ctx.unsupported("filling with an array", "use np.broadcast_to(...).copy()")
    return ctx.emitter.let(v.at(ctx.emitter, ()))


@handles("empty")
def empty(ctx: Context, stmt: nodes.Assign) -> Value:
    sizes, reads = _sizes(ctx, stmt.op.args)
    return ctx.dest(stmt.target, reads, sizes)


@handles("zeros_like", "ones_like", "full_like", "empty_like")
def zeros_like(ctx: Context, stmt: nodes.Assign) -> Value:
    x = ctx.value(stmt.op.args[0])
    type_, name = stmt.target.type, stmt.op.name
    reads = x.reads
    if name == "full_like":
        fill = ctx.evaluated_value(stmt.op.args[1])
        e, reads = _fill_scalar(ctx, fill), reads | fill.reads
    else:
        e = L.Lit(int(name == "ones_like"), "int64")
    if isinstance(type_, nodes.Scalar):
        return scalar_value(cast(e, type_.dtype), reads)
    if name == "empty_like":
        return ctx.dest(stmt.target, x.reads, x.sizes)
    return constant(stmt.target, e, x.sizes, reads)


@handles("undef")
def undef(ctx: Context, stmt: nodes.Assign) -> Value:
    """A value that is undefined on this path: a zero, an empty list, or uninitialised memory."""
    type_ = stmt.op.attrs["type"]
    if isinstance(type_, nodes.Scalar):
        return scalar_value(L.Lit(0, type_.dtype))
    if isinstance(type_, nodes.ListOf):
        return new_stack(ctx, stmt)
    return ctx.dest(stmt.target, frozenset({stmt.target.name}), _undef_sizes(ctx, stmt.target))


def _undef_sizes(ctx: Context, target: nodes.Var) -> tuple[L.Expr, ...]:
    """The sizes of an undefined array: those of its type where they are available, otherwise 0.

    A copy of the variable iterates over the sizes of its type, so these elements must exist.
    """
    sizes: list[L.Expr] = []
    assert isinstance(target.type, nodes.Array)
    for dim in target.type.shape:
        dim = ctx.facts.canonical(dim)
        size = L.Lit(dim.const, "int64") if dim.is_const else ctx.known_sizes.get(dim, L.ZERO)
        if isinstance(size, L.Name):  # an integer that may be negative on this path
            size = L.select(L.compare(">", size, L.ZERO), size, L.ZERO)
        sizes.append(size)
    return tuple(sizes)


# ---------------------------------------------------------------- sequences


@handles("arange")
def arange(ctx: Context, stmt: nodes.Assign) -> Value:
    """`np.arange`, as a virtual value."""
    emitter, type_ = ctx.emitter, stmt.target.type
    values = [ctx.evaluated_value(a) for a in stmt.op.args]
    reads = frozenset().union(*(v.reads for v in values))
    dtype = type_.dtype
    if all(kind(v.dtype) in "iub" for v in values):
        start, stop, step = (emitter.let(cast(v.at(emitter, ()), "int64")) for v in values)
        if L.is_lit(start, 0) and L.is_lit(step, 1):
            count = emitter.let(L.select(L.compare(">", stop, L.ZERO), stop, L.ZERO), "n")
            if ctx.ranges.nonnegative(ctx.symbolic_value(stmt.op.args[1])):
                count = stop
        else:
            count = emitter.let(L.Apply("rt.trip_count", (start, stop, step), "int64"), "n")
        if not all(
            ctx.ranges.is_far_from_overflow(ctx.symbolic_value(a)) for a in stmt.op.args[:2]
        ):
            ctx.check_element_count([count])

        def at(emitter: Emitter, index: L.Index) -> L.Expr:
            return cast(L.add(L.mul(index[0], step), start), dtype)
    else:
        start, stop, step = (emitter.let(cast(v.at(emitter, ()), "float64")) for v in values)
        count = emitter.let(L.Apply("rt.arange_count", (start, stop, step), "int64"), "n")
        unknown = L.compare("<", count, L.ZERO)
        emitter.check(
            unknown, "ValueError", f"arange: cannot compute length{ctx.location_suffix()}"
        )
        ctx.check_element_count([count])
        # As in NumPy, the increment is the difference of the first two elements.
        second = emitter.let(L.Bin("+", start, step, "float64"))
        delta = emitter.let(L.Bin("-", second, start, "float64"))

        def at(emitter: Emitter, index: L.Index) -> L.Expr:
            far = L.Bin("*", cast(index[0], "float64"), delta, "float64")
            return cast(L.Bin("+", start, far, "float64"), dtype)

    cost = 0 if dtype == "int64" else 1
    return Value(dtype, (count,), shape_of(stmt.target), at, reads, cost)


@handles("linspace")
def linspace(ctx: Context, stmt: nodes.Assign) -> Value:
    """`np.linspace`, as a virtual value; with `endpoint`, the last element is exactly `stop`."""
    emitter, type_ = ctx.emitter, stmt.target.type
    start, stop = (ctx.evaluated_value(a) for a in stmt.op.args[:2])
    (num,) = ctx.shape(stmt.op.args[2:])
    endpoint = stmt.op.attrs.get("endpoint", True)
    reads = frozenset().union(*(ctx.value(a).reads for a in stmt.op.args))
    f = "float64"
    low, high = (emitter.let(cast(_fill_scalar(ctx, v), f)) for v in (start, stop))
    parts = L.sub(num, L.ONE) if endpoint else num
    parts = emitter.let(L.select(L.compare(">", parts, L.ZERO), parts, L.ONE), "n")
    step = emitter.let(L.Bin("/", L.Bin("-", high, low, f), cast(parts, f), f), "step")

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        i = index[0]
        e: L.Expr = L.Bin("+", L.Bin("*", cast(i, f), step, f), low, f)
        if endpoint:
            last = L.compare("==", i, L.sub(num, L.ONE))
            several = L.compare(">", num, L.ONE)
            e = L.select(L.Bin("and", several, last, "bool"), high, e)
        return cast(e, type_.dtype)

    return Value(type_.dtype, (num,), shape_of(stmt.target), at, reads, 2)


@handles("eye")
def eye(ctx: Context, stmt: nodes.Assign) -> Value:
    """`np.eye`, as a virtual value."""
    type_ = stmt.target.type
    n, m = ctx.shape(stmt.op.args[:2])
    k = ctx.integer(stmt.op.args[2])
    reads = frozenset().union(*(ctx.value(a).reads for a in stmt.op.args))
    one, zero = L.Lit(1, type_.dtype), L.Lit(0, type_.dtype)

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        return L.select(L.compare("==", index[1], L.add(index[0], k)), one, zero)

    return Value(type_.dtype, (n, m), shape_of(stmt.target), at, reads, 1)


# ---------------------------------------------------------------- assembling


@handles("pack")
def pack(ctx: Context, stmt: nodes.Assign) -> Value:
    """An array of constant shape from scalars."""
    type_ = stmt.target.type
    items = [cast(ctx.scalar(a), type_.dtype) for a in stmt.op.args]
    shape = tuple(stmt.op.attrs["shape"])
    reads = frozenset().union(*(ctx.value(a).reads for a in stmt.op.args))
    dest = ctx.dest(stmt.target, reads, tuple(L.lit(_int(n)) for n in shape))
    for position, e in zip(np.ndindex(*(_int(n) for n in shape)), items, strict=True):
        store_element(ctx.emitter, dest, tuple(L.lit(i) for i in position), e)
    return dest


def _int(n: object) -> int:
    return n.const if isinstance(n, Dim) else int(n)  # type: ignore[call-overload]


@handles("concatenate")
def concatenate(ctx: Context, stmt: nodes.Assign) -> Value:
    """`np.concatenate`: one loop nest per operand."""
    emitter = ctx.emitter
    values = [ctx.value(a) for a in stmt.op.args]
    axis = stmt.op.attrs["axis"] % values[0].ndim
    first = values[0]
    total = emitter.let(_reduce(L.add, [v.sizes[axis] for v in values]), "n")
    sizes = (*first.sizes[:axis], total, *first.sizes[axis + 1 :])
    dest = ctx.dest(stmt.target, frozenset().union(*(v.reads for v in values)), sizes)
    offset: L.Expr = L.ZERO
    for v in values:
        with emitter.nest(v.sizes) as index:
            dest_index = (*index[:axis], L.add(index[axis], offset), *index[axis + 1 :])
            store_element(emitter, dest, dest_index, cast(v.at(emitter, index), dest.dtype))
        offset = emitter.let(L.add(offset, v.sizes[axis]), "n")
    return dest


@handles("stack")
def stack(ctx: Context, stmt: nodes.Assign) -> Value:
    """`np.stack`: one loop nest per operand."""
    emitter = ctx.emitter
    values = [ctx.evaluated_value(a) for a in stmt.op.args]
    first = values[0]
    axis = stmt.op.attrs["axis"] % (first.ndim + 1)
    sizes = (*first.sizes[:axis], L.lit(len(values)), *first.sizes[axis:])
    dest = ctx.dest(stmt.target, frozenset().union(*(v.reads for v in values)), sizes)
    for k, v in enumerate(values):
        with emitter.nest(v.sizes) as index:
            dest_index = (*index[:axis], L.lit(k), *index[axis:])
            store_element(emitter, dest, dest_index, cast(v.at(emitter, index), dest.dtype))
    return dest


@handles("alias")
def alias(ctx: Context, stmt: nodes.Assign) -> Value:
    """An alias: the target is another name of the same array.  A buffer is never copied."""
    v = ctx.value(stmt.op.args[0])
    if (
        isinstance(stmt.target.type, nodes.Array)
        and v.memory is not None
        and v.memory.is_unpermuted
    ):
        # No reads: the target refers to the buffer itself and no longer depends on the operand.
        return replace(v, reads=frozenset())
    return v
