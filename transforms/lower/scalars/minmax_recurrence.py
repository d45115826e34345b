"""A running smallest or largest asks the new number whether it is one, on loop-level IR.

    m = m if m <= v or m != m else v    →    m = v if v < m or v != v else m

Both give m if it is no number, and v if that is none.  But the next round waits for all that is
asked about m, while what is asked about v is known before; and so can several rounds be computed
at once, as in NumPy's own.
"""

from __future__ import annotations

from ..loop_ir import nodes as L
from ..ops.scalar_ops import larger

_STRICTLY = {"<=": "<", ">=": ">"}


def shorten_minmax_recurrence(body: list[L.Stmt]) -> None:
    """Rewrites `body` in place."""
    for s in L.walk(body):
        if isinstance(s, L.Let) and isinstance(s.expr, L.Select):
            s.expr = _turned(s.expr, L.Name(s.name, s.expr.dtype))


def _turned(e: L.Select, running: L.Name) -> L.Expr:
    if e.dtype in ("float32", "float64") and e.x == running and e.y != running:
        for sign, strictly in _STRICTLY.items():
            if e == larger(sign, running, e.y) and isinstance(e.y, L.Name):
                return larger(strictly, e.y, running)
    return e
