"""Elementwise operations without a derivative: rounding, comparisons, logic, bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.nodes import Type
from ...ir.op_registry import Rule, register, surface
from ...ir.precedence import AND, BITAND, BITOR, BITXOR, COMPARE, NOT, OR, SHIFT, Text, wrap
from .. import operation_text
from ..declare import elementwise_infer, ufunc_surface
from ..promotion import is_weak


def _nondiff(
    name: str, *paths: str, arity: int = 1, form: Any = None, python: bool = False, kinks: str = ""
) -> None:
    """Register a non-differentiable operation and its surfaces, by default `numpy.<name>`."""
    register(
        Rule(
            name,
            "elementwise",
            elementwise_infer(name, python),
            evaluate=getattr(np, name),
            text=form or operation_text.call(f"np.{name}"),
            differentiable=(),
            kinks=kinks,
        )
    )
    for path in paths or (f"numpy.{name}",):
        surface(path)(ufunc_surface(name, arity, path))


def _not(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    return f"not {wrap(args[0], NOT)}", NOT


def _keyword_operator(word: str, precedence: int, function: str) -> operation_text.TextRule:
    """`x and y` for scalar bools, a NumPy function otherwise."""
    infix = operation_text.infix(word, precedence)

    def form(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        if all(t.ndim == 0 and t.dtype == "bool" for t in types):
            return infix(args, attrs, types)
        return operation_text.call_text(function, args)

    return form


def _invert(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    # `~` of a Python bool is an int, and a NumPy bool may be a Python bool in emitted code.
    if types[0].ndim == 0 and types[0].dtype == "bool" and not is_weak(types[0]):
        return _not(args, attrs, types)
    return operation_text.prefix("~")(args, attrs, types)


# ---------------------------------------------------------------- rounding

_ZERO_DERIVATIVE = "zero derivative"
_nondiff("sign", kinks=_ZERO_DERIVATIVE)
_nondiff("floor", kinks=_ZERO_DERIVATIVE)
_nondiff("ceil", kinks=_ZERO_DERIVATIVE)
_nondiff("trunc", "numpy.trunc", "numpy.fix", kinks=_ZERO_DERIVATIVE)
_nondiff("rint", kinks=_ZERO_DERIVATIVE)

# ---------------------------------------------------------------- comparisons

for _name, _operator in {
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}.items():
    _nondiff(_name, arity=2, form=operation_text.comparison(_operator, COMPARE), python=True)

# ---------------------------------------------------------------- logic

_nondiff("logical_and", arity=2, form=_keyword_operator("and", AND, "np.logical_and"), python=True)
_nondiff("logical_or", arity=2, form=_keyword_operator("or", OR, "np.logical_or"), python=True)
_nondiff("logical_xor", arity=2)
_nondiff(
    "logical_not",
    form=operation_text.by_rank(_not, operation_text.call("np.logical_not")),
    python=True,
)
_nondiff("isnan", "numpy.isnan", "math.isnan")
_nondiff("isinf", "numpy.isinf", "math.isinf")
_nondiff("isfinite", "numpy.isfinite", "math.isfinite")
_nondiff("signbit")

_nondiff("spacing", kinks=_ZERO_DERIVATIVE)

# ---------------------------------------------------------------- bits

_nondiff("bitwise_and", arity=2, form=operation_text.infix("&", BITAND), python=True)
_nondiff("bitwise_or", arity=2, form=operation_text.infix("|", BITOR), python=True)
_nondiff("bitwise_xor", arity=2, form=operation_text.infix("^", BITXOR), python=True)
_nondiff("invert", "numpy.invert", "numpy.bitwise_not", form=_invert, python=True)
_nondiff("left_shift", arity=2, form=operation_text.infix("<<", SHIFT), python=True)
_nondiff("right_shift", arity=2, form=operation_text.infix(">>", SHIFT), python=True)
_nondiff("gcd", arity=2)
_nondiff("lcm", arity=2)
