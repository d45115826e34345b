"""Functional array updates: `update` and `update_add` return a new version of an array.

`path` selects the written region as a chain of views of the array: ("index", items),
("transpose", axes), ("reshape", positions), ("expand_dims", axes), ("squeeze", axes).  Positions
refer to the arguments (x, v, *operands).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Operand, Type, Var
from ...ir.op_registry import Accumulate, Rule, register
from ...ir.precedence import ATOM, TERNARY, Text, wrap
from ...ir.symbolic_dims import Dim
from ..axes_and_sizes import (
    constant_value,
    iota,
    product,
    require_broadcastable,
    shape_parts,
    size_of,
    symbolic_size,
)
from ..numpy.indexing import items_text, numpy_key, positions, renumber, result_shape

Path = Sequence[tuple[str, Any]]


# ---------------------------------------------------------------- regions


def read_path(b: Builder, x: Any, path: Path, args: Sequence[Any]) -> Sym:
    """Emit the read of the region of `x` that a path selects."""
    x = b.sym(x)
    for kind, what in path:
        if kind == "index":
            used = list(dict.fromkeys(positions(what)))
            first = {p: used.index(p) + 1 for p in used}
            items = renumber(what, lambda p, first=first: first[p])
            x = b.emit("index", x, *(args[p] for p in used), items=items)
        elif kind == "reshape":
            x = b.emit("reshape", x, *(args[p] for p in what))
        else:
            x = b.emit(kind, x, axes=what)
    return x


def path_text(base: Text, path: Path, args: Sequence[Text]) -> str:
    """The source text of the region, for example `x[1:].T`."""
    text = wrap(base, ATOM)
    for kind, what in path:
        if kind == "index":
            text += items_text(what, args)
        elif kind == "transpose":
            text += ".T" if what == tuple(range(len(what)))[::-1] else f".transpose{what}"
        elif kind == "reshape":
            text += f".reshape({', '.join(wrap(args[p], TERNARY) for p in what)})"
        else:
            text = f"np.{kind}({text}, {what[0] if len(what) == 1 else what})"
    return text


def target_text(base: Text, path: Path, args: Sequence[Text]) -> str:
    """The source text of the region as the target of an assignment."""
    text = path_text(base, path, args)
    return text if path and path[-1][0] == "index" else f"{text}[...]"


def region_flat_indices(x: Any, path: Path, args: Sequence[Any]) -> Any:
    """The flat index in the array of each element of the region."""
    ids = np.arange(np.size(x)).reshape(np.shape(x))
    for kind, what in path:
        if kind == "index":
            ids = np.asarray(ids[numpy_key(what, args)])
        elif kind == "transpose":
            ids = ids.transpose(what)
        elif kind == "reshape":
            ids = ids.reshape([int(args[p]) for p in what])
        else:
            ids = getattr(np, kind)(ids, what)
    return ids


def _region_shape(b: Builder, x: Any, path: Path, args: Sequence[Operand]) -> tuple[Dim, ...]:
    """The shape of the region; emits the index checks of `result_shape`."""
    shape = x.type.shape
    for k, (kind, what) in enumerate(path):

        def size(axis: int, k: int = k) -> Any:
            return constant_value(read_path(b, x, path[:k], args).shape[axis])

        if kind == "index":
            shape = result_shape(b, shape, what, args, size)
        elif kind == "transpose":
            shape = tuple(shape[a] for a in what)
        elif kind == "reshape":
            shape = tuple(symbolic_size(args[p]) for p in what)
        elif kind == "expand_dims":
            kept = iter(shape)
            rank = len(shape) + len(what)
            shape = tuple(Dim.of(1) if a in what else next(kept) for a in range(rank))
        else:
            shape = tuple(d for a, d in enumerate(shape) if a not in what)
    return shape


# ---------------------------------------------------------------- types


def _infer(
    b: Builder, types: Sequence[Any], attrs: dict[str, Any], operands: Sequence[Operand]
) -> Type:
    if b.checks:
        x, v = operands[:2]
        shape = _region_shape(b, x, attrs["path"], operands)
        _check_value(b, shape, v, lambda: read_path(b, x, attrs["path"], operands))
    return types[0]


def _check_value(b: Builder, shape: tuple[Dim, ...], v: Any, region: Callable[[], Sym]) -> None:
    """Emit checks that the value broadcasts to the region."""
    lead = max(0, v.type.ndim - len(shape))
    wide = (Dim.of(1),) * lead + shape

    def into() -> list[Any]:
        return [constant_value(s) for s in region().shape]

    def message() -> tuple[Any, ...]:
        value = [constant_value(s) for s in b.sym(v).shape]
        prefix = "could not broadcast input array from shape "
        return (prefix, *shape_parts(value), " into shape ", *shape_parts(into()))

    for axis, have in enumerate(v.type.shape):
        at = len(wide) - v.type.ndim + axis
        require_broadcastable(
            b,
            have,
            wide[at],
            lambda axis=axis, at=at: (size_of(b, v, axis), 1 if at < lead else into()[at - lead]),
            "ValueError",
            message,
        )


# ---------------------------------------------------------------- evaluation


def _evaluate(x: Any, v: Any, *operands: Any, path: Path) -> Any:
    out = np.array(x, order="C")  # a view of the copy must write into it
    ids, values = _scattered(x, v, path, operands)
    out.reshape(-1)[ids] = values
    return out


def _evaluate_add(x: Any, v: Any, *operands: Any, path: Path) -> Any:
    out = np.array(x, order="C")  # a view of the copy must write into it
    np.add.at(out.reshape(-1), *_scattered(x, v, path, operands))
    return out


def _scattered(x: Any, v: Any, path: Path, operands: Sequence[Any]) -> tuple[Any, Any]:
    """The flat indices that are written, and the flat values, broadcast to the region.

    The value is broadcast here because `np.add.at` of NumPy 2.4 misreads a value that it has to
    broadcast.  Leading axes of size 1 are dropped, as in assignments."""
    ids = region_flat_indices(x, path, (x, v, *operands))
    v = np.asarray(v)
    v = v.reshape(v.shape[v.ndim - ids.ndim :]) if v.ndim > ids.ndim else v
    return ids.reshape(-1), np.broadcast_to(v, ids.shape).reshape(-1)


def _text(name: str) -> Callable[..., Text]:
    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Any]) -> Text:
        target = target_text(args[0], attrs["path"], args)
        return f"{name}({target}, {wrap(args[1], TERNARY)})", ATOM

    return text


# ---------------------------------------------------------------- derivatives


def _pullback(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    path = attrs["path"]
    bars: dict[int, Any] = {}
    # The region is read before it is cleared, so that it can be cleared in place.
    if 1 in wanted:
        bars[1] = _read_last(b, g, path, args)
    if 0 in wanted and path:
        bars[0] = b.emit("update", g, 0.0, *args[2:], path=path)
    return bars


def _read_last(b: Builder, g: Sym, path: Path, args: Sequence[Sym]) -> Sym:
    """The region of `g`; 0 for a write that a later write to the same element overwrote."""
    value = read_path(b, g, path, args)
    repeats = any(k == "index" and any(i[0] == "array" for i in what) for k, what in path)
    if not repeats or value.ndim == 0:
        return value
    order = iota(b, product(value.shape))
    order = b.emit("reshape", order, *value.shape) if value.ndim > 1 else order
    # `owner` is read only where it is written: the uninitialised elements are never used.
    owner = b.emit("empty_like", g, dtype="int64")
    owner = b.emit("update", owner, order, *args[2:], path=path)
    return b.emit("where", read_path(b, owner, path, args) == order, value, 0.0)


def _pullback_add(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    bars: dict[int, Any] = {}
    if 0 in wanted:
        bars[0] = g
    if 1 in wanted:
        bars[1] = read_path(b, g, attrs["path"], args)
    return bars


def _zeros(b: Builder, x: Sym) -> Sym:
    """The zero tangent of an array that is about to be updated.

    An array made by `zeros`, `ones` or `empty` is not read for its shape, so its old version need
    not be kept alive."""
    definition = b.definitions.get(x.operand.name) if isinstance(x.operand, Var) else None
    if definition is not None and definition.name in ("zeros", "ones", "empty"):
        return b.emit("zeros", *definition.args, dtype=x.dtype)
    return b.emit("zeros_like", x, dtype=x.dtype)


def _pushforward(
    b: Builder, dots: Any, out: Any, args: Sequence[Sym], attrs: dict[str, Any]
) -> Sym:
    x_dot = _zeros(b, args[0]) if dots[0] is None else dots[0]
    v_dot = 0.0 if dots[1] is None else dots[1]
    return b.emit("update", x_dot, v_dot, *args[2:], **attrs)


def _pushforward_add(
    b: Builder, dots: Any, out: Any, args: Sequence[Sym], attrs: dict[str, Any]
) -> Sym:
    x_dot = _zeros(b, args[0]) if dots[0] is None else dots[0]
    return x_dot if dots[1] is None else b.emit("update_add", x_dot, dots[1], *args[2:], **attrs)


def add_contribution(b: Builder, x_bar: Any, x: Any, part: Accumulate) -> Sym:
    """`x_bar` (zeros if None) with a contribution to a region of it added."""
    if part.path and part.path[0][0] == "list":
        bars = b.emit("list_zeros_like", x) if x_bar is None else b.sym(x_bar)
        at = part.operands[part.path[0][1] - 2]
        return b.emit("list_set", bars, at, b.emit("list_get", bars, at) + part.value)
    bar = b.emit("zeros_like", x, dtype=b.sym(x).dtype) if x_bar is None else b.sym(x_bar)
    return b.emit("update_add", bar, part.value, *part.operands, path=part.path)


register(
    Rule(
        "update",
        "update",
        _infer,
        evaluate=_evaluate,
        text=_text("update"),
        pullback=_pullback,
        pushforward=_pushforward,
        differentiable=(0, 1),
        doc="x with v written to a region; where indices repeat the last write wins",
    )
)
register(
    Rule(
        "update_add",
        "update",
        _infer,
        evaluate=_evaluate_add,
        text=_text("update_add"),
        pullback=_pullback_add,
        pushforward=_pushforward_add,
        differentiable=(0, 1),
        doc="x with v added to a region, once for every repetition of an index",
    )
)
