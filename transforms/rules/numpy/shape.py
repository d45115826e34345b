"""View operations: `transpose`, `reshape`, `broadcast_to`, `expand_dims`, `squeeze`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Operand, Scalar, Type
from ...ir.op_registry import Rule, register
from ...ir.precedence import ATOM, TERNARY, Text, wrap
from ...ir.symbolic_dims import Dim
from ..axes_and_sizes import size_of, symbolic_size

Attrs = dict[str, Any]
Operands = Sequence[Operand]


def linear_pushforward(name: str) -> Any:
    """The pushforward of an operation that is linear in its first, only differentiable, operand."""

    def pushforward(b: Builder, dots: Any, out: Any, args: Sequence[Sym], attrs: Attrs) -> Sym:
        return b.emit(name, dots[0], *args[1:], **attrs)

    return pushforward


# ---------------------------------------------------------------- transpose


def _infer_transpose(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Operands) -> Type:
    x, axes = types[0], attrs["axes"]
    assert sorted(axes) == list(range(x.ndim)), (x, axes)
    same = isinstance(x, Array) and axes == tuple(sorted(axes))
    return Array(x.dtype, tuple(x.shape[a] for a in axes), x.layout if same else "A")


def _pullback_transpose(
    b: Builder, g: Sym, out: Any, args: Any, attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    axes = attrs["axes"]
    return {0: b.emit("transpose", g, axes=tuple(axes.index(a) for a in range(len(axes))))}


def _text_transpose(args: Sequence[Text], attrs: Attrs, types: Sequence[Any]) -> Text:
    axes, x = attrs["axes"], wrap(args[0], ATOM)
    return (f"{x}.T" if axes == tuple(range(len(axes)))[::-1] else f"{x}.transpose{axes}"), ATOM


register(
    Rule(
        "transpose",
        "view",
        _infer_transpose,
        evaluate=lambda x, *, axes: np.transpose(x, axes),
        text=_text_transpose,
        pullback=_pullback_transpose,
        pushforward=linear_pushforward("transpose"),
        differentiable=(0,),
        doc="the axes in another order",
    )
)


# ---------------------------------------------------------------- reshape, broadcast_to


def _infer_sized(layout: str) -> Any:
    def infer(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Operands) -> Type:
        return Array(types[0].dtype, tuple(symbolic_size(o) for o in operands[1:]), layout)

    return infer


def _pullback_reshape(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    if args[0].ndim == 0:
        zeros = [0] * g.ndim
        items = tuple(("int", k + 1) for k in range(g.ndim))
        return {0: b.emit("index", g, *zeros, items=items)}
    return {0: b.emit("reshape", g, *args[0].shape)}


def _text_reshape(args: Sequence[Text], attrs: Attrs, types: Sequence[Any]) -> Text:
    sizes = ", ".join(wrap(a, TERNARY) for a in args[1:])
    if isinstance(types[0], Scalar) or len(args) == 1:
        return f"np.reshape({wrap(args[0], TERNARY)}, ({sizes}{',' * (len(args) == 2)}))", ATOM
    return f"{wrap(args[0], ATOM)}.reshape({sizes})", ATOM


def _text_broadcast(args: Sequence[Text], attrs: Attrs, types: Sequence[Any]) -> Text:
    sizes = ", ".join(wrap(a, TERNARY) for a in args[1:])
    return f"np.broadcast_to({wrap(args[0], TERNARY)}, ({sizes}{',' * (len(args) == 2)}))", ATOM


register(
    Rule(
        "reshape",
        "view",
        _infer_sized("C"),
        evaluate=lambda x, *sizes: np.reshape(x, tuple(int(s) for s in sizes)),
        text=_text_reshape,
        pullback=_pullback_reshape,
        pushforward=linear_pushforward("reshape"),
        differentiable=(0,),
        doc="the elements, in C order, in another shape",
    )
)
register(
    Rule(
        "broadcast_to",
        "view",
        _infer_sized("A"),
        evaluate=lambda x, *sizes: np.broadcast_to(x, tuple(int(s) for s in sizes)),
        text=_text_broadcast,
        # The reverse pass sums a cotangent to the shape of its operand.
        pullback=lambda b, g, out, args, attrs, wanted: {0: g},
        pushforward=linear_pushforward("broadcast_to"),
        differentiable=(0,),
        doc="x broadcast to a shape",
    )
)


# ---------------------------------------------------------------- expand_dims, squeeze


def _infer_expand(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Operands) -> Type:
    x, axes = types[0], attrs["axes"]
    kept = iter(x.shape)
    shape = tuple(Dim.of(1) if a in axes else next(kept) for a in range(x.ndim + len(axes)))
    return Array(x.dtype, shape, x.layout if isinstance(x, Array) else "C")


def _infer_squeeze(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Operands) -> Type:
    x, axes = types[0], attrs["axes"]
    for axis in axes:
        if b.checks and not b.facts.known_equal(x.shape[axis], Dim.of(1)):
            size = size_of(b, operands[0], axis)
            message = "cannot select an axis to squeeze out which has size not equal to one"
            b.check(size == 1, "ValueError", message)
    shape = tuple(d for a, d in enumerate(x.shape) if a not in axes)
    if not shape:
        return Scalar(x.dtype)
    return Array(x.dtype, shape, x.layout if isinstance(x, Array) else "C")


def _text_axes(name: str) -> Any:
    def text(args: Sequence[Text], attrs: Attrs, types: Sequence[Any]) -> Text:
        axes, ndim = attrs["axes"], types[0].ndim + len(attrs["axes"])
        x = wrap(args[0], ATOM)
        if name == "expand_dims" and types[0].ndim and ndim - max(axes) < 4:
            items = ["None" if a in axes else ":" for a in range(max(axes) + 1)]
            return f"{x}[{', '.join(items)}]", ATOM
        axis = axes[0] if len(axes) == 1 else axes
        if name == "squeeze":
            rest = len(axes) < types[0].ndim
            return (f"{x}.squeeze({axis})" if rest else f"{x}[{', '.join('0' * len(axes))}]"), ATOM
        return f"np.{name}({wrap(args[0], TERNARY)}, {axis})", ATOM

    return text


register(
    Rule(
        "expand_dims",
        "view",
        _infer_expand,
        evaluate=lambda x, *, axes: np.expand_dims(x, axes),
        text=_text_axes("expand_dims"),
        pullback=lambda b, g, out, args, attrs, wanted: {0: b.emit("squeeze", g, **attrs)},
        pushforward=linear_pushforward("expand_dims"),
        differentiable=(0,),
        doc="new axes of size 1",
    )
)
register(
    Rule(
        "squeeze",
        "view",
        _infer_squeeze,
        evaluate=lambda x, *, axes: np.squeeze(x, axes)[()],
        text=_text_axes("squeeze"),
        pullback=lambda b, g, out, args, attrs, wanted: {0: b.emit("expand_dims", g, **attrs)},
        pushforward=linear_pushforward("squeeze"),
        differentiable=(0,),
        doc="without axes of size 1",
    )
)
