"""Array creation by a formula: `arange`, `linspace`, `eye`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import OPEN, Builder, Sym
from ...ir.errors import UnsupportedError
from ...ir.nodes import FLOATS, Array, Operand, Scalar, Type, is_float
from ...ir.op_registry import surface
from ...ir.precedence import Text
from ...ir.symbolic_dims import Dim, max0
from ..axes_and_sizes import axis_of, constant_value, iota, require_static, size_of, symbolic_size
from ..broadcasting import unbroadcast
from ..declare import as_operand, refuse_keywords
from ..dtypes import as_dtype
from ..operation_text import call_text
from ..promotion import join_dtypes
from .creation import as_sizes, dtype_keyword, register_create


def _arange_dim(operands: Sequence[Operand]) -> Dim:
    """The number of elements, if the step is 1 or all operands are constant; otherwise open."""
    start, stop, step = (symbolic_size(o) for o in operands)
    if OPEN in (start, stop, step):
        return OPEN
    if start.is_const and stop.is_const and step.is_const and step.const:
        return Dim.of(len(range(start.const, stop.const, step.const)))
    return max0(stop - start) if step == Dim.of(1) else OPEN


def _arange_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    start, stop, step = args
    shown = [start, stop, step]
    if step[0] == "1":
        shown = [start, stop] if start[0] != "0" else [stop]
    plain = "int64" if all(t.dtype == "int64" for t in types) else "float64"
    return call_text(
        "np.arange", shown, {"dtype": attrs["dtype"]} if attrs["dtype"] != plain else {}
    )


def _arange_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    """Derivatives by start and step, with the number of elements held constant."""
    bars: dict[int, Any] = {}
    if attrs["dtype"] not in FLOATS:
        return bars
    for i in wanted:
        if is_float(b.sym(args[i]).type):
            share = b.sym(g) if i == 0 else b.sym(g) * iota(b, size_of(b, g, 0), attrs["dtype"])
            bars[i] = unbroadcast(b, share, args[i])
    return bars


def _arange_pushforward(
    b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: dict[str, Any]
) -> Any:
    start, _, step = dots
    if (start is None and step is None) or attrs["dtype"] not in FLOATS:
        return None
    moved = iota(b, size_of(b, out, 0), attrs["dtype"]) * (0.0 if step is None else b.sym(step))
    return moved if start is None else moved + b.sym(start)


register_create(
    "arange",
    lambda b, types, attrs, operands: Array(attrs["dtype"], (_arange_dim(operands),)),
    lambda start, stop, step, dtype: np.arange(start, stop, step, dtype=dtype),
    _arange_text,
    "start, start + step, … up to but without stop",
    pullback=_arange_pullback,
    pushforward=_arange_pushforward,
    differentiable=(0, 2),
    kinks="the number of elements is held constant",
)


@surface("numpy.arange")
def build_arange(
    b: Builder, start: Any, stop: Any = None, step: Any = None, dtype: Any = None, **keywords: Any
) -> Sym:
    refuse_keywords("numpy.arange", keywords)
    if stop is None:
        start, stop = 0, start
    operands = [b.sym(v) for v in (start, stop, 1 if step is None else step)]
    if any(o.ndim for o in operands):
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    if dtype is None and any(o.dtype == "uint64" for o in operands):
        raise UnsupportedError("arange of uint64", advice="give it a dtype")
    if dtype is not None and as_dtype(dtype) == "bool":
        raise UnsupportedError("arange of bools", advice="use np.array([False, True])")
    # NumPy's default dtypes here have 64 bits.
    plain = "float64" if any(is_float(o.type) for o in operands) else "int64"
    width = constant_value(operands[2])
    b.check(width != 0, "ZeroDivisionError", "division by zero")
    return b.emit("arange", *operands, dtype=as_dtype(dtype, plain))


def _linspace_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    keywords: dict[str, Any] = {} if attrs["endpoint"] else {"endpoint": False}
    if attrs["dtype"] != "float64":
        keywords["dtype"] = attrs["dtype"]
    return call_text("np.linspace", args, keywords)


def _weights(b: Builder, args: Sequence[Any], attrs: dict[str, Any]) -> Sym:
    """The relative position of each element, 0 at start and 1 at stop."""
    return b.emit("linspace", 0.0, 1.0, args[2], endpoint=attrs["endpoint"], dtype=attrs["dtype"])


def _linspace_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    active = [i for i in sorted(wanted) if is_float(b.sym(args[i]).type)]
    if not active or attrs["dtype"] not in FLOATS:
        return {}
    w = _weights(b, args, attrs)
    terms = {0: lambda: b.sym(g) * (1.0 - w), 1: lambda: b.sym(g) * w}
    return {i: unbroadcast(b, terms[i](), args[i]) for i in active if i in terms}


def _linspace_pushforward(
    b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: dict[str, Any]
) -> Any:
    start, stop = dots[:2]
    if (start is None and stop is None) or attrs["dtype"] not in FLOATS:
        return None
    ends = (0.0 if start is None else start, 0.0 if stop is None else stop)
    return b.emit("linspace", *ends, args[2], **attrs)


register_create(
    "linspace",
    lambda b, types, attrs, operands: Array(attrs["dtype"], (symbolic_size(operands[2]),)),
    lambda start, stop, num, endpoint, dtype: np.linspace(
        start, stop, int(num), endpoint, dtype=dtype
    ),
    _linspace_text,
    "num numbers from start to stop, evenly spaced",
    pullback=_linspace_pullback,
    pushforward=_linspace_pushforward,
    differentiable=(0, 1),
)


@surface("numpy.linspace")
def build_linspace(
    b: Builder,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
    **keywords: Any,
) -> Any:
    refuse_keywords("numpy.linspace", keywords)
    ends = [as_operand(b, v) for v in (start, stop)]
    endpoint = bool(require_static(endpoint, "endpoint"))
    (count,) = as_sizes(b, num)
    dtype = as_dtype(dtype, join_dtypes([*(e.type for e in ends), Scalar("float64", weak=True)]))
    axis = axis_of(b, axis, max(e.ndim for e in ends) + 1)
    if any(e.ndim for e in ends):
        made = _array_linspace(b, ends, count, endpoint, axis).astype(dtype)
    else:
        made = b.emit("linspace", *ends, count, endpoint=endpoint, dtype=dtype)
    if not require_static(retstep, "retstep"):
        return made
    return made, (ends[1] - ends[0]) / (b.sym(count) - 1 if endpoint else b.sym(count))


def _array_linspace(b: Builder, ends: list[Sym], count: Any, endpoint: bool, at: int) -> Sym:
    """`linspace` between two arrays, along a new axis `at`."""
    start, difference = ends[0], ends[1] - ends[0]
    others = tuple(i for i in range(difference.ndim + 1) if i != at)
    part = b.emit("linspace", 0.0, 1.0, count, endpoint=endpoint, dtype="float64")
    start = b.emit("broadcast_like", start, difference)
    start, difference = (b.emit("expand_dims", x, axes=(at,)) for x in (start, difference))
    return start + difference * b.emit("expand_dims", part, axes=others)


def _eye_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    n, m, k = args
    shown = [n, m, k] if k[0] != "0" else [n, m] if m[0] != n[0] else [n]
    return call_text("np.eye", shown, dtype_keyword(attrs["dtype"]))


register_create(
    "eye",
    lambda b, types, attrs, operands: Array(
        attrs["dtype"], tuple(map(symbolic_size, operands[:2]))
    ),
    lambda n, m, k, dtype: np.eye(int(n), int(m), int(k), dtype),
    _eye_text,
    "ones on the k-th diagonal",
)


@surface("numpy.eye")
def build_eye(
    b: Builder,
    N: Any,
    M: Any = None,
    k: Any = 0,
    dtype: Any = None,
    order: Any = "C",
    **keywords: Any,
) -> Sym:
    refuse_keywords("numpy.eye", keywords)
    n, m = as_sizes(b, (N, N if M is None else M))
    return b.emit("eye", n, m, k, dtype=as_dtype(dtype))


@surface("numpy.identity")
def build_identity(b: Builder, n: Any, dtype: Any = None) -> Sym:
    return build_eye(b, n, dtype=dtype)
