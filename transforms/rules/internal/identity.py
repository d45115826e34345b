"""Identity operations that matter to differentiation only.

`same` is an SSA copy: a derivative with respect to the new name takes only uses of that name into
account.  `stop_gradient` has a zero derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.builder import Builder, Sym
from ...ir.nodes import Type
from ...ir.op_registry import Rule, register, surface
from ...ir.precedence import ATOM, Text
from ..declare import as_operand


def _infer(b: Builder, types: Sequence[Type], attrs: dict[str, Any], operands: Any) -> Type:
    return types[0]


def _text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Any]) -> Text:
    return args[0]


register(
    Rule(
        "same",
        "elementwise",
        _infer,
        evaluate=lambda x: x,
        text=_text,
        pullback=lambda b, g, out, args, attrs, wanted: {0: g},
        pushforward=lambda b, dots, out, args, attrs: dots[0],
        differentiable=(0,),
        doc="its operand under another name",
    )
)
register(
    Rule(
        "stop_gradient",
        "elementwise",
        _infer,
        evaluate=lambda x: x,
        text=lambda args, attrs, types: (f"stop_gradient({args[0][0]})", ATOM),
        differentiable=(),
        doc="its operand, as a constant to every derivative",
    )
)


@surface("s2s.stop_gradient")
def stop_gradient(b: Builder, x: Any) -> Sym:
    return b.emit("stop_gradient", as_operand(b, x))
