"""What the definitions at hand prove about values: enough to spare a product its strong form.

A proof may rest on `Builder.definitions` only; where a definition is missing nothing is
proven, and the strong form is right all the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..ir import Const, Op, Operand

if TYPE_CHECKING:
    from ..build import Builder

_DEPTH = 8
_SUMS = ("sum", "mean", "max", "min", "broadcast_like", "index", "reshape", "expand_dims", "cast")
_TAME = (
    "add subtract multiply negative positive absolute square exp exp2 expm1 sin cos tanh sinh cosh"
    " arctan sign floor ceil trunc rint maximum minimum cast where equal less greater less_equal"
    " greater_equal not_equal logical_not bitwise_and bitwise_or invert copysign mean sum"
    " broadcast_like index reshape expand_dims shape sqrt arcsinh hypot"
).split()


def finite(b: Builder, x: Operand, depth: int = _DEPTH) -> bool:
    """Whether `x` is finite as long as the values of the program are."""
    if isinstance(x, Const):
        return math.isfinite(x.value)
    op = b.definitions.get(x.name)
    if op is None:
        return True
    if depth == 0:
        return False
    if op.name == "divide":
        return finite(b, op.args[0], depth - 1) and nonzero(b, op.args[1], depth - 1)
    if op.name == "power":
        exponent = op.args[1]
        if isinstance(exponent, Const):
            tame = exponent.value >= 0 or nonzero(b, op.args[0], depth - 1)
            return tame and finite(b, op.args[0], depth - 1)
        return False
    return op.name in _TAME and all(finite(b, a, depth - 1) for a in op.args)


def nonzero(b: Builder, x: Operand, depth: int = _DEPTH) -> bool:
    """Whether `x` is never 0.  A size counts as such: nothing is divided where it is 0."""
    if isinstance(x, Const):
        return x.value != 0
    op = b.definitions.get(x.name)
    if op is None or depth == 0:
        return False
    if op.name in ("shape", "list_len"):
        return True
    if op.name in ("multiply", "negative", "absolute", "cast"):
        return all(nonzero(b, a, depth - 1) for a in op.args)
    return positive(b, x, depth - 1)


def positive(b: Builder, x: Operand, depth: int = _DEPTH) -> bool:
    """Whether `x` is above 0, underflow aside."""
    if isinstance(x, Const):
        return x.value > 0
    op = b.definitions.get(x.name)
    if op is None or depth <= 0:
        return False
    args = op.args
    if op.name in ("exp", "exp2", "cosh"):
        return True
    if op.name == "add":
        left, right = args
        return (positive(b, left, depth - 1) and nonnegative(b, right, depth - 1)) or (
            nonnegative(b, left, depth - 1) and positive(b, right, depth - 1)
        )
    if op.name in ("multiply", "divide", "minimum"):
        return all(positive(b, a, depth - 1) for a in args)
    if op.name in ("maximum", "clip_low"):
        return any(positive(b, a, depth - 1) for a in args)
    if op.name == "clip":
        return positive(b, args[1], depth - 1) and positive(b, args[2], depth - 1)
    if op.name in ("sqrt", "power", "square", "prod", *_SUMS):
        return positive(b, args[0], depth - 1)
    return False


def nonnegative(b: Builder, x: Operand, depth: int = _DEPTH) -> bool:
    if isinstance(x, Const):
        return x.value >= 0
    op = b.definitions.get(x.name)
    if op is None or depth <= 0:
        return False
    args = op.args
    if op.name in (
        "absolute",
        "fabs",
        "square",
        "sqrt",
        "hypot",
        "var",
        "std",
        "shape",
        "list_len",
    ):
        return True
    if op.name == "power" and _is_even(op):
        return True
    if op.name == "multiply" and args[0] == args[1]:
        return True
    if op.name in ("add", "multiply", "divide", "minimum"):
        return all(nonnegative(b, a, depth - 1) for a in args)
    if op.name in ("maximum", "clip_low"):
        return any(nonnegative(b, a, depth - 1) for a in args)
    if op.name in _SUMS:
        return nonnegative(b, args[0], depth - 1)
    return positive(b, x, depth - 1)


def _is_even(op: Op) -> bool:
    exponent = op.args[1]
    return isinstance(exponent, Const) and exponent.value % 2 == 0
