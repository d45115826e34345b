"""Stores: writing a value into a region of an array, in place.

NumPy computes the right-hand side before it writes.  A fused loop nest that reads the array it
writes to is correct only if every iteration reads just the element that it writes.  In any other
case the right-hand side is materialised first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...ir import nodes
from ..build.context import Context
from ..build.lazy_array import Value, fill
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast
from .broadcast import project_index, same_shape
from .view import follow_path


def store(ctx: Context, stmt: nodes.Store) -> None:
    """Lower `x[path] = v` or `x[path] += v`."""
    base = ctx.value(stmt.array)
    assert base.memory is not None and stmt.array.name not in ctx.env, stmt.array
    v = ctx.evaluated_value(stmt.value)
    region = follow_path(ctx, base, stmt.path, _path_operands(stmt))
    if v.add_into is not None:
        if same_shape(ctx.facts, v, region.sizes, region.dims):
            v.add_into(region)
            return
        v = _materialised(ctx, v, v.add_into)
    v = _without_leading_ones(v, region)
    if not same_shape(ctx.facts, v, region.sizes, region.dims):
        v = ctx.materialise_if_costly(v)
    fancy = any(
        item[0] in ("array", "mask") for step in stmt.path if step[0] == "index" for item in step[1]
    )
    if _may_read(ctx, v, base) and (fancy or _reads_alias(ctx, v, stmt)):
        v = ctx.materialised_copy(v)
    mark = len(ctx.emitter.out)
    if not _write(ctx, region, v, base, stmt.add):
        del ctx.emitter.out[mark:]
        _write(ctx, region, ctx.materialised_copy(v), base, stmt.add)


def _path_operands(stmt: nodes.Store) -> tuple[nodes.Operand, ...]:
    """The operands that positions in a path refer to, as in `update`.

    They are the array, the value, and then the other operands.
    """
    return (stmt.array, stmt.value, *stmt.operands)


def _materialised(ctx: Context, v: Value, add_into: Callable[[Value], None]) -> Value:
    """A deferred value, materialised by adding it to a zero array."""
    total = ctx.allocate(ctx.emitter.new_name("t"), v.dtype, v.sizes, v.dims)
    fill(ctx.emitter, total, lambda index: L.Lit(0, v.dtype))
    add_into(total)
    return total


def _without_leading_ones(v: Value, region: Value) -> Value:
    """`v` without its leading axes of size 1 that the region does not have."""
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


def _may_read(ctx: Context, v: Value, base: Value) -> bool:
    """True if computing `v` may read the memory of `base`."""
    return any(ctx.usage.aliases.get(name, {name}) & v.reads for name in base.reads)


def _reads_alias(ctx: Context, v: Value, stmt: nodes.Store) -> bool:
    """True if `v` may read the array through an alias.

    A variable that is live after the store does not share the array's memory, because the store
    would change its value.
    """
    name = stmt.array.name
    others = (ctx.usage.aliases.get(name, {name}) - {name}) & v.reads
    return bool(others) and not others <= ctx.element_reads.alive_after(*ctx.at)


def _write(ctx: Context, region: Value, v: Value, base: Value, add: bool) -> bool:
    """Emit the loop nest; False if an iteration reads an element of `base` that another writes."""
    emitter = ctx.emitter
    mark = len(emitter.out)
    # Prefer the value's own sizes: they are those of the loops that compute it.
    sizes = v.sizes if same_shape(ctx.facts, v, region.sizes, region.dims) else region.sizes
    with emitter.nest(sizes) as index:
        load = region.at(emitter, index)
        assert isinstance(load, L.Load)
        e = v.at(emitter, project_index(ctx.facts, v, region.sizes, region.dims, index))
        emitter.add(L.Store(load.buffer, load.index, cast(e, base.dtype), add))
    if not region.sizes:
        # A single element: the value is computed completely before it is written.
        return True
    if not _may_read(ctx, v, base):
        return True
    root = emitter.root(load.buffer)
    for stmt in L.walk(emitter.out[mark:]):
        for top in L.exprs_of(stmt):
            for part in L.walk_expr(top):
                if isinstance(part, L.Load) and emitter.root(part.buffer) == root:
                    if (part.buffer, part.index) != (load.buffer, load.index):
                        return False
    return True
