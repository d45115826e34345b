"""Lists that grow at run time.  Like arrays they are immutable values: an append yields a new list.

`ListOf.elem` is the element type; a dim in which elements differ is open ("?")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...ir.builder import OPEN, Builder, Sym
from ...ir.nodes import Array, ListOf, Operand, Scalar, Type
from ...ir.op_registry import Accumulate, Rule, register
from ...ir.precedence import ATOM, TERNARY, wrap

Attrs = dict[str, Any]
Types = Sequence[Any]
Bars = dict[int, Any]


def _list(t: Type) -> ListOf:
    assert isinstance(t, ListOf), t
    return t


def _joined(b: Builder, list_: ListOf, v: Any) -> ListOf:
    """The list type after an element of type `v` is added: dims that may differ become open."""
    elem = list_.elem
    assert elem.ndim == v.ndim, (elem, v)
    if isinstance(elem, Scalar):
        return ListOf(replace(elem, value=None))
    same = b.facts.known_equal
    pairs = zip(elem.shape, v.shape, strict=True)
    return ListOf(Array(elem.dtype, tuple(d if same(d, e) else OPEN for d, e in pairs)))


def _zero(b: Builder, like: Sym) -> Sym:
    return b.emit("zeros_like", like, dtype=like.dtype)


def _zero_element(b: Builder, items: Any, at: Any) -> Any:
    """A zero of the shape of element `at`; for scalar elements a constant."""
    elem = _list(items.type).elem
    if isinstance(elem, Scalar):
        return np.dtype(elem.dtype).type(0)
    return _zero(b, b.emit("list_get", items, at))


def _last(b: Builder, items: Any) -> Sym:
    return b.emit("list_get", items, b.emit("list_len", items) - 1)


def _dot(b: Builder, dot: Any, items: Any) -> Sym:
    """The tangent of a list; zeros if it is inactive."""
    return b.emit("list_zeros_like", items) if dot is None else dot


def _element_dot(b: Builder, dot: Any, v: Any) -> Sym:
    """The tangent of an element; zero if it is inactive."""
    return _zero(b, b.sym(v)) if dot is None else dot


def _elements(values: Any) -> list[Any]:
    """Copies of the rows of an array."""
    return [np.copy(v)[()] for v in values]


# ---------------------------------------------------------------- growing


def _infer_append(b: Builder, types: Types, attrs: Attrs, operands: Sequence[Operand]) -> Type:
    return _joined(b, _list(types[0]), types[1])


def _pullback_append(b: Builder, g: Sym, out: Any, args: Any, attrs: Attrs, wanted: Any) -> Bars:
    bars: Bars = {}
    # The last element is read first, so that the list can then shrink in place.
    if 1 in wanted:
        bars[1] = _last(b, g)
    if 0 in wanted:
        bars[0] = b.emit("list_drop", g)
    return bars


def _pullback_drop(b: Builder, g: Sym, out: Any, args: Any, attrs: Attrs, wanted: Any) -> Bars:
    return {0: b.emit("list_append", g, _zero_element(b, args[0], -1))}


def _infer_new(b: Builder, types: Types, attrs: Attrs, operands: Sequence[Operand]) -> Type:
    return attrs["type"]


register(
    Rule(
        "list_new",
        "list",
        _infer_new,
        evaluate=lambda *, type, tape=False: [],
        text=lambda args, attrs, types: ("[]", ATOM),
        differentiable=(),
        doc="an empty list",
    )
)
register(
    Rule(
        "list_append",
        "list",
        _infer_append,
        evaluate=lambda items, v: [*items, v],
        text=lambda args, attrs, types: (f"[*{args[0][0]}, {wrap(args[1], TERNARY)}]", ATOM),
        pullback=_pullback_append,
        pushforward=lambda b, dots, out, args, attrs: b.emit(
            "list_append", _dot(b, dots[0], args[0]), _element_dot(b, dots[1], args[1])
        ),
        differentiable=(0, 1),
        doc="the list with one element appended",
    )
)
register(
    Rule(
        "list_drop",
        "list",
        lambda b, types, attrs, operands: types[0],
        evaluate=lambda items: items[:-1],
        text=lambda args, attrs, types: (f"{wrap(args[0], ATOM)}[:-1]", ATOM),
        pullback=_pullback_drop,
        pushforward=lambda b, dots, out, args, attrs: b.emit("list_drop", dots[0]),
        differentiable=(0,),
        doc="the list without its last element",
    )
)


# ---------------------------------------------------------------- elements


def _infer_set(b: Builder, types: Types, attrs: Attrs, operands: Sequence[Operand]) -> Type:
    return _joined(b, _list(types[0]), types[2])


def _evaluate_set(items: list[Any], i: int, v: Any) -> list[Any]:
    out = list(items)
    out[i] = v
    return out


def _pullback_set(b: Builder, g: Sym, out: Any, args: Any, attrs: Attrs, wanted: Any) -> Bars:
    bars: Bars = {}
    # The element is read first, so that the list can then be written in place.
    if 2 in wanted:
        bars[2] = b.emit("list_get", g, args[1])
    if 0 in wanted:
        # The replaced element may have had another shape.
        bars[0] = b.emit("list_set", g, args[1], _zero_element(b, args[0], args[1]))
    return bars


def _infer_get(b: Builder, types: Types, attrs: Attrs, operands: Sequence[Operand]) -> Type:
    elem = _list(types[0]).elem
    return replace(elem, value=None) if isinstance(elem, Scalar) else elem


def _pullback_get(b: Builder, g: Sym, out: Any, args: Any, attrs: Attrs, wanted: Any) -> Bars:
    return {0: Accumulate(g, (("list", 2),), (args[1],))}


register(
    Rule(
        "list_set",
        "list",
        _infer_set,
        evaluate=_evaluate_set,
        text=lambda args, attrs, types: (
            f"list_set({', '.join(wrap(a, TERNARY) for a in args)})",
            ATOM,
        ),
        pullback=_pullback_set,
        pushforward=lambda b, dots, out, args, attrs: b.emit(
            "list_set", _dot(b, dots[0], args[0]), args[1], _element_dot(b, dots[2], args[2])
        ),
        differentiable=(0, 2),
        doc="the list with element i replaced",
    )
)
register(
    Rule(
        "list_get",
        "list",
        _infer_get,
        evaluate=lambda items, i: items[i],
        text=lambda args, attrs, types: (f"{wrap(args[0], ATOM)}[{wrap(args[1], TERNARY)}]", ATOM),
        pullback=_pullback_get,
        pushforward=lambda b, dots, out, args, attrs: b.emit("list_get", dots[0], args[1]),
        differentiable=(0,),
        doc="the element at i",
    )
)
register(
    Rule(
        "list_len",
        "query",
        lambda b, types, attrs, operands: Scalar("int64", weak=True),
        evaluate=len,
        text=lambda args, attrs, types: (f"len({args[0][0]})", ATOM),
        differentiable=(),
        doc="the number of elements",
    )
)
register(
    Rule(
        "list_zeros_like",
        "list",
        lambda b, types, attrs, operands: types[0],
        evaluate=lambda items: [np.zeros_like(v)[()] for v in items],
        text=lambda args, attrs, types: (f"[np.zeros_like(v) for v in {args[0][0]}]", ATOM),
        differentiable=(),
        doc="a list of as many zero elements",
    )
)


# ---------------------------------------------------------------- to and from arrays


def _infer_stack(b: Builder, types: Types, attrs: Attrs, operands: Sequence[Operand]) -> Type:
    elem = _list(types[0]).elem
    return Array(elem.dtype, (OPEN, *elem.shape))


def _infer_unstack(b: Builder, types: Types, attrs: Attrs, operands: Sequence[Operand]) -> Type:
    x = types[0]
    return ListOf(Array(x.dtype, x.shape[1:]) if x.ndim > 1 else Scalar(x.dtype))


def _linear(name: str) -> Callable[..., Sym]:
    """The pushforward of a linear operation: the operation on the tangent."""

    def pushforward(b: Builder, dots: Any, out: Any, args: Any, attrs: Attrs) -> Sym:
        return b.emit(name, dots[0])

    return pushforward


register(
    Rule(
        "list_stack",
        "list",
        _infer_stack,
        evaluate=np.array,
        text=lambda args, attrs, types: (f"np.array({wrap(args[0], TERNARY)})", ATOM),
        pullback=lambda b, g, out, args, attrs, wanted: {0: b.emit("list_unstack", g)},
        pushforward=_linear("list_stack"),
        differentiable=(0,),
        doc="the elements along a new first axis",
    )
)
register(
    Rule(
        "list_unstack",
        "list",
        _infer_unstack,
        evaluate=_elements,
        text=lambda args, attrs, types: (f"list({wrap(args[0], TERNARY)})", ATOM),
        pullback=lambda b, g, out, args, attrs, wanted: {0: b.emit("list_stack", g)},
        pushforward=_linear("list_unstack"),
        differentiable=(0,),
        doc="a list of the rows of an array",
    )
)
