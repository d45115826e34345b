"""`concatenate` and `stack`, and the functions that are composed of them (`hstack`, `vstack`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Operand, Type
from ...ir.op_registry import Rule, register, surface
from ...ir.precedence import ATOM, TERNARY, Text, wrap
from ...ir.symbolic_dims import Dim
from ..axes_and_sizes import axis_of, require_equal, require_static, size_of, value_error
from ..declare import as_numpy_scalar, as_operand
from ..dtypes import as_dtype, require_cast
from ..promotion import join_dtypes
from .shape_functions import atleast_1d, atleast_2d, atleast_3d, ravel, slice_axis

Attrs = dict[str, Any]


def _require_same(
    b: Builder, types: Sequence[Any], operands: Sequence[Operand], skip: int | None, message: Any
) -> None:
    """Require that all operands have the same shape, except along axis `skip`."""
    for k in range(1, len(types)):
        for axis in range(types[0].ndim):
            if axis == skip:
                continue
            require_equal(
                b,
                types[0].shape[axis],
                types[k].shape[axis],
                lambda k=k, axis=axis: (
                    size_of(b, operands[0], axis),
                    size_of(b, operands[k], axis),
                ),
                "ValueError",
                lambda m, n, k=k, axis=axis: message(axis, k, m, n),
            )


def _text(name: str) -> Any:
    def text(args: Sequence[Text], attrs: Attrs, types: Sequence[Any]) -> Text:
        parts = ", ".join(wrap(a, TERNARY) for a in args)
        parts += "," if len(args) == 1 else ""
        axis = f", axis={attrs['axis']}" if attrs["axis"] else ""
        return f"np.{name}(({parts}){axis})", ATOM

    return text


def _tangents(b: Builder, dots: Sequence[Any], args: Sequence[Sym]) -> list[Sym]:
    """The tangents of all operands; zeros for inactive ones."""
    return [
        b.emit("zeros_like", x, dtype=x.dtype) if dot is None else dot
        for x, dot in zip(args, dots, strict=True)
    ]


# ---------------------------------------------------------------- concatenate


def _infer_concatenate(
    b: Builder, types: Sequence[Any], attrs: Attrs, operands: Sequence[Operand]
) -> Type:
    axis = attrs["axis"]
    _require_same(b, types, operands, axis, _mismatch_message)
    length = Dim.of(0)
    for t in types:
        length = length + t.shape[axis]
    shape = types[0].shape
    return Array(join_dtypes(types), (*shape[:axis], length, *shape[axis + 1 :]))


def _mismatch_message(axis: int, k: int, m: Any, n: Any) -> tuple[Any, ...]:
    return (
        "all the input array dimensions except for the concatenation axis must match exactly, "
        f"but along dimension {axis}, the array at index 0 has size ",
        m,
        f" and the array at index {k} has size ",
        n,
    )


def _pullback_concatenate(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    axis = attrs["axis"]
    bars: dict[int, Any] = {}
    start: Any = None
    for k in range(max(wanted) + 1):
        last = k == len(args) - 1
        size = None if last else size_of(b, args[k], axis)
        stop = size if start is None or last else start + size
        if k in wanted:
            bars[k] = g if last and start is None else slice_axis(b, g, axis, start, stop)
        start = stop
    return bars


register(
    Rule(
        "concatenate",
        "join",
        _infer_concatenate,
        evaluate=lambda *xs, axis: np.concatenate(xs, axis),
        text=_text("concatenate"),
        pullback=_pullback_concatenate,
        pushforward=lambda b, dots, out, args, attrs: b.emit(
            "concatenate", *_tangents(b, dots, args), **attrs
        ),
        doc="arrays joined along an existing axis",
    )
)


# ---------------------------------------------------------------- stack


def _infer_stack(
    b: Builder, types: Sequence[Any], attrs: Attrs, operands: Sequence[Operand]
) -> Type:
    axis, shape = attrs["axis"], types[0].shape
    _require_same(
        b, types, operands, None, lambda *_: ("all input arrays must have the same shape",)
    )
    return Array(join_dtypes(types), (*shape[:axis], Dim.of(len(types)), *shape[axis:]))


def _pullback_stack(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    items = tuple(("int", 1) if a == attrs["axis"] else ("all",) for a in range(g.ndim))
    return {k: b.emit("index", g, k, items=items) for k in wanted}


register(
    Rule(
        "stack",
        "join",
        _infer_stack,
        evaluate=lambda *xs, axis: np.stack(xs, axis),
        text=_text("stack"),
        pullback=_pullback_stack,
        pushforward=lambda b, dots, out, args, attrs: b.emit(
            "stack", *_tangents(b, dots, args), **attrs
        ),
        doc="arrays joined along a new axis",
    )
)


# ---------------------------------------------------------------- surfaces


def _operands(b: Builder, arrays: Any) -> list[Sym]:
    """The arrays of a tuple or list, or the rows of an array of constant size."""
    if isinstance(arrays, Sym):
        count = size_of(b, arrays, 0) if arrays.ndim else 0
        if isinstance(count, Sym):
            raise value_error(b, "the number of arrays to join must be known")
        items = (("int", 1), *((("all",),) * (arrays.ndim - 1)))
        return [b.emit("index", arrays, k, items=items) for k in range(count)]
    operands = [as_operand(b, x) for x in arrays]
    # NumPy converts each operand to an array first: a Python scalar keeps its own dtype.
    alike = len({x.dtype for x in operands}) == 1
    return operands if alike else [as_numpy_scalar(x) for x in operands]


def _same_rank(b: Builder, xs: list[Sym], action: str) -> None:
    """Require at least one array, and equal ranks."""
    if not xs:
        raise value_error(b, f"need at least one array to {action}")
    if len({x.ndim for x in xs}) > 1:
        raise value_error(
            b,
            "all the input array dimensions except for the concatenation axis must match exactly"
            if action == "concatenate"
            else "all input arrays must have the same shape",
        )


def cast_operand(x: Sym, dtype: Any, casting: Any) -> Sym:
    """An operand of a join, cast to the `dtype` requested for the result, if one is."""
    if dtype is None:
        return x
    name = as_dtype(dtype)
    require_cast(x, name, require_static(casting, "casting"))
    return x.astype(name)


@surface("numpy.concatenate", "numpy.concat")
def concatenate(
    b: Builder, arrays: Any, /, axis: Any = 0, *, dtype: Any = None, casting: Any = "same_kind"
) -> Sym:
    xs = [cast_operand(x, dtype, casting) for x in _operands(b, arrays)]
    if axis is None:
        xs, axis = [ravel(b, x) for x in xs], 0
    _same_rank(b, xs, "concatenate")
    if xs[0].ndim == 0:
        raise value_error(b, "zero-dimensional arrays cannot be concatenated")
    axis = axis_of(b, axis, xs[0].ndim)
    return b.emit("concatenate", *xs, axis=axis)


@surface("numpy.stack")
def stack(
    b: Builder, arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: Any = "same_kind"
) -> Sym:
    xs = [cast_operand(x, dtype, casting) for x in _operands(b, arrays)]
    _same_rank(b, xs, "stack")
    return b.emit("stack", *xs, axis=axis_of(b, axis, xs[0].ndim + 1))


@surface("numpy.vstack", "numpy.row_stack")
def vstack(b: Builder, tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Sym:
    rows = [atleast_2d(b, x) for x in _operands(b, tup)]
    return concatenate(b, rows, 0, dtype=dtype, casting=casting)


@surface("numpy.hstack")
def hstack(b: Builder, tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Sym:
    xs = [atleast_1d(b, x) for x in _operands(b, tup)]
    axis = 0 if xs and xs[0].ndim == 1 else 1
    return concatenate(b, xs, axis, dtype=dtype, casting=casting)


@surface("numpy.dstack")
def dstack(b: Builder, tup: Any) -> Sym:
    return concatenate(b, [atleast_3d(b, x) for x in _operands(b, tup)], 2)


@surface("numpy.column_stack")
def column_stack(b: Builder, tup: Any) -> Sym:
    columns = []
    for x in _operands(b, tup):
        x = atleast_1d(b, x)
        columns.append(b.emit("expand_dims", x, axes=(1,)) if x.ndim == 1 else x)
    return concatenate(b, columns, 1)
