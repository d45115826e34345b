"""The operation `index`: NumPy's basic and advanced indexing (gather).

The attribute `items` covers every axis of the array: ("int", p), ("slice", start, stop, step),
("all",), ("new",), ("array", p), ("mask", p).  Here p, start, stop and step are positions of
operands in the operation's arguments, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.builder import OPEN, Builder, Sym
from ...ir.nodes import Array, Const, Operand, Record, Scalar, Type, Var
from ...ir.op_registry import Accumulate, Rule, register
from ...ir.precedence import ATOM, TERNARY, Text, wrap
from ...ir.symbolic_dims import Dim, mask_count, slice_length
from ..axes_and_sizes import require_equal, size_of, symbolic_size
from ..broadcasting import infer_broadcast_shape

Item = tuple[Any, ...]
Items = Sequence[Item]


# ---------------------------------------------------------------- items


def positions(items: Items) -> list[int]:
    """The argument positions of all operands of an index, in order."""
    return [p for item in items for p in item[1:] if p is not None]


def renumber(items: Items, at: Callable[[int], int]) -> tuple[Item, ...]:
    """The items with each argument position p replaced by at(p)."""
    return tuple((i[0], *(None if p is None else at(p) for p in i[1:])) for i in items)


def is_advanced(items: Items) -> bool:
    """True for advanced indexing (arrays or masks); ints then count as arrays of rank 0."""
    return any(item[0] in ("array", "mask") for item in items)


def advanced_axes_position(items: Items) -> int | None:
    """The position, among the result's axes, of the broadcast axes of the index arrays.

    If the index arrays are adjacent it is the position of the first one, otherwise 0.  None for
    basic indexing."""
    if not is_advanced(items):
        return None
    arrays = [k for k, item in enumerate(items) if item[0] in ("int", "array", "mask")]
    if arrays[-1] - arrays[0] != len(arrays) - 1:
        return 0
    return arrays[0]


def result_shape(
    b: Builder,
    shape: tuple[Dim, ...],
    items: Items,
    args: Sequence[Operand],
    size: Callable[[int], Any],
) -> tuple[Dim, ...]:
    """The shape of the result; emits checks that the items are valid for the axes.

    `size` returns the run-time size of an axis."""
    kept: list[Dim] = []
    arrays: list[tuple[Dim, ...]] = []
    axis = 0
    for item in items:
        kind = item[0]
        if kind == "new":
            kept.append(Dim.of(1))
            continue
        if kind == "all":
            kept.append(shape[axis])
        elif kind == "slice":
            kept.append(_slice_dim(b, shape[axis], item, args))
        elif kind == "array":
            arrays.append(args[item[1]].type.shape)
        elif kind == "mask":
            mask = args[item[1]]
            _check_mask(b, shape, axis, mask, size)
            symbol = mask_count(Dim.of(mask.name)) if isinstance(mask, Var) else OPEN
            arrays.append((symbol,))
            axis += mask.type.ndim - 1
        axis += 1
    assert axis == len(shape), (shape, items)
    at = advanced_axes_position(items)
    if at is None:
        return tuple(kept)
    return (*kept[:at], *_index_shape(b, arrays), *kept[at:])


def _slice_dim(b: Builder, n: Dim, item: Item, args: Sequence[Operand]) -> Dim:
    if item[3] is not None:
        step = args[item[3]]
        nonzero = step.value != 0 if isinstance(step, Const) else b.checks and b.sym(step) != 0
        b.check(nonzero, "ValueError", "slice step cannot be zero")
    bounds = [None if p is None else symbolic_size(args[p]) for p in item[1:]]
    if OPEN in bounds:
        return OPEN
    n = b.facts.canonical(n)
    start, stop, step = (None if d is None else b.facts.canonical(d) for d in bounds)
    return slice_length(n, start, stop, step, b.facts)


def _check_mask(
    b: Builder, shape: tuple[Dim, ...], axis: int, mask: Any, size: Callable[[int], Any]
) -> None:
    for k, dim in enumerate(mask.type.shape):
        require_equal(
            b,
            shape[axis + k],
            dim,
            lambda k=k: (size(axis + k), size_of(b, mask, k)),
            "IndexError",
            lambda m, n, k=k: (
                f"boolean index did not match indexed array along axis {axis + k}; "
                "size of axis is ",
                m,
                " but size of corresponding boolean axis is ",
                n,
            ),
        )


def _index_shape(b: Builder, shapes: list[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """The broadcast shape of the index arrays; open dims are checked at run time."""
    if len(shapes) == 1:
        return shapes[0]
    for left, right in zip(shapes, shapes[1:]):
        for m, n in zip(reversed(left), reversed(right)):
            if m.is_const and n.is_const and m != n and 1 not in (m.const, n.const):
                b.check(
                    False, "IndexError", "shape mismatch: indexing arrays could not be broadcast"
                )
                return left
    return infer_broadcast_shape(b, *shapes)


def result_layout(layout: str, items: Items, args: Sequence[Operand]) -> str:
    """The layout of the result: leading ints and one slice of step 1 keep C-contiguity."""
    if is_advanced(items):
        return "C"
    rest = [item for item in items if item[0] != "new"]
    while rest and rest[0][0] == "int":
        rest = rest[1:]
    if rest and rest[0][0] == "slice":
        step = rest[0][3]
        operand = None if step is None else args[step]
        if operand is None or (isinstance(operand, Const) and operand.value == 1):
            rest = rest[1:]
    return layout if all(item[0] == "all" for item in rest) else "A"


# ---------------------------------------------------------------- evaluation and source text


def numpy_key(items: Items, args: Sequence[Any]) -> tuple[Any, ...]:
    """The items as an index tuple for NumPy."""
    return tuple(_numpy_item(item, args) for item in items)


def _numpy_item(item: Item, args: Sequence[Any]) -> Any:
    kind, *at = item
    if kind == "all":
        return slice(None)
    if kind == "new":
        return None
    if kind == "slice":
        return slice(*(None if p is None else int(args[p]) for p in at))
    return int(args[at[0]]) if kind == "int" else np.asarray(args[at[0]])


def items_text(items: Items, args: Sequence[Text]) -> str:
    """The source text of an index, `[i, 1:]`; trailing colons are left out."""
    items = list(items)
    while len(items) > 1 and items[-1] == ("all",):
        items.pop()
    if not items:
        return "[()]"
    return f"[{', '.join(_item_text(item, args) for item in items)}]"


def _item_text(item: Item, args: Sequence[Text]) -> str:
    kind, *at = item
    if kind == "all":
        return ":"
    if kind == "new":
        return "None"
    texts = ["" if p is None else wrap(args[p], TERNARY) for p in at]
    if kind != "slice":
        return texts[0]
    start, stop, step = texts
    return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"


# ---------------------------------------------------------------- the operation


def _infer(
    b: Builder, types: Sequence[Any], attrs: dict[str, Any], operands: Sequence[Operand]
) -> Type:
    x, items = types[0], attrs["items"]
    shape = result_shape(b, x.shape, items, operands, lambda axis: size_of(b, operands[0], axis))
    if isinstance(x, Record):
        return Record(x.fields, shape)
    if not shape:
        return Scalar(x.dtype)
    layout = x.layout if isinstance(x, Array) else "C"
    return Array(x.dtype, shape, result_layout(layout, items, operands))


def _pullback(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    items = renumber(attrs["items"], lambda p: p + 1)
    return {0: Accumulate(g, (("index", items),), tuple(args[1:]))}


def _text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Any]) -> Text:
    return f"{wrap(args[0], ATOM)}{items_text(attrs['items'], args)}", ATOM


register(
    Rule(
        "index",
        "index",
        _infer,
        evaluate=lambda *args, items: np.asarray(args[0])[numpy_key(items, args)],
        text=_text,
        pullback=_pullback,
        pushforward=lambda b, dots, out, args, attrs: b.emit("index", dots[0], *args[1:], **attrs),
        differentiable=(0,),
        doc="x[...]: ints, slices, new axes, integer arrays and boolean masks",
    )
)
