"""Peephole optimisation: rewrite rules that replace one operation by a simpler one.

A `RewriteRule` returns an operand that equals the operation's result, a simpler `Op`, or None.  The
rules apply to adjoint code only, where a zero means that there is no contribution.  So -0.0 and 0.0
are not distinguished, but no term that could be inf or nan is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.nodes import Array, Const, Op, Operand, Scalar, Type, Var, is_float
from ..ir.op_registry import RULES
from ..ir.scopes import dims_of
from ..ir.symbolic_dims import Facts

RewriteRule = Callable[["Context", Op, Type], "Operand | Op | None"]


class Context:
    """The information available at an operation: the definitions of values, and facts on dims."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.definitions: dict[str, Op] = {}

    def definition(self, x: Operand) -> Op | None:
        return self.definitions.get(x.name) if isinstance(x, Var) else None

    def fits(self, x: Operand, t: Type) -> bool:
        """True if `x` may replace a value of type `t`."""
        s = x.type
        if not isinstance(s, Array) or not isinstance(t, Array):
            return s == t  # weak and strong scalars are different types
        return s.dtype == t.dtype and self.same_shape(s, t)

    def same_shape(self, s: Type, t: Type) -> bool:
        if not isinstance(s, Array) or not isinstance(t, Array) or s.ndim != t.ndim:
            return False
        return all(map(self.facts.known_equal, s.shape, t.shape))

    def retyped(self, x: Operand, t: Type) -> Operand | None:
        """`x` as a value of type `t`, or None if it cannot replace one; a constant is retyped."""
        if isinstance(x, Const) and isinstance(t, Scalar) and x.type.dtype == t.dtype:
            return Const(x.value, replace(t, value=x.type.value))
        return x if self.fits(x, t) else None

    def is_zeros(self, x: Operand) -> bool:
        """True if `x` is a zero array."""
        definition = self.definition(x)
        return definition is not None and definition.name in ("zeros", "zeros_like")


def rewrite_op(context: Context, op: Op, t: Type) -> Operand | Op | None:
    """The result of the first rule that applies, or None."""
    general = (fold, drop_broadcast) if RULES[op.name].kind == "elementwise" else ()
    for rewrite in (*general, *REWRITE_RULES.get(op.name, ())):
        found = rewrite(context, op, t)
        if found is not None and not isinstance(found, Op):
            found = context.retyped(found, t)
        if found is not None:
            return found
    return None


# ---------------------------------------------------------------- rules


def fold(context: Context, op: Op, t: Type) -> Operand | None:
    """Constant folding; a result that is not finite is left to run time."""
    rule = RULES[op.name]
    if rule.evaluate is None or not isinstance(t, Scalar):
        return None
    if not op.args or not all(isinstance(a, Const) for a in op.args):
        return None
    values = [_constant_value(a) for a in op.args if isinstance(a, Const)]
    with np.errstate(all="ignore"):
        value = np.asarray(rule.evaluate(*values, **op.attrs)).astype(t.dtype).item()
    return Const(value, t) if np.isfinite(value) else None


def _constant_value(x: Const) -> Any:
    """The value of a constant: a Python scalar if it is weak, otherwise a NumPy scalar."""
    return x.value if x.type.weak else np.dtype(x.type.dtype).type(x.value)


def neutral(left: float | None, right: float | None) -> RewriteRule:
    """Rule for identity elements: `left op x` and `x op right` are x."""

    def rewrite(context: Context, op: Op, t: Type) -> Operand | None:
        x, y = op.args
        if right is not None and _is_constant(y, right):
            return x
        if left is not None and _is_constant(x, left):
            return y
        return None

    return rewrite


def add_zeros(context: Context, op: Op, t: Type) -> Operand | None:
    """x + zeros is x"""
    x, y = op.args
    if context.is_zeros(x):
        return y
    return x if context.is_zeros(y) else None


def double(context: Context, op: Op, t: Type) -> Op | None:
    """x + x is x * 2"""
    x, y = op.args
    if x != y or not is_float(t) or not context.fits(x, t):
        return None
    return Op("multiply", (x, Const(2.0, Scalar("float64", weak=True))))


def drop_broadcast(context: Context, op: Op, t: Type) -> Op | None:
    """Remove an explicit broadcast of an operand if another operand has the result's shape."""
    for i, x in enumerate(op.args):
        definition = context.definition(x)
        if definition is None or definition.name not in ("broadcast_like", "broadcast_to"):
            continue
        source = definition.args[0]
        others = [a for k, a in enumerate(op.args) if k != i]
        weak = isinstance(source.type, Scalar) and source.type.weak
        if not weak and any(context.same_shape(a.type, t) for a in others):
            return replace(op, args=(*op.args[:i], source, *op.args[i + 1 :]))
    return None


def add_negative(context: Context, op: Op, t: Type) -> Op | None:
    """x + -y is x - y"""
    x, y = op.args
    definition = context.definition(y)
    if definition is not None and definition.name == "negative":
        return Op("subtract", (x, definition.args[0]))
    return None


def double_negative(context: Context, op: Op, t: Type) -> Operand | None:
    """-(-x) is x"""
    definition = context.definition(op.args[0])
    negated = definition is not None and definition.name == "negative"
    return definition.args[0] if definition and negated else None


def double_conjugate(context: Context, op: Op, t: Type) -> Operand | None:
    """conj(conj(x)) is x"""
    definition = context.definition(op.args[0])
    again = definition is not None and definition.name == "conjugate"
    return definition.args[0] if definition and again else None


def real_part_of_real(context: Context, op: Op, t: Type) -> Operand | None:
    """real(cast(x)) is x, where x is real and was cast to a complex type"""
    definition = context.definition(op.args[0])
    made = definition is not None and definition.name == "cast"
    return definition.args[0] if definition and made else None


def times_minus_one(context: Context, op: Op, t: Type) -> Op | None:
    """x * -1 is -x"""
    x, y = op.args
    other = x if _is_constant(y, -1) else y if _is_constant(x, -1) else None
    return Op("negative", (other,)) if other and context.fits(other, t) else None


def same(context: Context, op: Op, t: Type) -> Operand:
    """The first operand, for operations that are the identity if its type is the result's."""
    return op.args[0]


def add_to_zeros(context: Context, op: Op, t: Type) -> Operand | None:
    """Adding v to the whole of a zero array gives v."""
    base, value, *_ = op.args
    return value if op.attrs["path"] == () and context.is_zeros(base) else None


def zeros_like_zeros_like(context: Context, op: Op, t: Type) -> Op | None:
    """zeros_like(zeros_like(x)) is zeros_like(x)"""
    inner = context.definition(op.args[0])
    if inner is None or inner.name != "zeros_like" or not isinstance(inner.args[0].type, Array):
        return None
    return replace(op, args=inner.args)


def known_size(context: Context, op: Op, t: Type) -> Operand | None:
    """A size that is known to be constant."""
    dim = context.facts.canonical(dims_of(op.args[0])[op.attrs["axis"]])
    return Const(dim.const, Scalar("int64", value=dim)) if dim.is_const else None


def transpose_twice(context: Context, op: Op, t: Type) -> Operand | None:
    """A transpose of its inverse transpose is the original array."""
    inner = context.definition(op.args[0])
    if inner is None or inner.name != "transpose":
        return None
    axes, before = op.attrs["axes"], inner.attrs["axes"]
    return inner.args[0] if [before[a] for a in axes] == list(range(len(axes))) else None


def same_transpose(context: Context, op: Op, t: Type) -> Operand | None:
    """A transpose by the identity permutation is its operand."""
    return op.args[0] if list(op.attrs["axes"]) == list(range(t.ndim)) else None


def _is_constant(x: Operand, value: float) -> bool:
    """True if `x` is a constant, not a bool, with this value."""
    return isinstance(x, Const) and not isinstance(x.value, bool) and x.value == value


REWRITE_RULES: dict[str, tuple[RewriteRule, ...]] = {
    "same": (same,),
    "zeros_like": (zeros_like_zeros_like,),
    "add": (neutral(0, 0), add_zeros, double, add_negative),
    "subtract": (neutral(None, 0),),
    "multiply": (neutral(1, 1), times_minus_one),
    "divide": (neutral(None, 1),),
    "power": (neutral(None, 1),),
    "strong_mul": (neutral(None, 1),),
    "negative": (double_negative,),
    "conjugate": (double_conjugate,),
    "real": (real_part_of_real,),
    "cast": (same,),
    "unbroadcast": (same,),
    "broadcast_like": (same,),
    "reshape": (same,),
    "broadcast_to": (same,),
    "transpose": (transpose_twice, same_transpose),
    "update_add": (add_to_zeros,),
    "shape": (known_size,),
}
