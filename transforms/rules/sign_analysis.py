"""Sign and finiteness analysis over SSA definitions.

`declare.multiply_by_partial` uses it to replace `strong_mul` by a plain product where the partial
is finite.  The analysis is conservative: it follows `Builder.definitions` up to `_MAX_DEPTH`
operations, and proves nothing where a definition is missing.  `strong_mul` is correct in either
case."""

from __future__ import annotations

import cmath
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..ir.nodes import Const, Op, Operand, is_complex

if TYPE_CHECKING:
    from ..ir.builder import Builder

_MAX_DEPTH = 8
# Operations whose result has the sign of their first operand.
_SIGN_PRESERVING = (
    "sum mean max min broadcast_like broadcast_to index reshape transpose expand_dims squeeze cast"
    " copy exp_as exp_ratio_as quotient_as log_as log_ratio_as"
).split()
# Operations whose result is finite if all operands are, overflow aside.
_FINITE = (
    "add subtract multiply negative positive absolute square exp exp2 sin cos sinh cosh sign trunc"
    " copysign where isnan equal less greater less_equal greater_equal not_equal bitwise_and"
    " bitwise_or"
).split()


def finite(b: Builder, x: Operand, made: Mapping[str, Op], depth: int = _MAX_DEPTH) -> bool:
    """True if `x` is proven finite, provided the values of the program are finite.

    `made` holds the definitions that are not part of the program (those of a partial)."""
    if isinstance(x, Const):
        return cmath.isfinite(x.value)
    op = made.get(x.name)
    if op is None:
        return True
    if depth == 0:
        return False
    if op.name == "divide":
        return finite(b, op.args[0], made, depth - 1) and nonzero(b, op.args[1], depth - 1)
    if op.name == "power":
        base, exponent = op.args
        if not isinstance(exponent, Const):
            return False
        nonnegative_exponent = not is_complex(exponent.type) and exponent.value >= 0
        no_pole = nonnegative_exponent or nonzero(b, base, depth - 1)
        return no_pole and finite(b, base, made, depth - 1)
    return op.name in _FINITE and all(finite(b, a, made, depth - 1) for a in op.args)


def nonzero(b: Builder, x: Operand, depth: int = _MAX_DEPTH) -> bool:
    """True if `x` is proven nonzero.

    Array and list sizes count as nonzero: if a size is 0, no element is divided by it."""
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


def positive(b: Builder, x: Operand, depth: int = _MAX_DEPTH) -> bool:
    """True if `x` is proven positive, underflow aside."""
    if is_complex(x.type):
        return False
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
    if op.name in ("sqrt", "power", "square", "prod", *_SIGN_PRESERVING):
        return positive(b, args[0], depth - 1)
    return False


def nonnegative(b: Builder, x: Operand, depth: int = _MAX_DEPTH) -> bool:
    """True if `x` is proven to be at least 0."""
    if is_complex(x.type):
        return False
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
    if op.name in _SIGN_PRESERVING:
        return nonnegative(b, args[0], depth - 1)
    return positive(b, x, depth - 1)


def _is_even(op: Op) -> bool:
    exponent = op.args[1]
    return isinstance(exponent, Const) and exponent.value % 2 == 0
