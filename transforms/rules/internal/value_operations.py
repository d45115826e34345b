"""Copies, array sizes, record fields, tape slots (`restore`), `undef` and named literals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Record, Scalar, Type
from ...ir.op_registry import Rule, register, surface
from ...ir.precedence import ATOM, Text, wrap
from ..axes_and_sizes import axis_of, constant_value, product
from ..declare import as_operand

# ---------------------------------------------------------------- copy


def _infer_copy(b: Builder, types: Sequence[Any], attrs: dict[str, Any], operands: Any) -> Type:
    x = types[0]
    return Array(x.dtype, x.shape) if isinstance(x, Array) else x


def _text_copy(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Any]) -> Text:
    if isinstance(types[0], Scalar):
        return args[0]
    return f"{wrap(args[0], ATOM)}.copy()", ATOM


register(
    Rule(
        "copy",
        "elementwise",
        _infer_copy,
        evaluate=lambda x: np.array(x) if isinstance(x, np.ndarray) else x,
        text=_text_copy,
        pullback=lambda b, g, out, args, attrs, wanted: {0: g},
        pushforward=lambda b, dots, out, args, attrs: dots[0],
        differentiable=(0,),
        doc="a new array with the same elements",
    )
)


@surface("numpy.copy", "numpy.ndarray.copy")
def copy(b: Builder, a: Any, order: str = "C") -> Sym:
    return b.emit("copy", a)


# ---------------------------------------------------------------- shape


def _infer_shape(b: Builder, types: Sequence[Any], attrs: dict[str, Any], operands: Any) -> Type:
    return Scalar("int64", weak=True, value=types[0].shape[attrs["axis"]])


register(
    Rule(
        "shape",
        "query",
        _infer_shape,
        evaluate=lambda x, *, axis: np.shape(x)[axis],
        text=lambda args, attrs, types: (
            f"{wrap(args[0], ATOM)}.shape[{attrs['axis']}]",
            ATOM,
        ),
        differentiable=(),
        doc="the size of one axis",
    )
)


@surface("numpy.shape", "numpy.ndarray.shape")
def shape(b: Builder, a: Any) -> tuple[Any, ...]:
    """The shape as a tuple; constant sizes are Python ints."""
    return tuple(constant_value(s) for s in as_operand(b, a).shape)


@surface("numpy.ndim", "numpy.ndarray.ndim")
def ndim(b: Builder, a: Any) -> int:
    return as_operand(b, a).ndim


@surface("numpy.size", "numpy.ndarray.size")
def size(b: Builder, a: Any, axis: Any = None) -> Any:
    sizes = shape(b, a)
    return product(sizes) if axis is None else sizes[axis_of(b, axis, len(sizes))]


@surface("numpy.ndarray.itemsize")
def itemsize(b: Builder, a: Any) -> int:
    return np.dtype(as_operand(b, a).dtype).itemsize


@surface("numpy.ndarray.nbytes")
def nbytes(b: Builder, a: Any) -> Any:
    return size(b, a) * itemsize(b, a)


# ---------------------------------------------------------------- records


def _infer_field(b: Builder, types: Sequence[Any], attrs: dict[str, Any], operands: Any) -> Type:
    record = types[0]
    assert isinstance(record, Record)
    dtype = dict(record.fields)[attrs["name"]]
    return Array(dtype, record.shape, "A") if record.shape else Scalar(dtype)


register(
    Rule(
        "field",
        "view",
        _infer_field,
        evaluate=lambda r, *, name: r[name],
        text=lambda args, attrs, types: (f"{wrap(args[0], ATOM)}[{attrs['name']!r}]", ATOM),
        differentiable=(),
        doc="a field of a record or of each record of a structured array",
    )
)


# ---------------------------------------------------------------- slots


register(
    Rule(
        "restore",
        "query",
        lambda b, types, attrs, operands: attrs["slot"].type,
        text=lambda args, attrs, types: (f"restore({attrs['slot'].name})", ATOM),
        differentiable=(),
        doc="the value that the paired Save stored; differentiated together with it",
    )
)


def _evaluate_undef(*, type: Type) -> Any:
    if isinstance(type, Scalar):
        return np.zeros((), type.dtype)[()]
    return None


def _undef_text(args: Any, attrs: Any, types: Any) -> Any:
    """0 for integers, since one may be stored in an array, which cannot hold None; else None."""
    type_ = attrs["type"]
    is_integer = isinstance(type_, Scalar) and np.dtype(type_.dtype).kind in "iu"
    return "0" if is_integer else "None", ATOM


register(
    Rule(
        "undef",
        "create",
        lambda b, types, attrs, operands: attrs["type"],
        evaluate=_evaluate_undef,
        text=_undef_text,
        differentiable=(),
        doc="an undefined value, which no execution reads",
    )
)


# ---------------------------------------------------------------- literal

register(
    Rule(
        "literal",
        "elementwise",
        lambda b, types, attrs, operands: types[0],
        evaluate=lambda x: x,
        text=lambda args, attrs, types: args[0],
        differentiable=(),
        doc="a literal that the user's program binds to a name",
    )
)
