"""Reductions and scans: one loop nest each, into which a virtual operand is fused.

If the contiguous axis is reduced, each result has a scalar accumulator.  Otherwise the nest runs
in memory order and accumulates in the result array.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import nodes
from ...ir.record import record, replace
from ...ir.symbolic_dims import Dim
from ..build.context import Context, handles
from ..build.lazy_array import Emitter, Value, fill, scalar_value, store_element
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast, kind
from .broadcast import is_one, project_index
from .scalar_ops import minmax_select

Step = Callable[[Emitter, L.Expr, L.Expr], L.Expr]


@record(frozen=True)
class Fold:
    """A fold: `step(emitter, accumulator, element)` is the next accumulator of type `dtype`.

    `start` is its initial value.  None means the first element, and the operand may not be empty.
    """

    step: Step
    start: L.Expr | None
    dtype: str


def _fold(op: str, result: str, scalar: bool) -> Fold:
    """The fold of a reduction to dtype `result`; `scalar` if the accumulator is a scalar."""
    if op in ("any", "all"):
        sign = "or" if op == "any" else "and"
        return Fold(
            lambda emitter, acc, e: L.Bin(sign, acc, cast(e, "bool"), "bool"),
            L.Lit(op == "all", "bool"),
            "bool",
        )
    if op == "count_nonzero":
        return Fold(
            lambda emitter, acc, e: L.add(acc, L.Cast(cast(e, "bool"), "int64")), L.ZERO, "int64"
        )
    if op in ("max", "min"):
        sign = ">" if op == "max" else "<"
        return Fold(
            lambda emitter, acc, e: minmax_select(sign, emitter.let(cast(e, result)), acc),
            None,
            result,
        )
    # A long float32 sum in one accumulator would lose precision that NumPy's pairwise sum keeps.
    dtype = "float64" if result == "float32" and scalar else result
    sign, start = ("*", 1) if op == "prod" else ("+", 0)
    if result == "bool":
        raise AssertionError("sums of bools are integers")
    return Fold(
        lambda emitter, acc, e: L.Bin(sign, acc, cast(e, dtype), dtype), L.Lit(start, dtype), dtype
    )


@handles("sum", "prod", "max", "min", "any", "all", "count_nonzero")
def fold(ctx: Context, stmt: nodes.Assign) -> Value:
    """A reduction by a fold over some axes."""
    x, axes, keepdims = _operand(ctx, stmt)
    return _reduce(ctx, stmt.op.name, stmt.target, x, axes, keepdims)


def _operand(ctx: Context, stmt: nodes.Assign) -> tuple[Value, tuple[int, ...], bool]:
    """The operand of a reduction, the reduced axes (not negative), and `keepdims`."""
    x = ctx.evaluated_value(stmt.op.args[0])
    axis = stmt.op.attrs.get("axis")
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return (
        x,
        tuple(a % x.ndim for a in axes) if x.ndim else (),
        bool(stmt.op.attrs.get("keepdims", False)),
    )


def _reduce(
    ctx: Context,
    op: str,
    target: nodes.Var,
    x: Value,
    axes: tuple[int, ...],
    keepdims: bool,
    finish: Callable[[L.Expr], L.Expr] = lambda e: e,
) -> Value:
    """Reduce `x` over `axes` into `target`'s shape; `finish` is applied to each result."""
    emitter = ctx.emitter
    result = target.type.dtype
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    if op in ("max", "min"):
        _refuse_empty(ctx, op, [x.sizes[k] for k in axes], [x.dims[k] for k in axes])
    if isinstance(target.type, nodes.Scalar):
        acc = _accumulate(emitter, _fold(op, result, True), x, axes, {})
        return scalar_value(cast(finish(acc), result))
    sizes, dims = _result_shape(x, axes, keepdims)
    dest = ctx.dest(target, x.reads, sizes)
    dest = replace(dest, dims=dims)

    def dest_index(index: dict[int, L.Expr]) -> L.Index:
        if keepdims:
            return tuple(index[k] if k in index else L.ZERO for k in range(x.ndim))
        return tuple(index[k] for k in kept)

    if not kept or not axes or _innermost(x) in axes:
        # The contiguous axis is reduced: one scalar accumulator per result.
        f = _fold(op, result, True)
        with emitter.nest([x.sizes[k] for k in kept]) as outer:
            at = dict(zip(kept, outer, strict=True))
            acc = _accumulate(emitter, f, x, axes, at)
            store_element(emitter, dest, dest_index(at), cast(finish(acc), result))
        return dest
    # The contiguous axis is kept: iterate in memory order and accumulate in the result array.
    f = _fold(op, result, False)
    if f.start is None:
        first = x
        with emitter.nest([x.sizes[k] for k in kept]) as outer:
            at = dict(zip(kept, outer, strict=True))
            e = first.at(emitter, tuple(at.get(k, L.ZERO) for k in range(x.ndim)))
            store_element(emitter, dest, dest_index(at), cast(e, result))
    else:
        start = f.start
        fill(emitter, dest, lambda index: start)
    with emitter.nest(x.sizes) as index:
        at = {k: index[k] for k in kept}
        here = dest.at(emitter, dest_index(at))
        element = x.at(emitter, index)
        if op == "sum":
            store_element(emitter, dest, dest_index(at), cast(element, result), add=True)
        else:
            store_element(emitter, dest, dest_index(at), f.step(emitter, here, element))
    if finish(L.ZERO) != L.ZERO:
        with emitter.nest(dest.sizes) as index:
            store_element(emitter, dest, index, cast(finish(dest.at(emitter, index)), result))
    return dest


def _innermost(x: Value) -> int:
    """The axis that is contiguous in memory; the last one for a virtual value."""
    return x.memory.axes.index(x.ndim - 1) if x.memory is not None else x.ndim - 1


def _accumulate(
    emitter: Emitter, f: Fold, x: Value, axes: tuple[int, ...], outer: dict[int, L.Expr]
) -> L.Expr:
    """Emit the fold over `axes` at the index `outer` of the other axes; the accumulator."""
    if f.start is None:
        first = x.at(emitter, tuple(outer.get(k, L.ZERO) for k in range(x.ndim)))
        acc = emitter.variable(cast(first, f.dtype), "acc")
    else:
        acc = emitter.variable(f.start, "acc")
    with emitter.nest([x.sizes[k] for k in axes]) as inner:
        at = {**outer, **dict(zip(axes, inner, strict=True))}
        e = x.at(emitter, tuple(at[k] for k in range(x.ndim)))
        emitter.add(L.Let(acc.name, f.step(emitter, acc, e)))
    return acc


def _result_shape(
    x: Value, axes: tuple[int, ...], keepdims: bool
) -> tuple[tuple[L.Expr, ...], tuple[Dim, ...]]:
    """The shape of `x` without `axes`, or with size 1 there."""
    sizes: list[L.Expr] = []
    dims: list[Dim] = []
    for k in range(x.ndim):
        if k not in axes:
            sizes.append(x.sizes[k])
            dims.append(x.dims[k])
        elif keepdims:
            sizes.append(L.ONE)
            dims.append(Dim.of(1))
    return tuple(sizes), tuple(dims)


# NumPy's names of reductions without an identity, for error messages.
_WITHOUT_IDENTITY = {"max": "maximum", "min": "minimum"}


def _refuse_empty(ctx: Context, op: str, sizes: list[L.Expr], dims: list[Dim]) -> None:
    """Emit a check that none of the reduced axes is empty, unless that is proven."""
    empty: L.Expr = L.lit(False, "bool")
    for n, d in zip(sizes, dims, strict=True):
        if not ctx.ranges.nonnegative(d - 1):
            empty = L.logical_or(empty, L.compare("==", n, L.ZERO))
    if op in _WITHOUT_IDENTITY:
        message = (
            f"zero-size array to reduction operation {_WITHOUT_IDENTITY[op]} which has no identity"
        )
    else:
        message = f"attempt to get {op} of an empty sequence"
    ctx.emitter.check(empty, "ValueError", message + ctx.location_suffix())


# ---------------------------------------------------------------- moments


def _count(ctx: Context, x: Value, axes: tuple[int, ...]) -> L.Expr:
    """The number of elements that each result reduces."""
    return ctx.emitter.let(L.product(tuple(x.sizes[k] for k in axes)), "n")


def _as_float64(x: Value) -> Value:
    """`x` with its elements converted to float64."""
    return replace(
        x, at=lambda emitter, index: cast(x.at(emitter, index), "float64"), dtype="float64"
    )


@handles("mean")
def mean(ctx: Context, stmt: nodes.Assign) -> Value:
    """The arithmetic mean over some axes."""
    x, axes, keepdims = _operand(ctx, stmt)
    n = _count(ctx, x, axes)
    if kind(x.dtype) in "biu":  # an integer sum could overflow 64 bits
        x = _as_float64(x)

    def finish(acc: L.Expr) -> L.Expr:
        return L.Bin("/", acc, cast(n, acc.dtype), acc.dtype)

    return _reduce(ctx, "sum", stmt.target, x, axes, keepdims, finish)


@handles("var", "std")
def var(ctx: Context, stmt: nodes.Assign) -> Value:
    """The variance or standard deviation in two passes: the mean, then the squared deviations."""
    emitter, target = ctx.emitter, stmt.target
    x, axes, keepdims = _operand(ctx, stmt)
    x = ctx.materialise_if_costly(x)
    n = _count(ctx, x, axes)
    ddof = stmt.op.attrs.get("ddof", 0)
    rest = emitter.let(L.sub(n, _ddof(ddof)), "n")
    rest = emitter.let(L.select(L.compare(">", rest, L.ZERO), rest, L.ZERO), "n")
    result = target.type.dtype
    dtype = "float64"
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    wide = _as_float64(x)

    def moment(at: dict[int, L.Expr]) -> L.Expr:
        add = _fold("sum", dtype, True)
        total = _accumulate(emitter, add, wide, axes, at)
        centre = emitter.variable(L.Bin("/", total, cast(n, dtype), dtype), "mean")

        def square(emitter: Emitter, index: L.Index) -> L.Expr:
            d = emitter.let(L.Bin("-", wide.at(emitter, index), centre, dtype), "d")
            return L.Bin("*", d, d, dtype)

        acc = _accumulate(emitter, add, replace(wide, at=square), axes, at)
        out: L.Expr = L.Bin("/", acc, cast(rest, dtype), dtype)
        return L.Apply("np.sqrt", (out,), dtype) if stmt.op.name == "std" else out

    if isinstance(target.type, nodes.Scalar):
        return scalar_value(cast(emitter.let(moment({})), result))
    sizes, _ = _result_shape(x, axes, keepdims)
    dest = ctx.dest(target, x.reads, sizes)
    with emitter.nest([x.sizes[k] for k in kept]) as outer:
        at = dict(zip(kept, outer, strict=True))
        index = tuple(at.get(k, L.ZERO) for k in range(x.ndim) if keepdims or k in at)
        store_element(emitter, dest, index, cast(moment(at), result))
    return dest


def _ddof(ddof: object) -> L.Expr:
    assert isinstance(ddof, (int, float)) and ddof == int(ddof), "ddof must be a whole number"
    return L.lit(int(ddof))


# ---------------------------------------------------------------- argmin and argmax


@handles("argmax", "argmin")
def argmax(ctx: Context, stmt: nodes.Assign) -> Value:
    """The position of the first extreme along the reduced axes, in C order."""
    emitter, target, op = ctx.emitter, stmt.target, stmt.op.name
    x, axes, keepdims = _operand(ctx, stmt)
    sign = ">" if op == "argmax" else "<"
    _refuse_empty(ctx, op, [x.sizes[k] for k in axes], [x.dims[k] for k in axes])
    kept = tuple(k for k in range(x.ndim) if k not in axes)

    def position(at: dict[int, L.Expr]) -> L.Expr:
        first = x.at(emitter, tuple(at.get(k, L.ZERO) for k in range(x.ndim)))
        best = emitter.variable(first, "best")
        best_at = emitter.variable(L.ZERO, "best_at")
        with emitter.nest([x.sizes[k] for k in axes]) as inner:
            here = {**at, **dict(zip(axes, inner, strict=True))}
            e = emitter.let(x.at(emitter, tuple(here[k] for k in range(x.ndim))))
            better: L.Expr = L.Bin(sign, e, best, "bool")
            if x.dtype == "bool":
                better = L.Bin("!=", e, best, "bool")
                wanted = e if op == "argmax" else L.Un("not", e, "bool")
                better = L.Bin("and", better, wanted, "bool")
            if kind(x.dtype) == "f":
                # The first NaN is the extreme, as in NumPy.
                nan, known = L.Bin("!=", e, e, "bool"), L.Bin("==", best, best, "bool")
                better = L.Bin("or", better, L.Bin("and", nan, known, "bool"), "bool")
            with emitter.branch(better):
                flat: L.Expr = L.ZERO
                for k, i in zip(axes, inner, strict=True):
                    flat = L.add(L.mul(flat, x.sizes[k]), i)
                emitter.add(L.Let(best.name, e))
                emitter.add(L.Let(best_at.name, flat))
        return best_at

    if isinstance(target.type, nodes.Scalar):
        return scalar_value(position({}))
    sizes, _ = _result_shape(x, axes, keepdims)
    dest = ctx.dest(target, x.reads, sizes)
    with emitter.nest([x.sizes[k] for k in kept]) as outer:
        at = dict(zip(kept, outer, strict=True))
        index = tuple(at.get(k, L.ZERO) for k in range(x.ndim) if keepdims or k in at)
        store_element(emitter, dest, index, position(at))
    return dest


# ---------------------------------------------------------------- scans


@handles("cumsum", "cumprod")
def scan(ctx: Context, stmt: nodes.Assign) -> Value:
    """A cumulative sum or product along an axis, or over the flattened array."""
    emitter, target = ctx.emitter, stmt.target
    x = ctx.evaluated_value(stmt.op.args[0])
    axis = stmt.op.attrs.get("axis")
    if isinstance(axis, tuple):
        (axis,) = axis
    result = target.type.dtype
    sign, start = ("*", 1) if stmt.op.name == "cumprod" else ("+", 0)
    dtype = "float64" if result == "float32" else result
    if axis is None:
        dest = ctx.dest(target, x.reads, (ctx.emitter.let(L.product(x.sizes), "n"),))
        axes, kept = tuple(range(x.ndim)), ()
    else:
        axis %= x.ndim
        dest = ctx.dest(target, x.reads, x.sizes)
        axes, kept = (axis,), tuple(k for k in range(x.ndim) if k != axis)
    with emitter.nest([x.sizes[k] for k in kept]) as outer:
        at = dict(zip(kept, outer, strict=True))
        acc = emitter.variable(L.Lit(start, dtype), "acc")
        count = emitter.variable(L.ZERO, "k") if axis is None else None
        with emitter.nest([x.sizes[k] for k in axes]) as inner:
            here = {**at, **dict(zip(axes, inner, strict=True))}
            index = tuple(here[k] for k in range(x.ndim))
            e = cast(x.at(emitter, index), dtype)
            emitter.add(L.Let(acc.name, L.Bin(sign, acc, e, dtype)))
            store_element(emitter, dest, index if count is None else (count,), cast(acc, result))
            if count is not None:
                emitter.add(L.Let(count.name, L.add(count, L.ONE)))
    return dest


# ---------------------------------------------------------------- unbroadcast


@handles("unbroadcast")
def unbroadcast(ctx: Context, stmt: nodes.Assign) -> Value:
    """Sum g to the shape of `like`: the transpose of broadcasting."""
    emitter, target = ctx.emitter, stmt.target
    g, like = ctx.evaluated_value(stmt.op.args[0]), ctx.evaluated_value(stmt.op.args[1])
    lead = g.ndim - like.ndim
    if isinstance(target.type, nodes.Scalar):
        return _reduce(ctx, "sum", target, g, tuple(range(g.ndim)), False)
    summed = tuple(range(lead)) + tuple(
        lead + k
        for k in range(like.ndim)
        if is_one(ctx.facts, like.dims[k]) and not is_one(ctx.facts, g.dims[lead + k])
    )
    rest = [k for k in range(like.ndim) if lead + k not in summed]
    if all(ctx.facts.known_equal(g.dims[lead + k], like.dims[k]) for k in rest):
        if not summed:
            return replace(g, reads=g.reads | like.reads)
        if summed == tuple(range(lead)):
            return _reduce(ctx, "sum", target, g, summed, False)
    reads = g.reads | like.reads
    dest = replace(ctx.dest(target, reads, like.sizes), dims=like.dims)
    fill(emitter, dest, lambda index: L.Lit(0, dest.dtype))
    with emitter.nest(g.sizes) as index:
        dest_index = project_index(ctx.facts, dest, g.sizes, g.dims, index)
        store_element(emitter, dest, dest_index, cast(g.at(emitter, index), dest.dtype), add=True)
    return dest
