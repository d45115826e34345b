"""Symbolic max and min of integers.

The bounds of two loops often differ by a constant.  Then the result is one of the operands and
needs no comparison at run time.
"""

from __future__ import annotations

from ..loop_ir import nodes as L


def symbolic_max(a: L.Expr, b: L.Expr) -> L.Expr:
    """max(a, b), folded to one operand if their difference is a constant."""
    gap = _constant_difference(a, b)
    if gap is not None:
        return a if gap >= 0 else b
    return L.select(L.compare(">=", a, b), a, b)


def symbolic_min(a: L.Expr, b: L.Expr) -> L.Expr:
    """min(a, b), folded to one operand if their difference is a constant."""
    gap = _constant_difference(a, b)
    if gap is not None:
        return a if gap <= 0 else b
    return L.select(L.compare("<=", a, b), a, b)


def _constant_difference(a: L.Expr, b: L.Expr) -> int | None:
    """a - b, if it is a constant, otherwise None."""
    if isinstance(a, L.Lit) and isinstance(b, L.Lit):
        return a.value - b.value
    (x, p), (y, q) = split_constant(a), split_constant(b)
    return p - q if x == y else None


def split_constant(e: L.Expr) -> tuple[L.Expr, int]:
    """`e` split into a base expression and the constant that is added to it."""
    constant = 0
    while isinstance(e, L.Bin) and e.op in "+-" and isinstance(e.right, L.Lit):
        constant += e.right.value if e.op == "+" else -e.right.value
        e = e.left
    return e, constant
