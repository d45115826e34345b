"""Stores: writing a value into a region of an array, in place.

NumPy computes the right-hand side before it writes; a nest that reads the array it writes to
is right only if every element is read where it is written, so all else is computed first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir import nodes
from ..build.context import Context
from ..build.lazy_array import Value, fill
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast
from .broadcast import project, same_shape
from .view import follow


def store(ctx: Context, stmt: nodes.Store) -> None:
    base = ctx.value(stmt.array)
    assert base.memory is not None and stmt.array.name not in ctx.env, stmt.array
    v = ctx.ready(stmt.value)
    region = follow(ctx, base, stmt.path, _positions(stmt))
    if v.add_into is not None:
        if same_shape(ctx.facts, v, region.sizes, region.dims):
            v.add_into(region)
            return
        v = _computed(ctx, v, v.add_into)
    v = _fitting(v, region)
    if not same_shape(ctx.facts, v, region.sizes, region.dims):
        v = ctx.cheap(v)
    fancy = any(
        item[0] in ("array", "mask") for step in stmt.path if step[0] == "index" for item in step[1]
    )
    if _shares(ctx, v, base) and (fancy or _through_others(ctx, v, stmt)):
        v = ctx.copied(v)
    mark = len(ctx.emitter.out)
    if not _write(ctx, region, v, base, stmt.add):
        del ctx.emitter.out[mark:]
        _write(ctx, region, ctx.copied(v), base, stmt.add)


def _positions(stmt: nodes.Store) -> tuple[nodes.Operand, ...]:
    """Positions in a path count as in `update`: the array, the value, then the operands."""
    return (stmt.array, stmt.value, *stmt.operands)


def _computed(ctx: Context, v: Value, add_into: Callable[[Value], None]) -> Value:
    """What can be added to an array, as an array of its own."""
    total = ctx.allocate(ctx.emitter.new_name("t"), v.dtype, v.sizes, v.dims)
    fill(ctx.emitter, total, lambda index: L.Lit(0, v.dtype))
    add_into(total)
    return total


def _fitting(v: Value, region: Value) -> Value:
    """`v` without leading axes of size 1 that the region lacks."""
    lead = v.ndim - region.ndim
    if lead <= 0:
        return v
    at = v.at
    return replace(
        v,
        sizes=v.sizes[lead:],
        dims=v.dims[lead:],
        at=lambda emitter, index: at(emitter, (L.ZERO,) * lead + index),
        memory=None,
    )


def _shares(ctx: Context, v: Value, base: Value) -> bool:
    """Whether computing `v` may read the memory of `base`."""
    return any(ctx.usage.sharing.get(name, {name}) & v.reads for name in base.reads)


def _through_others(ctx: Context, v: Value, stmt: nodes.Store) -> bool:
    """Whether `v` may read the array under another name.  A variable that is read again
    after the store does not share the array's memory: it would not survive it."""
    name = stmt.array.name
    others = (ctx.usage.sharing.get(name, {name}) - {name}) & v.reads
    return bool(others) and not others <= ctx.element_reads.alive_after(*ctx.at)


def _write(ctx: Context, region: Value, v: Value, base: Value, add: bool) -> bool:
    """Writes the nest; False if it reads elements of `base` that it writes elsewhere."""
    emitter = ctx.emitter
    mark = len(emitter.out)
    # The value's own sizes, as the loops that make it have them.
    sizes = v.sizes if same_shape(ctx.facts, v, region.sizes, region.dims) else region.sizes
    with emitter.nest(sizes) as index:
        place = region.at(emitter, index)
        assert isinstance(place, L.Load)
        e = v.at(emitter, project(ctx.facts, v, region.sizes, region.dims, index))
        emitter.add(L.Store(place.buffer, place.index, cast(e, base.dtype), add))
    if not region.sizes:
        # A single element: all of the value is read before it is written.
        return True
    if not _shares(ctx, v, base):
        return True
    root = emitter.root(place.buffer)
    for stmt in L.walk(emitter.out[mark:]):
        for top in L.exprs_of(stmt):
            for part in L.walk_expr(top):
                if isinstance(part, L.Load) and emitter.root(part.buffer) == root:
                    if (part.buffer, part.index) != (place.buffer, place.index):
                        return False
    return True
