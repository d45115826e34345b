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


def store(cx: Context, stmt: nodes.Store) -> None:
    base = cx.value(stmt.array)
    assert base.memory is not None and stmt.array.name not in cx.env, stmt.array
    v = cx.ready(stmt.value)
    region = follow(cx, base, stmt.path, _positions(stmt))
    if v.add_into is not None:
        if same_shape(cx.facts, v, region.sizes, region.dims):
            v.add_into(region)
            return
        v = _computed(cx, v, v.add_into)
    v = _fitting(v, region)
    if not same_shape(cx.facts, v, region.sizes, region.dims):
        v = cx.cheap(v)
    fancy = any(
        item[0] in ("array", "mask") for step in stmt.path if step[0] == "index" for item in step[1]
    )
    if _shares(cx, v, base) and (fancy or _through_others(cx, v, stmt)):
        v = cx.copied(v)
    mark = len(cx.em.out)
    if not _write(cx, region, v, base, stmt.add):
        del cx.em.out[mark:]
        _write(cx, region, cx.copied(v), base, stmt.add)


def _positions(stmt: nodes.Store) -> tuple[nodes.Operand, ...]:
    """Positions in a path count as in `update`: the array, the value, then the operands."""
    return (stmt.array, stmt.value, *stmt.operands)


def _computed(cx: Context, v: Value, add_into: Callable[[Value], None]) -> Value:
    """What can be added to an array, as an array of its own."""
    total = cx.allocate(cx.em.fresh("t"), v.dtype, v.sizes, v.dims)
    fill(cx.em, total, lambda index: L.Lit(0, v.dtype))
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
        at=lambda em, index: at(em, (L.ZERO,) * lead + index),
        memory=None,
    )


def _shares(cx: Context, v: Value, base: Value) -> bool:
    """Whether computing `v` may read the memory of `base`."""
    return any(cx.usage.sharing.get(name, {name}) & v.reads for name in base.reads)


def _through_others(cx: Context, v: Value, stmt: nodes.Store) -> bool:
    """Whether `v` may read the array under another name.  A variable that is read again
    after the store does not share the array's memory: it would not survive it."""
    name = stmt.array.name
    others = (cx.usage.sharing.get(name, {name}) - {name}) & v.reads
    return bool(others) and not others <= cx.element_reads.alive_after(*cx.at)


def _write(cx: Context, region: Value, v: Value, base: Value, add: bool) -> bool:
    """Writes the nest; False if it reads elements of `base` that it writes elsewhere."""
    em = cx.em
    mark = len(em.out)
    # The value's own sizes, as the loops that make it have them.
    sizes = v.sizes if same_shape(cx.facts, v, region.sizes, region.dims) else region.sizes
    with em.nest(sizes) as index:
        place = region.at(em, index)
        assert isinstance(place, L.Load)
        e = v.at(em, project(cx.facts, v, region.sizes, region.dims, index))
        em.add(L.Put(place.buffer, place.index, cast(e, base.dtype), add))
    if not region.sizes:
        # A single element: all of the value is read before it is written.
        return True
    if not _shares(cx, v, base):
        return True
    root = em.root(place.buffer)
    for stmt in L.walk(em.out[mark:]):
        for top in L.exprs_of(stmt):
            for part in L.walk_expr(top):
                if isinstance(part, L.Load) and em.root(part.buffer) == root:
                    if (part.buffer, part.index) != (place.buffer, place.index):
                        return False
    return True
