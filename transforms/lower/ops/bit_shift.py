"""Shifts of whole numbers, by however many places.

A machine's shift takes the amount modulo the width, if it says at all what it does; Python's has
no width, and refuses negative amounts.  NumPy shifts all bits out in both cases.  So the amount is
asked first, unless it is known:

    1 << j      →       0 if j < 0 or j >= 64 else 1 << j
    x >> j      →       x >> (63 if j < 0 or j >= 64 else j)
"""

from __future__ import annotations

from ..build.lazy_array import Emitter
from ..loop_ir import nodes as L

WIDTH = 64


def shifted(emitter: Emitter, sign: str, x: L.Expr, by: L.Expr) -> L.Expr:
    """`x << by` or `x >> by`, both of 64 bits."""
    dtype = x.dtype
    by, zero = emitter.let(by), L.Lit(0, dtype)
    far = L.compare(">=", by, L.Lit(WIDTH, dtype))
    if dtype == "int64":
        far = L.either(L.compare("<", by, zero), far)
        if sign == ">>":  # what comes in is the sign
            return L.Bin(sign, x, L.select(far, L.lit(WIDTH - 1), by), dtype)
    return L.select(far, zero, L.Bin(sign, emitter.let(x), by, dtype))


def asked(e: L.Expr) -> tuple[L.Expr, L.Expr] | None:
    """The condition that a shift goes too far, and the shift for when it does not."""
    if isinstance(e, L.Select) and L.is_lit(e.x, 0):
        if isinstance(e.y, L.Bin) and e.y.op == "<<":
            return e.cond, e.y
    if isinstance(e, L.Bin) and e.op == ">>" and isinstance(e.right, L.Select):
        if L.is_lit(e.right.x, WIDTH - 1):
            return e.right.cond, L.Bin(e.op, e.left, e.right.y, e.dtype)
    return None
