"""Indexing: `x[items]` as a map from an index of the result to an index of x.

The same map serves reading and writing.  The element that it yields is a load, and a store goes to
the element that this load would read.  Integer index arrays are loaded as part of the map.  Masks
are first converted to integer index arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import nodes
from ...ir.record import record, replace
from ...ir.symbolic_dims import Dim, slice_length
from ..build.affine_array import affine_integers
from ..build.context import Context, handles
from ..build.lazy_array import Emitter, Value, buffer_value, store_element
from ..build.symbolic_range import MAX_COEFFICIENT, MAX_CONSTANT, lower_bound
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast
from .broadcast import broadcast_shape, project_index

Items = Sequence[tuple[Any, ...]]


@record
class Axis:
    """The index map of one axis of x.

    The index is `start + step * i`, where i is the index along the result's axis `result`; or the
    scalar `fixed`; or an element of an index array, whose position in the list of index arrays is
    `array`.
    """

    start: L.Expr = L.ZERO
    step: L.Expr = L.ONE
    result: int | None = None
    fixed: L.Expr | None = None
    array: int | None = None


def view(ctx: Context, x: Value, items: Items, args: Sequence[nodes.Operand]) -> Value:
    """The view x[items]; positions in `items` refer to `args`."""
    items = _expand_masks(ctx, items, args)
    advanced = any(item[0] in ("values", "found") for item in items)
    axes: list[Axis] = []
    arrays: list[Value] = []
    sizes: list[L.Expr] = []
    dims: list[Dim] = []
    reads = set(x.reads)
    spots: list[int] = []  # the rank of the result so far, at each advanced item
    advanced_at: list[int] = []  # positions of the advanced items
    axis = 0
    for position, item in enumerate(items):
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
            start, step, count, known = slice_of(ctx, given, n, dim)
            axes.append(Axis(start, step, result=len(sizes)))
            sizes.append(count)
            dims.append(known)
            for operand in given:
                reads |= ctx.value(operand).reads if operand is not None else set()
        elif kind == "int":
            operand = args[item[1]]
            reads |= ctx.value(operand).reads
            fixed = in_range(
                ctx, ctx.integer(operand), ctx.symbolic_value(operand), n, dim, axis - 1
            )
            axes.append(Axis(fixed=fixed))
            if advanced:
                spots.append(len(sizes))
                advanced_at.append(position)
        else:
            spots.append(len(sizes))
            advanced_at.append(position)
            axes.append(Axis(array=len(arrays)))
            v = item[1]
            if kind != "found":
                _, _, name, lazy = item
                v = _checked(ctx, v, name, lazy, n, dim, axis - 1)
            arrays.append(v)
            reads |= item[1].reads
    if not arrays:
        return _basic(ctx, x, axes, tuple(sizes), tuple(dims), frozenset(reads))
    # NumPy: the axes of adjacent advanced items replace them; otherwise they come first.
    spot = spots[0] if advanced_at[-1] - advanced_at[0] == len(advanced_at) - 1 else 0
    return _gather(ctx, x, axes, arrays, spot, sizes, dims, frozenset(reads))


def _basic(
    ctx: Context,
    x: Value,
    axes: list[Axis],
    sizes: tuple[L.Expr, ...],
    dims: tuple[Dim, ...],
    reads: frozenset[str],
) -> Value:
    """A view by basic indexing: an affine index map."""

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        return x.at(emitter, tuple(_axis_index(a, index) for a in axes))

    return Value(x.dtype, sizes, dims, at, reads, x.cost, depth=x.depth)


def _axis_index(axis: Axis, index: L.Index) -> L.Expr:
    """The index along one axis of x, for an index of the result."""
    if axis.fixed is not None:
        return axis.fixed
    assert axis.result is not None
    return L.add(L.mul(index[axis.result], axis.step), axis.start)


def _gather(
    ctx: Context,
    x: Value,
    axes: list[Axis],
    arrays: list[Value],
    spot: int,
    sizes: list[L.Expr],
    dims: list[Dim],
    reads: frozenset[str],
) -> Value:
    """A gather by index arrays; their broadcast axes are inserted at `spot` among the others."""
    shape, known = broadcast_shape(ctx.emitter, ctx.facts, arrays, ctx.location_suffix())
    rank = len(shape)
    sizes = [*sizes[:spot], *shape, *sizes[spot:]]
    dims = [*dims[:spot], *known, *dims[spot:]]
    x = ctx.materialise_if_costly(x)

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        outer = index[:spot] + index[spot + rank :]
        inner = index[spot : spot + rank]
        source_index: list[L.Expr] = []
        for a in axes:
            if a.array is None:
                source_index.append(_axis_index(a, outer))
            else:
                v = arrays[a.array]
                source_index.append(v.at(emitter, project_index(ctx.facts, v, shape, known, inner)))
        return x.at(emitter, tuple(source_index))

    regular = all(affine_integers(ctx.emitter, v) for v in arrays)
    cost = 0 if regular else 1 + sum(v.cost for v in arrays)
    return Value(x.dtype, tuple(sizes), tuple(dims), at, reads, cost)


# ---------------------------------------------------------------- integers


def in_range(
    ctx: Context,
    i: L.Expr,
    value: Dim | None,
    n: L.Expr,
    dim: Dim,
    axis: int,
    stays: bool = True,
) -> L.Expr:
    """`i` wrapped if negative, with a bounds check unless it is proven to be in range.

    `value` is the symbolic value of `i`, and `n` and `dim` are the size of the axis.  With `stays`,
    the check is recorded as available for the rest of the block; without, it is inside a nest.
    """
    ranges = ctx.ranges
    tested = ctx.available_checks.get((i, n)) if stays else None
    if tested is not None:
        return tested
    given = i
    low = ranges.nonnegative(value)
    moderate = ranges.is_far_from_overflow(value)
    if not low and value is not None and ranges.nonnegative(-value - 1):
        low = ranges.nonnegative(dim + value)
        if low or moderate:
            i = L.add(n, i)
            if not low:
                _out_of_bounds(ctx, L.compare("<", i, L.ZERO), axis)
            return i
    high = value is not None and ranges.nonnegative(dim - 1 - value)
    if not (low and high):
        # A proof of one bound alone is about the unbounded symbolic value.  It holds for the 64-bit
        # integer only if that does not wrap around.
        low = low and ranges.exact_if_nonnegative(value)
        high = high and moderate
    if not low:
        i = ctx.emitter.let(L.select(L.compare("<", i, L.ZERO), L.add(i, n), i), "at")
    bad: L.Expr = L.lit(False, "bool")
    if not low:
        bad = L.logical_or(bad, L.compare("<", i, L.ZERO))
    if not high:
        bad = L.logical_or(bad, L.compare(">=", i, n))
    _out_of_bounds(ctx, bad, axis)
    if stays and not isinstance(given, L.Lit):
        ctx.available_checks[given, n] = i
    return i


def _out_of_bounds(ctx: Context, bad: L.Expr, axis: int) -> None:
    """Emit a bounds check, unless bounds checking is off."""
    if ctx.boundscheck:
        message = f"index out of bounds for axis {axis}{ctx.location_suffix()}"
        ctx.emitter.check(bad, "IndexError", message)


def _checked(
    ctx: Context, v: Value, name: str, lazy: bool, n: L.Expr, dim: Dim, axis: int
) -> Value:
    """An index array with its elements wrapped and bounds-checked.

    With `lazy`, where each element is read once, this happens as elements are read.  Otherwise the
    checked array is materialised, once for all uses.
    """
    if _check_affine(ctx, v, n, dim, axis):
        return v
    known = _available_indices(ctx, (name, n))
    if known is not None:
        return known[0]
    where = ctx.origin

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        i = emitter.let(cast(v.at(emitter, index), "int64"), "at")
        saved, ctx.origin = ctx.origin, where
        i = in_range(ctx, i, None, n, Dim.of("?"), axis, stays=False)
        ctx.origin = saved
        return i

    tested = Value("int64", v.sizes, v.dims, at, v.reads, v.cost + 1)
    if lazy:
        return tested
    checked = replace(ctx.materialised_copy(tested, "at"), reads=frozenset())
    ctx.emitter.index_arrays[-1][name, n] = [checked]
    return checked


def _available_indices(ctx: Context, key: tuple[str, L.Expr | None]) -> list[Value] | None:
    """The index arrays that are available for an IR array and an axis size, else None."""
    return next((known[key] for known in ctx.emitter.index_arrays if key in known), None)


def _check_affine(ctx: Context, v: Value, n: L.Expr, dim: Dim, axis: int) -> bool:
    """Emit the bounds check of an affine, nondecreasing index array by its last element alone.

    False if the array is not affine with a start and steps that are constant and not negative.
    """
    found = affine_integers(ctx.emitter, v)
    if found is None or not isinstance(found.start, L.Lit) or found.start.value < 0:
        return False
    steps = [s.value for s in found.steps if isinstance(s, L.Lit)]
    if len(steps) < v.ndim or not all(0 <= s <= MAX_COEFFICIENT for s in steps):
        return False
    if found.start.value > MAX_CONSTANT:
        return False
    if not ctx.boundscheck:
        return True
    # A nonempty array of size max(d, 0) has d elements, so `lower_bound` is exact here.
    last = Dim.of(found.start.value)
    for size, step in zip(v.dims, steps, strict=True):
        last = last + (lower_bound(ctx.facts.canonical(size)) - 1) * step
    if ctx.ranges.nonnegative(ctx.facts.canonical(dim) - 1 - last):
        return True
    bad = L.compare(">=", found.at(tuple(L.sub(s, L.ONE) for s in v.sizes)), n)
    for size, known, step in zip(v.sizes, v.dims, steps, strict=True):
        if step and not ctx.ranges.is_far_from_overflow(known):
            # The index array has more elements than the axis: the product above may have wrapped.
            bad = L.logical_or(bad, L.compare(">", size, n))
    for size, known in zip(v.sizes, v.dims, strict=True):
        if not ctx.ranges.nonnegative(known - 1):
            bad = L.Bin("and", L.compare(">", size, L.ZERO), bad, "bool")
    _out_of_bounds(ctx, bad, axis)
    return True


# ---------------------------------------------------------------- slices


def slice_of(
    ctx: Context, given: list[nodes.Operand | None], n: L.Expr, dim: Dim
) -> tuple[L.Expr, L.Expr, L.Expr, Dim]:
    """Start, step and count of a slice of an axis of size n, and the count's symbolic value."""
    start, stop, step = given
    if step is None:
        stride = 1
    elif isinstance(step, nodes.Const):
        stride = int(step.value)
    else:
        return _slice_at_run_time(ctx, start, stop, step, n)
    if stride == 0:
        # Unreachable: a check of the step precedes the slice.
        return L.ZERO, L.ONE, L.ZERO, Dim.of(0)
    if stride == 1:
        exact = _exact(ctx, start, stop, n, dim)
        if exact is not None:
            return exact
    if stride > 0:
        low = L.ZERO if start is None else _clipped_start(ctx, start, n, L.ZERO)
        high = (
            n if stop is None else _clipped_stop(ctx, stop, n, dim, near=_is_moderate(ctx, start))
        )
        span = L.sub(high, low)
    else:
        low = L.sub(n, L.ONE) if start is None else _clipped_reverse_start(ctx, start, n, dim)
        high = L.lit(-1) if stop is None else _clipped_start(ctx, stop, n, L.lit(-1))
        span = L.sub(low, high)
    length = _length(ctx, given, dim)
    count = ctx.known_sizes.get(length)
    if start is None and stop is None and abs(stride) == 1:
        count, length = n, dim
    elif count is None:
        if abs(stride) > MAX_COEFFICIENT:
            span = L.Apply("rt.trip_count", (L.ZERO, span, L.lit(abs(stride))), "int64")
        elif abs(stride) != 1:
            span = L.Bin("//", L.add(span, L.lit(abs(stride) - 1)), L.lit(abs(stride)), "int64")
        span = ctx.emitter.let(span, "n")
        count = ctx.emitter.let(L.select(L.compare(">", span, L.ZERO), span, L.ZERO), "n")
    return ctx.emitter.let(low, "at"), L.lit(stride), count, length


def _length(ctx: Context, given: list[nodes.Operand | None], dim: Dim) -> Dim:
    """The symbolic length of a slice."""
    bounds = [None if g is None else ctx.symbolic_value(g) for g in given]
    if any(g is not None and b is None for g, b in zip(given, bounds)):
        return ctx.fresh_dim()
    canonical = ctx.facts.canonical
    start, stop, step = (b if b is None else canonical(b) for b in bounds)
    return canonical(slice_length(canonical(dim), start, stop, step))


def _exact(
    ctx: Context, start: nodes.Operand | None, stop: nodes.Operand | None, n: L.Expr, dim: Dim
) -> tuple[L.Expr, L.Expr, L.Expr, Dim] | None:
    """The slice x[a:b] without clipping, if 0 <= a <= b <= n is proven; else None."""
    ranges = ctx.ranges

    def bound(operand: nodes.Operand | None, default: Dim, e: L.Expr) -> tuple[Dim | None, Any]:
        if operand is None:
            return default, lambda: e
        value = ctx.symbolic_value(operand)
        if value is not None and ranges.nonnegative(-value - 1):
            return dim + value, lambda: L.add(n, ctx.integer(operand))
        return value, lambda: ctx.integer(operand)

    (a, low), (b, high) = bound(start, Dim.of(0), L.ZERO), bound(stop, dim, n)
    if a is None or b is None:
        return None
    if not all(map(ranges.nonnegative, (a, b - a, dim - b))):
        return None
    count = b - a
    first = low()
    if count.is_const:
        return first, L.ONE, L.lit(count.const), count
    return first, L.ONE, ctx.emitter.let(L.sub(high(), first), "n"), count


# The bounds of a slice are clipped before they are subtracted, so that the difference does not
# wrap: the start to at least the first index, the stop to the range of the axis.


def _is_moderate(ctx: Context, operand: nodes.Operand | None) -> bool:
    """True if a bound is omitted or moderate (see `Ranges.is_far_from_overflow`)."""
    return operand is None or ctx.ranges.is_far_from_overflow(ctx.symbolic_value(operand))


def _wrapped(ctx: Context, operand: nodes.Operand, n: L.Expr) -> tuple[L.Expr, bool | None]:
    """A bound with n added if it is negative, and whether it was negative (None: unknown)."""
    value = ctx.symbolic_value(operand)
    i = ctx.integer(operand)
    if ctx.ranges.exact_if_nonnegative(value) and ctx.ranges.nonnegative(value):
        return i, False
    if (
        value is not None
        and ctx.ranges.is_far_from_overflow(value)
        and ctx.ranges.nonnegative(-value - 1)
    ):
        return L.add(n, i), True
    return ctx.emitter.let(L.select(L.compare("<", i, L.ZERO), L.add(i, n), i), "at"), None


def _clipped_start(ctx: Context, operand: nodes.Operand, n: L.Expr, first: L.Expr) -> L.Expr:
    """A wrapped bound, clipped to at least `first`."""
    i, negative = _wrapped(ctx, operand, n)
    return i if negative is False else _at_least(ctx, i, first)


def _at_least(ctx: Context, i: L.Expr, first: L.Expr) -> L.Expr:
    """max(i, first)"""
    i = ctx.emitter.let(i, "at")
    return L.select(L.compare("<", i, first), first, i)


def _clipped_stop(ctx: Context, operand: nodes.Operand, n: L.Expr, dim: Dim, near: bool) -> L.Expr:
    """A wrapped bound, clipped to at most n.

    It is also clipped to at least 0, unless it is moderate and so is the start (`near`): their
    difference then does not wrap.
    """
    i, negative = _wrapped(ctx, operand, n)
    value = ctx.symbolic_value(operand)
    if negative is not False and not (near and ctx.ranges.is_far_from_overflow(value)):
        i = _at_least(ctx, i, L.ZERO)
    if negative is True:
        return i
    if value is not None and ctx.ranges.nonnegative(dim - value):
        if negative is False or ctx.ranges.is_far_from_overflow(value):
            return i
    i = ctx.emitter.let(i, "at")
    return L.select(L.compare("<", i, n), i, n)


def _clipped_reverse_start(ctx: Context, operand: nodes.Operand, n: L.Expr, dim: Dim) -> L.Expr:
    """The start of a slice with a negative step, clipped to [-1, n - 1]."""
    i, negative = _wrapped(ctx, operand, n)
    if negative is not True:
        value = ctx.symbolic_value(operand)
        inside = value is not None and ctx.ranges.nonnegative(dim - 1 - value)
        if not inside or not (negative is False or ctx.ranges.is_far_from_overflow(value)):
            i = L.select(L.compare("<", i, n), i, L.sub(n, L.ONE))
    # A start of -1, before the first element, selects nothing.
    return i if negative is False else _at_least(ctx, i, L.lit(-1))


def _slice_at_run_time(
    ctx: Context,
    start: nodes.Operand | None,
    stop: nodes.Operand | None,
    step: nodes.Operand,
    n: L.Expr,
) -> tuple[L.Expr, L.Expr, L.Expr, Dim]:
    """A slice whose step is not a constant: the runtime computes the bounds."""
    stride = ctx.integer(step)
    bounds = []
    for operand, function in ((start, "rt.slice_start"), (stop, "rt.slice_stop")):
        i = L.ZERO if operand is None else ctx.integer(operand)
        args = (L.lit(operand is not None, "bool"), i, n, stride)
        bounds.append(ctx.emitter.let(L.Apply(function, args, "int64"), "at"))
    count = ctx.emitter.let(L.Apply("rt.trip_count", (*bounds, stride), "int64"), "n")
    return bounds[0], stride, count, ctx.fresh_dim()


# ---------------------------------------------------------------- masks


def _expand_masks(ctx: Context, items: Items, args: Sequence[nodes.Operand]) -> Items:
    """The items with index arrays and masks resolved to values.

    An array becomes ("values", array, name, lazy).  A mask becomes one ("found", array) per axis of
    the mask.
    """
    kinds = [item[0] for item in items]
    # Loads and checks in the innermost loop are best if that loop runs over the index arrays.
    lazy = not ({"all", "slice"} & set(kinds))
    out: list[tuple[Any, ...]] = []
    for item in items:
        if item[0] == "array":
            operand = args[item[1]]
            assert isinstance(operand, nodes.Var)
            out.append(("values", ctx.evaluated_value(operand), operand.name, lazy))
        elif item[0] == "mask":
            out += [("found", found) for found in _mask_indices(ctx, args[item[1]])]
        else:
            out.append(item)
    return out


def _mask_indices(ctx: Context, operand: nodes.Operand) -> list[Value]:
    """The indices at which a mask is true, computed once while the mask does not change."""
    assert isinstance(operand, nodes.Var)
    known = _available_indices(ctx, (operand.name, None))
    if known is not None:
        return known
    mask = ctx.materialise_if_costly(ctx.evaluated_value(operand))
    if mask.ndim == 0:
        raise ctx.unsupported("an index that is a single bool cannot be compiled")
    found = ctx.emitter.index_arrays[-1][operand.name, None] = nonzero(ctx, mask)
    return found


def nonzero(ctx: Context, mask: Value) -> list[Value]:
    """The indices at which a mask is true, one array per axis.

    The loop is branch-free, so the processor has no branch to predict: every index is stored, and
    the position advances only if the mask is true.  The buffers have capacity for one more element.
    """
    emitter = ctx.emitter
    count = emitter.variable(L.ZERO, "count")
    with emitter.nest(mask.sizes) as index:
        emitter.add(L.Let(count.name, L.add(count, cast(mask.at(emitter, index), "int64"))))
    dim = ctx.fresh_dim()
    names = [emitter.new_name("at") for _ in range(mask.ndim)]
    for name in names:
        emitter.alloc(name, "int64", (L.add(count, L.ONE),))
    found = [replace(buffer_value(name, "int64", (dim,)), sizes=(count,)) for name in names]
    k = emitter.variable(L.ZERO, "k")
    with emitter.nest(mask.sizes) as index:
        for v, i in zip(found, index, strict=True):
            store_element(emitter, v, (k,), i)
        emitter.add(L.Let(k.name, L.add(k, cast(mask.at(emitter, index), "int64"))))
    return found


# ---------------------------------------------------------------- operations


@handles("index")
def index(ctx: Context, stmt: nodes.Assign) -> Value:
    """`x[items]`, as a virtual value."""
    x = ctx.value(stmt.op.args[0])
    items = stmt.op.attrs["items"]
    if any(i[0] in ("array", "mask") for i in items):
        x = ctx.materialise_if_costly(x)
    return view(ctx, x, items, stmt.op.args)
