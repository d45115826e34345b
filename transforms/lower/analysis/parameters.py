"""Array parameters of a lowered function: dtypes, sizes and roles."""

from __future__ import annotations

from ...ir.record import record
from ..loop_ir import nodes as L


@record
class Parameters:
    """The array parameters, by name.

    `dtypes` and `sizes` describe each array.  `outs` are the out-buffers, which take results.
    `escaping` are the arrays whose changes the caller sees even if the call fails.
    """

    dtypes: dict[str, str]
    sizes: dict[str, tuple[L.Expr, ...]]
    outs: frozenset[str]
    escaping: set[str]
