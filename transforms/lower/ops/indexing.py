"""Indexing: `x[items]` as a map from indices of the result to indices of x.

The same map serves reading and writing: the element it yields is a load, and a store goes to
the place a load would read.  Integer arrays are looked up on the way; masks first become
integer arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import nodes
from ...ir.record import record, replace
from ...ir.symbolic_dims import Dim, slice_length
from ..build.affine_array import integers
from ..build.context import Context, handles
from ..build.lazy_array import Emitter, Value, buffer_value, put
from ..build.symbolic_range import COEFFICIENT, CONSTANT, relaxed
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast
from .broadcast import meet, project

Items = Sequence[tuple[Any, ...]]


@record
class Axis:
    """One axis of x: its index is `start + step * (result axis)`, a fixed number
    (`fixed`), or looked up in `array` (a position in the list of index arrays)."""

    start: L.Expr = L.ZERO
    step: L.Expr = L.ONE
    result: int | None = None
    fixed: L.Expr | None = None
    array: int | None = None


def view(cx: Context, x: Value, items: Items, args: Sequence[nodes.Operand]) -> Value:
    """x[items]; positions in `items` refer to `args`."""
    items = _expand_masks(cx, items, args)
    advanced = any(item[0] in ("values", "found") for item in items)
    axes: list[Axis] = []
    arrays: list[Value] = []
    sizes: list[L.Expr] = []
    dims: list[Dim] = []
    reads = set(x.reads)
    spots: list[int] = []  # result ranks at which advanced items stand
    apart: list[int] = []  # their positions among the items
    axis = 0
    for place, item in enumerate(items):
        kind = item[0]
        if kind == "new":
            sizes.append(L.ONE)
            dims.append(Dim.of(1))
            continue
        n, dim = x.sizes[axis], x.dims[axis]
        axis += 1
        if kind == "all":
            axes.append(Axis(result=len(sizes)))
            sizes.append(n)
            dims.append(dim)
        elif kind == "slice":
            given = [None if p is None else args[p] for p in item[1:]]
            start, step, count, known = slice_of(cx, given, n, dim)
            axes.append(Axis(start, step, result=len(sizes)))
            sizes.append(count)
            dims.append(known)
            for operand in given:
                reads |= cx.value(operand).reads if operand is not None else set()
        elif kind == "int":
            operand = args[item[1]]
            reads |= cx.value(operand).reads
            fixed = in_range(cx, cx.integer(operand), cx.known(operand), n, dim, axis - 1)
            axes.append(Axis(fixed=fixed))
            if advanced:
                spots.append(len(sizes))
                apart.append(place)
        else:
            spots.append(len(sizes))
            apart.append(place)
            axes.append(Axis(array=len(arrays)))
            v = item[1]
            if kind != "found":
                _, _, name, lazy = item
                v = _checked(cx, v, name, lazy, n, dim, axis - 1)
            arrays.append(v)
            reads |= item[1].reads
    if not arrays:
        return _basic(cx, x, axes, tuple(sizes), tuple(dims), frozenset(reads))
    spot = spots[0] if apart[-1] - apart[0] == len(apart) - 1 else 0
    return _gather(cx, x, axes, arrays, spot, sizes, dims, frozenset(reads))


def _basic(
    cx: Context,
    x: Value,
    axes: list[Axis],
    sizes: tuple[L.Expr, ...],
    dims: tuple[Dim, ...],
    reads: frozenset[str],
) -> Value:
    def at(em: Emitter, index: L.Index) -> L.Expr:
        return x.at(em, tuple(_place(a, index) for a in axes))

    return Value(x.dtype, sizes, dims, at, reads, x.cost)


def _place(axis: Axis, index: L.Index) -> L.Expr:
    if axis.fixed is not None:
        return axis.fixed
    assert axis.result is not None
    return L.add(L.mul(index[axis.result], axis.step), axis.start)


def _gather(
    cx: Context,
    x: Value,
    axes: list[Axis],
    arrays: list[Value],
    spot: int,
    sizes: list[L.Expr],
    dims: list[Dim],
    reads: frozenset[str],
) -> Value:
    """With index arrays: their common axes stand at `spot` among the others."""
    shape, known = meet(cx.em, cx.facts, arrays, cx.where())
    rank = len(shape)
    sizes = [*sizes[:spot], *shape, *sizes[spot:]]
    dims = [*dims[:spot], *known, *dims[spot:]]
    x = cx.cheap(x)

    def at(em: Emitter, index: L.Index) -> L.Expr:
        outer = index[:spot] + index[spot + rank :]
        inner = index[spot : spot + rank]
        place: list[L.Expr] = []
        for a in axes:
            if a.array is None:
                place.append(_place(a, outer))
            else:
                v = arrays[a.array]
                place.append(v.at(em, project(cx.facts, v, shape, known, inner)))
        return x.at(em, tuple(place))

    regular = all(integers(cx.em, v) for v in arrays)
    cost = 0 if regular else 1 + sum(v.cost for v in arrays)
    return Value(x.dtype, tuple(sizes), tuple(dims), at, reads, cost)


# ---------------------------------------------------------------- integers


def in_range(
    cx: Context,
    i: L.Expr,
    value: Dim | None,
    n: L.Expr,
    dim: Dim,
    axis: int,
    stays: bool = True,
) -> L.Expr:
    """`i` wrapped if negative; raises IndexError where it is not proven to be in range.
    `stays`: the test holds for the rest of the block, not just in a nest."""
    ranges = cx.ranges
    tested = cx.tested.get((i, n)) if stays else None
    if tested is not None:
        return tested
    given = i
    low = ranges.nonnegative(value)
    moderate = ranges.moderate(value)
    if not low and value is not None and ranges.nonnegative(-value - 1):
        low = ranges.nonnegative(dim + value)
        if low or moderate:
            i = L.add(n, i)
            if not low:
                _out_of_bounds(cx, L.compare("<", i, L.ZERO), axis)
            return i
    high = value is not None and ranges.nonnegative(dim - 1 - value)
    if not (low and high):
        # One side alone is proven for a number of any length, not for one that wraps.
        low = low and ranges.exact_if_natural(value)
        high = high and moderate
    if not low:
        i = cx.em.let(L.select(L.compare("<", i, L.ZERO), L.add(i, n), i), "at")
    bad: L.Expr = L.lit(False, "bool")
    if not low:
        bad = L.either(bad, L.compare("<", i, L.ZERO))
    if not high:
        bad = L.either(bad, L.compare(">=", i, n))
    _out_of_bounds(cx, bad, axis)
    if stays and not isinstance(given, L.Lit):
        cx.tested[given, n] = i
    return i


def _out_of_bounds(cx: Context, bad: L.Expr, axis: int) -> None:
    if cx.boundscheck:
        message = f"index out of bounds for axis {axis}{cx.where()}"
        cx.em.check(bad, "IndexError", message)


def _checked(cx: Context, v: Value, name: str, lazy: bool, n: L.Expr, dim: Dim, axis: int) -> Value:
    """An index array whose elements are wrapped and tested: while they are read if each is
    read once (`lazy`), else beforehand, once for all uses."""
    if _regular(cx, v, n, dim, axis):
        return v
    known = _known_places(cx, (name, n))
    if known is not None:
        return known[0]
    where = cx.origin

    def at(em: Emitter, index: L.Index) -> L.Expr:
        i = em.let(cast(v.at(em, index), "int64"), "at")
        saved, cx.origin = cx.origin, where
        i = in_range(cx, i, None, n, Dim.of("?"), axis, stays=False)
        cx.origin = saved
        return i

    tested = Value("int64", v.sizes, v.dims, at, v.reads, v.cost + 1)
    if lazy:
        return tested
    places = replace(cx.copied(tested, "at"), reads=frozenset())
    cx.em.found[-1][name, n] = [places]
    return places


def _known_places(cx: Context, key: tuple[str, L.Expr | None]) -> list[Value] | None:
    return next((known[key] for known in cx.em.found if key in known), None)


def _regular(cx: Context, v: Value, n: L.Expr, dim: Dim, axis: int) -> bool:
    """Tests an index array that counts up, from no less than 0, by its last element alone; False
    if it is none."""
    found = integers(cx.em, v)
    if found is None or not isinstance(found.start, L.Lit) or found.start.value < 0:
        return False
    steps = [s.value for s in found.steps if isinstance(s, L.Lit)]
    if len(steps) < v.ndim or not all(0 <= s <= COEFFICIENT for s in steps):
        return False
    if found.start.value > CONSTANT:
        return False
    if not cx.boundscheck:
        return True
    # An array with elements has a positive size wherever that is the greater of some d and 0.
    last = Dim.of(found.start.value)
    for size, step in zip(v.dims, steps, strict=True):
        last = last + (relaxed(cx.facts.canonical(size)) - 1) * step
    if cx.ranges.nonnegative(cx.facts.canonical(dim) - 1 - last):
        return True
    bad = L.compare(">=", found.at(tuple(L.sub(s, L.ONE) for s in v.sizes)), n)
    for size, known, step in zip(v.sizes, v.dims, steps, strict=True):
        if step and not cx.ranges.moderate(known):
            # More elements than the axis has: the product may have wrapped.
            bad = L.either(bad, L.compare(">", size, n))
    for size, known in zip(v.sizes, v.dims, strict=True):
        if not cx.ranges.nonnegative(known - 1):
            bad = L.Bin("and", L.compare(">", size, L.ZERO), bad, "bool")
    _out_of_bounds(cx, bad, axis)
    return True


# ---------------------------------------------------------------- slices


def slice_of(
    cx: Context, given: list[nodes.Operand | None], n: L.Expr, dim: Dim
) -> tuple[L.Expr, L.Expr, L.Expr, Dim]:
    """start, step, count of a slice of an axis of size n, and the count's symbolic value."""
    start, stop, step = given
    if step is None:
        stride = 1
    elif isinstance(step, nodes.Const):
        stride = int(step.value)
    else:
        return _slice_at_run_time(cx, start, stop, step, n)
    if stride == 0:
        # Never reached: a check stands before it.
        return L.ZERO, L.ONE, L.ZERO, Dim.of(0)
    if stride == 1:
        exact = _exact(cx, start, stop, n, dim)
        if exact is not None:
            return exact
    if stride > 0:
        low = L.ZERO if start is None else _from(cx, start, n, L.ZERO)
        high = n if stop is None else _until(cx, stop, n, dim, near=_is_near(cx, start))
        span = L.sub(high, low)
    else:
        low = L.sub(n, L.ONE) if start is None else _start_backward(cx, start, n, dim)
        high = L.lit(-1) if stop is None else _from(cx, stop, n, L.lit(-1))
        span = L.sub(low, high)
    length = _length(cx, given, dim)
    count = cx.known_sizes.get(length)
    if start is None and stop is None and abs(stride) == 1:
        count, length = n, dim
    elif count is None:
        if abs(stride) > COEFFICIENT:
            span = L.Call("rt.trip_count", (L.ZERO, span, L.lit(abs(stride))), "int64")
        elif abs(stride) != 1:
            span = L.Bin("//", L.add(span, L.lit(abs(stride) - 1)), L.lit(abs(stride)), "int64")
        span = cx.em.let(span, "n")
        count = cx.em.let(L.select(L.compare(">", span, L.ZERO), span, L.ZERO), "n")
    return cx.em.let(low, "at"), L.lit(stride), count, length


def _length(cx: Context, given: list[nodes.Operand | None], dim: Dim) -> Dim:
    """The symbolic length of a slice."""
    bounds = [None if g is None else cx.known(g) for g in given]
    if any(g is not None and b is None for g, b in zip(given, bounds)):
        return cx.fresh_dim()
    canonical = cx.facts.canonical
    start, stop, step = (b if b is None else canonical(b) for b in bounds)
    return canonical(slice_length(canonical(dim), start, stop, step))


def _exact(
    cx: Context, start: nodes.Operand | None, stop: nodes.Operand | None, n: L.Expr, dim: Dim
) -> tuple[L.Expr, L.Expr, L.Expr, Dim] | None:
    """x[a:b] with 0 <= a <= b <= n proven: nothing is clipped."""
    ranges = cx.ranges

    def bound(operand: nodes.Operand | None, default: Dim, e: L.Expr) -> tuple[Dim | None, Any]:
        if operand is None:
            return default, lambda: e
        value = cx.known(operand)
        if value is not None and ranges.nonnegative(-value - 1):
            return dim + value, lambda: L.add(n, cx.integer(operand))
        return value, lambda: cx.integer(operand)

    (a, low), (b, high) = bound(start, Dim.of(0), L.ZERO), bound(stop, dim, n)
    if a is None or b is None:
        return None
    if not all(map(ranges.nonnegative, (a, b - a, dim - b))):
        return None
    count = b - a
    first = low()
    if count.is_const:
        return first, L.ONE, L.lit(count.const), count
    return first, L.ONE, cx.em.let(L.sub(high(), first), "n"), count


# Bounds are clipped before their difference is taken, which then does not wrap: the one counted
# from is raised to the first place, the one counted to is brought into the axis.


def _is_near(cx: Context, operand: nodes.Operand | None) -> bool:
    """A bound that is left out or moderate."""
    return operand is None or cx.ranges.moderate(cx.known(operand))


def _wrapped(cx: Context, operand: nodes.Operand, n: L.Expr) -> tuple[L.Expr, bool | None]:
    """A bound counted from the front, and whether it was negative (None: unknown)."""
    value = cx.known(operand)
    i = cx.integer(operand)
    if cx.ranges.exact_if_natural(value) and cx.ranges.nonnegative(value):
        return i, False
    if value is not None and cx.ranges.moderate(value) and cx.ranges.nonnegative(-value - 1):
        return L.add(n, i), True
    return cx.em.let(L.select(L.compare("<", i, L.ZERO), L.add(i, n), i), "at"), None


def _from(cx: Context, operand: nodes.Operand, n: L.Expr, first: L.Expr) -> L.Expr:
    """A bound that is not below `first`."""
    i, negative = _wrapped(cx, operand, n)
    return i if negative is False else _at_least(cx, i, first)


def _at_least(cx: Context, i: L.Expr, first: L.Expr) -> L.Expr:
    i = cx.em.let(i, "at")
    return L.select(L.compare("<", i, first), first, i)


def _until(cx: Context, operand: nodes.Operand, n: L.Expr, dim: Dim, near: bool) -> L.Expr:
    """A bound that is not above n; nor below 0, unless both are `near`."""
    i, negative = _wrapped(cx, operand, n)
    value = cx.known(operand)
    if negative is not False and not (near and cx.ranges.moderate(value)):
        i = _at_least(cx, i, L.ZERO)
    if negative is True:
        return i
    if value is not None and cx.ranges.nonnegative(dim - value):
        if negative is False or cx.ranges.moderate(value):
            return i
    i = cx.em.let(i, "at")
    return L.select(L.compare("<", i, n), i, n)


def _start_backward(cx: Context, operand: nodes.Operand, n: L.Expr, dim: Dim) -> L.Expr:
    i, negative = _wrapped(cx, operand, n)
    if negative is not True:
        value = cx.known(operand)
        inside = value is not None and cx.ranges.nonnegative(dim - 1 - value)
        if not inside or not (negative is False or cx.ranges.moderate(value)):
            i = L.select(L.compare("<", i, n), i, L.sub(n, L.ONE))
    # Before the first element: nothing is selected.
    return i if negative is False else _at_least(cx, i, L.lit(-1))


def _slice_at_run_time(
    cx: Context,
    start: nodes.Operand | None,
    stop: nodes.Operand | None,
    step: nodes.Operand,
    n: L.Expr,
) -> tuple[L.Expr, L.Expr, L.Expr, Dim]:
    stride = cx.integer(step)
    bounds = []
    for operand, function in ((start, "rt.slice_start"), (stop, "rt.slice_stop")):
        i = L.ZERO if operand is None else cx.integer(operand)
        args = (L.lit(operand is not None, "bool"), i, n, stride)
        bounds.append(cx.em.let(L.Call(function, args, "int64"), "at"))
    count = cx.em.let(L.Call("rt.trip_count", (*bounds, stride), "int64"), "n")
    return bounds[0], stride, count, cx.fresh_dim()


# ---------------------------------------------------------------- masks


def _expand_masks(cx: Context, items: Items, args: Sequence[nodes.Operand]) -> Items:
    """Arrays as ("values", array, name, lazy), masks as ("found", array) per axis of the mask."""
    kinds = [item[0] for item in items]
    # Looking up and testing in the innermost loop is best if that loop is over the arrays.
    lazy = not ({"all", "slice"} & set(kinds))
    out: list[tuple[Any, ...]] = []
    for item in items:
        if item[0] == "array":
            operand = args[item[1]]
            assert isinstance(operand, nodes.Var)
            out.append(("values", cx.ready(operand), operand.name, lazy))
        elif item[0] == "mask":
            out += [("found", found) for found in _found(cx, args[item[1]])]
        else:
            out.append(item)
    return out


def _found(cx: Context, operand: nodes.Operand) -> list[Value]:
    """The indices at which a mask is true; they are looked for once while it stays as it is."""
    assert isinstance(operand, nodes.Var)
    known = _known_places(cx, (operand.name, None))
    if known is not None:
        return known
    mask = cx.cheap(cx.ready(operand))
    if mask.ndim == 0:
        raise cx.refuse("an index that is a single bool cannot be compiled")
    found = cx.em.found[-1][operand.name, None] = nonzero(cx, mask)
    return found


def nonzero(cx: Context, mask: Value) -> list[Value]:
    """The indices at which a mask is true, one array per axis.  All are written, the next one over
    one that was in vain: there is room for one more, and nothing to be guessed for a processor."""
    em = cx.em
    count = em.variable(L.ZERO, "count")
    with em.nest(mask.sizes) as index:
        em.add(L.Let(count.name, L.add(count, cast(mask.at(em, index), "int64"))))
    dim = cx.fresh_dim()
    names = [em.fresh("at") for _ in range(mask.ndim)]
    for name in names:
        em.alloc(name, "int64", (L.add(count, L.ONE),))
    found = [replace(buffer_value(name, "int64", (dim,)), sizes=(count,)) for name in names]
    k = em.variable(L.ZERO, "k")
    with em.nest(mask.sizes) as index:
        for v, i in zip(found, index, strict=True):
            put(em, v, (k,), i)
        em.add(L.Let(k.name, L.add(k, cast(mask.at(em, index), "int64"))))
    return found


# ---------------------------------------------------------------- operations


@handles("index")
def index(cx: Context, stmt: nodes.Assign) -> Value:
    x = cx.value(stmt.op.args[0])
    items = stmt.op.attrs["items"]
    if any(i[0] in ("array", "mask") for i in items):
        x = cx.cheap(x)
    return view(cx, x, items, stmt.op.args)
