"""Surfaces of `select`, `choose`, `take`, `meshgrid`, `block` and others, as a few operations."""

from __future__ import annotations

from typing import Any

from ...ir.builder import Builder, Sym
from ...ir.op_registry import SURFACES, surface
from ..axes_and_sizes import axis_of, iota, product, require_static, size_of
from ..declare import as_operand, refuse_keywords


@surface("numpy.ndarray")
def build_ndarray(b: Builder, shape: Any, dtype: Any = float) -> Sym:
    return SURFACES["numpy.empty"](b, shape, dtype)


def _sizes(b: Builder, x: Sym) -> list[Any]:
    return [size_of(b, x, i) for i in range(x.ndim)]


def _along(b: Builder, x: Sym, axis: int, rank: int) -> Sym:
    """A vector, expanded to an array of `rank` axes along axis `axis`."""
    others = tuple(i for i in range(rank) if i != axis)
    return b.emit("expand_dims", x, axes=others) if others else x


# ---------------------------------------------------------------- selection


@surface("numpy.select")
def build_select(b: Builder, condlist: Any, choicelist: Any, default: Any = 0) -> Sym:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    out = as_operand(b, default)
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        out = b.emit("where", as_operand(b, condition), as_operand(b, choice), out)
    return out


@surface("numpy.choose")
def build_choose(b: Builder, a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Sym:
    refuse_keywords("numpy.choose", {"out": out})
    which = as_operand(b, a)
    found = [as_operand(b, c) for c in choices]
    which = _within(
        b, which, len(found), require_static(mode, "mode"), "invalid entry in choice array"
    )
    total = found[-1]
    for k in range(len(found) - 2, -1, -1):
        total = b.emit("where", which == k, found[k], total)
    return total if len(found) > 1 else b.emit("where", which == 0, total, total)


@surface("numpy.ndarray.choose")
def build_method_choose(b: Builder, a: Any, choices: Any, **keywords: Any) -> Sym:
    return build_choose(b, a, choices, **keywords)


def _within(b: Builder, index: Sym, n: Any, mode: str, message: str = "") -> Sym:
    """Indices as mode= defines them: "clip", "wrap" or unchanged.

    Unchanged indices are checked if a message is given."""
    if mode == "wrap":
        return index % n
    if mode == "clip":
        return b.emit("minimum", b.emit("maximum", index, 0), n - 1)
    if message:
        inside = (index >= 0) & (index < n)
        ok = b.emit("all", inside, axis=None, keepdims=False) if index.ndim else inside
        b.check(ok, "ValueError", message)
    return index


@surface("numpy.take", "numpy.ndarray.take")
def build_take(
    b: Builder, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise"
) -> Sym:
    refuse_keywords("numpy.take", {"out": out})
    x, index = as_operand(b, a), as_operand(b, indices)
    if axis is None:
        x, axis = b.emit("reshape", x, product(_sizes(b, x))) if x.ndim != 1 else x, 0
    at = axis_of(b, axis, x.ndim)
    index = _within(b, index, size_of(b, x, at), require_static(mode, "mode"))
    items: list[Any] = [("all",)] * x.ndim
    items[at] = ("array" if index.ndim else "int", 1)
    return b.emit("index", x, index, items=tuple(items))


@surface("numpy.take_along_axis")
def build_take_along_axis(b: Builder, arr: Any, indices: Any, axis: Any = -1) -> Sym:
    x, index = as_operand(b, arr), as_operand(b, indices)
    if axis is None:
        x, axis = b.emit("reshape", x, product(_sizes(b, x))) if x.ndim != 1 else x, 0
    at = axis_of(b, axis, x.ndim)
    if index.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    operands = [
        index if i == at else _along(b, iota(b, size_of(b, x, i)), i, x.ndim) for i in range(x.ndim)
    ]
    items = tuple(("array", i + 1) for i in range(x.ndim))
    return b.emit("index", x, *operands, items=items)


@surface("numpy.ix_")
def build_ix(b: Builder, *args: Any) -> tuple[Sym, ...]:
    return tuple(_along(b, as_operand(b, a), i, len(args)) for i, a in enumerate(args))


# ---------------------------------------------------------------- broadcasting and blocks


@surface("numpy.meshgrid")
def build_meshgrid(b: Builder, *xi: Any, indexing: Any = "xy", sparse: Any = False) -> list[Sym]:
    vectors = [b.emit("reshape", x, product(_sizes(b, x))) for x in (as_operand(b, v) for v in xi)]
    rank = len(vectors)
    order = list(range(rank))
    if require_static(indexing, "indexing") == "xy" and rank > 1:
        order[:2] = [1, 0]
    sizes: list[Any] = [None] * rank
    for x, axis in zip(vectors, order):
        sizes[axis] = size_of(b, x, 0)
    grids = [_along(b, x, axis, rank) for x, axis in zip(vectors, order)]
    if require_static(sparse, "sparse"):
        return grids
    return [b.emit("copy", b.emit("broadcast_to", g, *sizes)) for g in grids]


@surface("numpy.broadcast_arrays")
def build_broadcast_arrays(b: Builder, *args: Any) -> tuple[Sym, ...]:
    arrays = [as_operand(b, a) for a in args]
    total = arrays[0]
    for x in arrays[1:]:  # the sum has the broadcast shape
        total = total + x
    return tuple(b.view(b.emit("copy", b.emit("broadcast_like", x, total))) for x in arrays)


@surface("numpy.block")
def build_block(b: Builder, arrays: Any) -> Sym:
    def depth(part: Any) -> int:
        if isinstance(part, tuple):
            raise TypeError("arrays is a tuple. Only lists can be used to arrange blocks")
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
