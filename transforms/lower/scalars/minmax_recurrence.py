"""Rewrite min/max recurrences so that NaN is tested on the new operand, on loop-level IR.

    m = m if m <= v or m != m else v    →    m = v if v < m or v != v else m

Both forms give m if m is NaN, and v if v is NaN.  In the first form the NaN test of m is
loop-carried.  In the second form only the comparison stays loop-carried: the NaN test of v does not
depend on the previous iteration.  So the reduction can be vectorised, as NumPy's own minimum and
maximum are.
"""

from __future__ import annotations

from ..loop_ir import nodes as L
from ..ops.scalar_ops import minmax_select

_STRICT = {"<=": "<", ">=": ">"}


def shorten_minmax_recurrence(body: list[L.Stmt]) -> None:
    """Rewrite `body` in place."""
    for s in L.walk(body):
        if isinstance(s, L.Let) and isinstance(s.expr, L.Select):
            s.expr = _with_nan_test_on_operand(s.expr, L.Name(s.name, s.expr.dtype))


def _with_nan_test_on_operand(e: L.Select, running: L.Name) -> L.Expr:
    """Return `e`, with the NaN test on the new operand if `e` is the minimum or maximum of the
    loop-carried scalar `running` and a new operand."""
    if e.dtype in ("float32", "float64") and e.x == running and e.y != running:
        for op, strict in _STRICT.items():
            if e == minmax_select(op, running, e.y) and isinstance(e.y, L.Name):
                return minmax_select(strict, e.y, running)
    return e
