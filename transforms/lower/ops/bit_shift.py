"""Integer shifts by any amount, with NumPy's semantics.

A hardware shift takes the amount modulo the width, or is undefined for amounts beyond it.  Python's
shift has no width, and raises for negative amounts.  NumPy shifts all bits out in both cases.  So
the amount is tested first, unless it is a constant:

    1 << j      →       0 if j < 0 or j >= 64 else 1 << j
    x >> j      →       x >> (63 if j < 0 or j >= 64 else j)
"""

from __future__ import annotations

from ..build.lazy_array import Emitter
from ..loop_ir import nodes as L

WIDTH = 64


def guarded_shift(emitter: Emitter, sign: str, x: L.Expr, by: L.Expr) -> L.Expr:
    """The 64-bit shift `x << by` or `x >> by`, guarded against amounts out of range."""
    dtype = x.dtype
    by, zero = emitter.let(by), L.Lit(0, dtype)
    out_of_range = L.compare(">=", by, L.Lit(WIDTH, dtype))
    if dtype == "int64":
        out_of_range = L.logical_or(L.compare("<", by, zero), out_of_range)
        if sign == ">>":  # arithmetic shift: the sign bit is shifted in
            return L.Bin(sign, x, L.select(out_of_range, L.lit(WIDTH - 1), by), dtype)
    return L.select(out_of_range, zero, L.Bin(sign, emitter.let(x), by, dtype))


def split_guarded_shift(e: L.Expr) -> tuple[L.Expr, L.Expr] | None:
    """The two parts of a guarded shift: the out-of-range condition, and the unguarded shift.

    None if `e` is not a guarded shift.
    """
    if isinstance(e, L.Select) and L.is_lit(e.x, 0):
        if isinstance(e.y, L.Bin) and e.y.op == "<<":
            return e.cond, e.y
    if isinstance(e, L.Bin) and e.op == ">>" and isinstance(e.right, L.Select):
        if L.is_lit(e.right.x, WIDTH - 1):
            return e.right.cond, L.Bin(e.op, e.left, e.right.y, e.dtype)
    return None
