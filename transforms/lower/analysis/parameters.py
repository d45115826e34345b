"""Parameters of a lowered function: their names, dtypes and sizes."""

from __future__ import annotations

from ...ir.record import record
from ..loop_ir import nodes as L


@record
class Parameters:
    """The arrays among the parameters: the dtype and the sizes of each; which are there to take
    results; and which the caller sees changed even if the call fails."""

    dtypes: dict[str, str]
    sizes: dict[str, tuple[L.Expr, ...]]
    outs: frozenset[str]
    escaping: set[str]
