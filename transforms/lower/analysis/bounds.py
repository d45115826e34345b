"""Which of two integers is the larger: of the ends of loops, one is often known to be."""

from __future__ import annotations

from ..loop_ir import nodes as L


def larger(a: L.Expr, b: L.Expr) -> L.Expr:
    gap = _gap(a, b)
    if gap is not None:
        return a if gap >= 0 else b
    return L.select(L.compare(">=", a, b), a, b)


def smaller(a: L.Expr, b: L.Expr) -> L.Expr:
    gap = _gap(a, b)
    if gap is not None:
        return a if gap <= 0 else b
    return L.select(L.compare("<=", a, b), a, b)


def _gap(a: L.Expr, b: L.Expr) -> int | None:
    """a - b, where it is known."""
    if isinstance(a, L.Lit) and isinstance(b, L.Lit):
        return a.value - b.value
    (x, p), (y, q) = apart(a), apart(b)
    return p - q if x == y else None


def apart(e: L.Expr) -> tuple[L.Expr, int]:
    """An expression without the number that is added to it."""
    more = 0
    while isinstance(e, L.Bin) and e.op in "+-" and isinstance(e.right, L.Lit):
        more += e.right.value if e.op == "+" else -e.right.value
        e = e.left
    return e, more
