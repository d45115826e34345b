"""`roll`: a cyclic shift of the elements along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Type
from ...ir.op_registry import Rule, register, surface
from ..axes_and_sizes import axes_of, axis_of, constant_value, iota, product, size_of
from ..declare import as_operand
from ..operation_text import Text, call_text

Attrs = dict[str, Any]


def _infer(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Any) -> Type:
    return Array(types[0].dtype, types[0].shape)


def _text(args: Sequence[Text], attrs: Attrs, types: Sequence[Any]) -> Text:
    axis = attrs["axis"] if types[0].ndim > 1 else None
    return call_text("np.roll", [*args, (str(attrs["shift"]), 0)], {"axis": axis})


def _pullback(b: Builder, g: Any, out: Any, args: Any, attrs: Attrs, wanted: Any) -> dict[int, Any]:
    return {0: b.emit("roll", g, shift=-attrs["shift"], axis=attrs["axis"])}


register(
    Rule(
        "roll",
        "opaque",
        _infer,
        evaluate=lambda x, shift, axis: np.roll(x, shift, axis=axis),
        text=_text,
        pullback=_pullback,
        pushforward=lambda b, dots, out, args, attrs: b.emit("roll", dots[0], **attrs),
        batching=lambda m: m.emit(
            "roll", m.args[0], shift=m.attrs["shift"], axis=m.attrs["axis"] + 1
        ),
        differentiable=(0,),
        doc="a cyclic shift by the constant `shift` along `axis`",
    )
)


@surface("numpy.roll")
def build_roll(b: Builder, a: Any, shift: Any, axis: Any = None) -> Sym:
    x = as_operand(b, a)
    if isinstance(shift, (tuple, list)) or isinstance(axis, (tuple, list)):
        axes = axes_of(b, axis, x.ndim)
        shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
        for one, at in zip(shifts, axes, strict=True):
            x = build_roll(b, x, one, at)
        return x
    if axis is None and x.ndim != 1:
        flat = b.emit("reshape", x, product(x.shape))
        return b.emit("reshape", build_roll(b, flat, shift, 0), *x.shape)
    at = axis_of(b, 0 if axis is None else axis, x.ndim)
    by = constant_value(shift)
    if isinstance(by, (int, np.integer)) and not isinstance(by, (bool, np.bool_)):
        return b.emit("roll", x, shift=int(by), axis=at)
    n = size_of(b, x, at)
    counting = iota(b, n)
    items: list[Any] = [("all",)] * x.ndim
    items[at] = ("array", 1)
    return b.emit("index", x, (counting - shift % n) % n, items=tuple(items))
