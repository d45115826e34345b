"""A tuple of values as one value, and its parts: what the readable text of `f_fwd` saves for
`f_rev` (`emit/saved_tuples.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.builder import Builder
from ...ir.nodes import Pack, Type
from ...ir.op_registry import Rule, register
from ...ir.precedence import ATOM, TERNARY, Text, wrap


def _pack(b: Builder, types: Sequence[Type], attrs: dict[str, Any], operands: Any) -> Type:
    return Pack(tuple(types))


def _unpack(b: Builder, types: Sequence[Type], attrs: dict[str, Any], operands: Any) -> Type:
    (whole,) = types
    assert isinstance(whole, Pack)
    return whole.types[attrs["position"]]


def _pack_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Any]) -> Text:
    parts = [wrap(a, TERNARY) for a in args]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})", ATOM


def _unpack_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Any]) -> Text:
    return f"{wrap(args[0], ATOM)}[{attrs['position']}]", ATOM


register(
    Rule(
        "tuple", "opaque", _pack, evaluate=lambda *parts: parts, text=_pack_text,
        differentiable=(), doc="its operands as a tuple, in readable text",
    )
)  # fmt: skip
register(
    Rule(
        "tuple_part", "opaque", _unpack, evaluate=lambda whole, position: whole[position],
        text=_unpack_text, differentiable=(), doc="a part of a tuple, in readable text",
    )
)  # fmt: skip
