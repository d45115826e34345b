"""Broadcasting: shape inference, and its transpose (`unbroadcast`) for the reverse pass.

Pullbacks return cotangents of the broadcast shape.  The reverse pass sums each one to the shape of
its operand, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir.builder import OPEN
from ..ir.nodes import Array, ListOf, Scalar, Type, is_float
from ..ir.op_registry import Rule, register
from ..ir.precedence import ATOM, Text, wrap
from ..ir.symbolic_dims import Dim
from .operation_text import call_text

if TYPE_CHECKING:
    from ..ir.builder import Builder, Sym

Shape = tuple[Dim, ...]
ONE = Dim.of(1)


def infer_broadcast_shape(b: Builder, *shapes: Shape) -> Shape:
    """The broadcast shape of operands.

    A dim whose relation to the other is known only at run time becomes open (`OPEN`).  For constant
    dims that cannot be broadcast, a ValueError is emitted at this point of the program."""
    result: Shape = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        left = (ONE,) * (rank - len(result)) + result
        right = (ONE,) * (rank - len(shape)) + shape
        result = tuple(_broadcast_dims(b, x, y, shapes) for x, y in zip(left, right, strict=True))
    return result


def _broadcast_dims(b: Builder, left: Dim, right: Dim, shapes: Sequence[Shape]) -> Dim:
    if "?" in left.symbols | right.symbols:
        return right if left == ONE else left if right == ONE else OPEN
    relation = b.facts.relate(left, right)
    if relation == "left1":
        return right
    if relation in ("equal", "right1"):
        return left
    if relation == "mismatch" and left.is_const and right.is_const:
        text = " ".join(_shape_text(s) for s in shapes)
        b.check(False, "ValueError", f"operands could not be broadcast together with shapes {text}")
        return left
    # A mismatch of this call's sizes need not hold for the next call: a run-time check decides.
    return OPEN


def _shape_text(shape: Shape) -> str:
    return "(" + ",".join(str(d) for d in shape) + ("," if len(shape) == 1 else "") + ")"


def same_shape(b: Builder, left: Any, right: Any) -> bool:
    """True if two shapes are proven equal."""
    return left.ndim == right.ndim and all(map(b.facts.known_equal, left.shape, right.shape))


def unbroadcast(b: Builder, g: Any, like: Any) -> Sym:
    """The transpose of broadcasting: `g` summed to the shape of `like` and cast to its dtype.

    Returns `g` itself if shape and dtype agree already."""
    g, like = b.sym(g), b.sym(like)
    total = _summed(b, g, like)
    return total.astype(like.dtype) if is_float(like.type) else total


def _summed(b: Builder, g: Sym, like: Sym) -> Sym:
    """`g` summed to the shape of `like`; `sum` over fixed axes if the dims are known."""
    if same_shape(b, g.type, like.type):
        return g
    if like.ndim == 0:
        return b.emit("sum", g, axis=None, keepdims=False)
    lead = g.ndim - like.ndim
    if lead < 0:
        return b.emit("broadcast_like", g, like)
    inner = []
    for axis, (have, want) in enumerate(zip(g.type.shape[lead:], like.type.shape, strict=True)):
        if b.facts.known_equal(have, want):
            continue
        if b.facts.canonical(want) != ONE:
            narrow = all(b.facts.canonical(d) == ONE for d in g.type.shape)
            return b.emit("broadcast_like" if narrow and not lead else "unbroadcast", g, like)
        inner.append(lead + axis)
    if not lead:
        return b.emit("sum", g, axis=tuple(inner), keepdims=True)
    total = b.emit("sum", g, axis=(*range(lead), *inner), keepdims=False)
    return b.emit("expand_dims", total, axes=tuple(i - lead for i in inner)) if inner else total


# ---------------------------------------------------------------- operations


def sum_to_shape(g: Any, like: Any) -> Any:
    """The NumPy evaluation of `unbroadcast`.  Axes in which `g` is smaller are broadcast."""
    shape = np.shape(like)
    g = np.asarray(g)
    g = g.sum(axis=tuple(range(g.ndim - len(shape)))) if g.ndim > len(shape) else g
    lead = len(shape) - g.ndim
    axes = tuple(i for i, n in enumerate(g.shape) if shape[lead + i] == 1 and n != 1)
    return np.broadcast_to(g.sum(axis=axes, keepdims=True), shape)


def _like(b: Builder, types: Sequence[Type], attrs: dict[str, Any], operands: Any = None) -> Type:
    x, like = types
    assert not isinstance(like, ListOf)
    if like.ndim == 0:
        return Scalar(x.dtype)
    return Array(x.dtype, like.shape)


def _unbroadcast_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    return call_text("unbroadcast", args)


def _broadcast_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    if types[1].ndim == 0:
        return args[0]
    return call_text("np.broadcast_to", [args[0], (f"{wrap(args[1], ATOM)}.shape", ATOM)])


register(
    Rule(
        "unbroadcast",
        "reduce",
        _like,
        evaluate=sum_to_shape,
        text=_unbroadcast_text,
        pullback=lambda b, g, out, args, attrs, wanted: {0: b.emit("broadcast_like", g, args[0])},
        pushforward=lambda b, dots, out, args, attrs: b.emit("unbroadcast", dots[0], args[1]),
        differentiable=(0,),
        doc="g summed to the shape of `like`; the transpose of broadcasting",
    )
)

register(
    Rule(
        "broadcast_like",
        "view",
        _like,
        evaluate=lambda x, like: np.broadcast_to(x, np.shape(like)),
        text=_broadcast_text,
        pullback=lambda b, g, out, args, attrs, wanted: {0: unbroadcast(b, g, args[0])},
        pushforward=lambda b, dots, out, args, attrs: b.emit("broadcast_like", dots[0], args[1]),
        differentiable=(0,),
        doc="x broadcast to the shape of `like`",
    )
)
