"""Prefix sums along an axis (`cumsum`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Type, is_float
from ...ir.op_registry import Rule, register, surface
from ..axes_and_sizes import axis_of, product
from ..declare import as_operand, refuse_keywords
from ..dtypes import as_dtype
from ..operation_text import method
from .reductions import sum_dtype


def _infer(b: Builder, types: Sequence[Type], attrs: dict[str, Any], operands: Any = None) -> Type:
    x = types[0]
    assert isinstance(x, Array), x
    return Array(sum_dtype(x.dtype), x.shape)


def _reversed(b: Builder, x: Any, axis: int) -> Sym:
    """`x` in reverse order along an axis."""
    items = [("all",)] * b.sym(x).ndim
    items[axis] = ("slice", None, None, 1)
    return b.emit("index", x, -1, items=tuple(items))


def _pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    if 0 not in wanted or not is_float(b.sym(args[0]).type):
        return {}
    axis = attrs["axis"]
    total = b.emit("cumsum", _reversed(b, g, axis), axis=axis)
    return {0: _reversed(b, total, axis)}


def _pushforward(
    b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: dict[str, Any]
) -> Any:
    return None if dots[0] is None else b.emit("cumsum", dots[0], axis=attrs["axis"])


register(
    Rule(
        "cumsum",
        "scan",
        _infer,
        evaluate=lambda x, axis: np.cumsum(x, axis=axis),
        text=method("cumsum"),
        pullback=_pullback,
        pushforward=_pushforward,
        differentiable=(0,),
        doc="inclusive prefix sums; `axis` is a non-negative int",
    )
)


def _single(b: Builder, x: Sym) -> Sym:
    return b.emit("pack", x, shape=(1,), dtype=x.dtype)


@surface("numpy.cumsum", "numpy.ndarray.cumsum")
def build_cumsum(b: Builder, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Sym:
    refuse_keywords("numpy.cumsum", {"out": out})
    x = as_operand(b, a)
    if dtype is not None:
        x = x.astype(as_dtype(dtype))
    if x.ndim == 0:
        x = b.emit("reshape", x, 1) if isinstance(x.type, Array) else _single(b, x)
    if axis is None:
        axis, x = 0, x if x.ndim == 1 else b.emit("reshape", x, product(x.shape))
    total = b.emit("cumsum", x, axis=axis_of(b, axis, x.ndim))
    # The sum in 64 bits, truncated, equals the sum in the smaller dtype: both wrap.
    return total if dtype is None else total.astype(as_dtype(dtype))
