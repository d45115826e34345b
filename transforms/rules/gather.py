"""NumPy functions that pick, choose, repeat or pad, as a few operations each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..build import Builder, Sym
from .declare import as_operand, numpy_number
from .registry import SURFACES, surface
from .sizes import axis_of, known, product, refuse, size_of, static


@surface("numpy.ndarray")
def build_ndarray(b: Builder, shape: Any, dtype: Any = float) -> Sym:
    return SURFACES["numpy.empty"](b, shape, dtype)


def _sizes(b: Builder, x: Sym) -> list[Any]:
    return [size_of(b, x, i) for i in range(x.ndim)]


def _along(b: Builder, x: Sym, axis: int, rank: int) -> Sym:
    """A vector as an array of that rank, which it runs along one axis of."""
    others = tuple(i for i in range(rank) if i != axis)
    return b.emit("expand_dims", x, axes=others) if others else x


# ---------------------------------------------------------------- choosing


@surface("numpy.select")
def build_select(b: Builder, condlist: Any, choicelist: Any, default: Any = 0) -> Sym:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    out = as_operand(b, default)
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        out = b.emit("where", as_operand(b, condition), as_operand(b, choice), out)
    return out


@surface("numpy.take")
def build_take(b: Builder, a: Any, indices: Any, axis: Any = None) -> Sym:
    x, places = as_operand(b, a), as_operand(b, indices)
    if axis is None:
        x, axis = b.emit("reshape", x, product(_sizes(b, x))) if x.ndim != 1 else x, 0
    items: list[Any] = [("all",)] * x.ndim
    items[axis_of(b, axis, x.ndim)] = ("array" if places.ndim else "int", 1)
    return b.emit("index", x, places, items=tuple(items))


@surface("numpy.take_along_axis")
def build_take_along_axis(b: Builder, arr: Any, indices: Any, axis: Any = -1) -> Sym:
    x, places = as_operand(b, arr), as_operand(b, indices)
    at = axis_of(b, axis, x.ndim)
    if places.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    operands = [
        places
        if i == at
        else _along(b, b.emit("arange", 0, size_of(b, x, i), 1, dtype="int64"), i, x.ndim)
        for i in range(x.ndim)
    ]
    items = tuple(("array", i + 1) for i in range(x.ndim))
    return b.emit("index", x, *operands, items=items)


@surface("numpy.ix_")
def build_ix(b: Builder, *args: Any) -> tuple[Sym, ...]:
    return tuple(_along(b, as_operand(b, a), i, len(args)) for i, a in enumerate(args))


# ---------------------------------------------------------------- repeating


@surface("numpy.meshgrid")
def build_meshgrid(b: Builder, *xi: Any, indexing: Any = "xy", sparse: Any = False) -> list[Sym]:
    vectors = [b.emit("reshape", x, product(_sizes(b, x))) for x in (as_operand(b, v) for v in xi)]
    rank = len(vectors)
    order = list(range(rank))
    if static(indexing, "indexing") == "xy" and rank > 1:
        order[:2] = [1, 0]
    sizes: list[Any] = [None] * rank
    for x, axis in zip(vectors, order):
        sizes[axis] = size_of(b, x, 0)
    grids = [_along(b, x, axis, rank) for x, axis in zip(vectors, order)]
    if static(sparse, "sparse"):
        return grids
    return [b.emit("copy", b.emit("broadcast_to", g, *sizes)) for g in grids]


@surface("numpy.broadcast_arrays")
def build_broadcast_arrays(b: Builder, *args: Any) -> tuple[Sym, ...]:
    arrays = [as_operand(b, a) for a in args]
    total = arrays[0]
    for x in arrays[1:]:  # the sum has the shape that all are broadcast to
        total = total + x
    return tuple(b.emit("copy", b.emit("broadcast_like", x, total)) for x in arrays)


@surface("numpy.block")
def build_block(b: Builder, arrays: Any) -> Sym:
    def depth(part: Any) -> int:
        return 1 + depth(part[0]) if isinstance(part, (list, tuple)) else 0

    rank = max(depth(arrays), 1)

    def join(part: Any, level: int) -> Sym:
        if not isinstance(part, (list, tuple)):
            x = as_operand(b, part)
            missing = rank - x.ndim
            return b.emit("expand_dims", x, axes=tuple(range(missing))) if missing > 0 else x
        parts = [join(p, level - 1) for p in part]
        return b.emit("concatenate", *parts, axis=parts[0].ndim - depth(part))

    return join(arrays, rank)


# ---------------------------------------------------------------- padding


def _pairs(b: Builder, width: Any, rank: int) -> list[tuple[Any, Any]]:
    """`pad_width` as (before, after) for each axis."""
    if not isinstance(width, (tuple, list)):
        return [(width, width)] * rank
    if not isinstance(width[0], (tuple, list)):
        both = (width[0], width[0]) if len(width) == 1 else tuple(width)
        return [both] * rank
    pairs = [(p[0], p[-1]) for p in width]
    if len(pairs) not in (1, rank):
        raise ValueError(
            "operands could not be broadcast together: pad_width does not fit the array"
        )
    return pairs * rank if len(pairs) == 1 else pairs


def _sources(b: Builder, n: Any, before: Any, after: Any, mode: str) -> Sym:
    """For each place of a padded axis, where its element comes from."""
    at = b.emit("arange", 0, n + before + after, 1, dtype="int64") - before
    last = n - 1
    if mode == "edge":
        return b.emit("minimum", b.emit("maximum", at, 0), last)
    if mode == "wrap":
        return at % n
    if mode == "symmetric":
        turned = at % (2 * n)
        return b.emit("minimum", turned, 2 * n - 1 - turned)
    period = b.emit("maximum", b.sym(2 * last), 1)
    turned = at % period
    return b.emit("minimum", turned, 2 * last - turned)


@surface("numpy.pad")
def build_pad(
    b: Builder, array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0
) -> Sym:
    x, mode = as_operand(b, array), static(mode, "mode")
    pairs = _pairs(b, pad_width, x.ndim)
    if mode in ("edge", "wrap", "symmetric", "reflect"):
        for axis, (before, after) in enumerate(pairs):
            if (known(before), known(after)) != (0, 0):
                places = _sources(b, size_of(b, x, axis), before, after, mode)
                x = build_take(b, x, places, axis)
        return x
    if mode != "constant" or isinstance(constant_values, (tuple, list)):
        raise refuse(b, f"numpy.pad with mode={mode!r}", "fill an array and assign into its middle")
    return _surrounded(b, x, pairs, constant_values)


def _surrounded(b: Builder, x: Sym, pairs: Sequence[tuple[Any, Any]], fill: Any) -> Sym:
    sizes = _sizes(b, x)
    whole = [n + before + after for n, (before, after) in zip(sizes, pairs)]
    fill = numpy_number(b.sym(fill)).astype(x.dtype)
    out = b.emit("full", fill, *whole, dtype=x.dtype)
    operands: list[Any] = []
    items: list[Any] = []
    for n, (before, _) in zip(sizes, pairs):
        items.append(("slice", 2 + len(operands), 3 + len(operands), None))
        operands += [before, n + before]
    return b.emit("update", out, x, *operands, path=(("index", tuple(items)),))
