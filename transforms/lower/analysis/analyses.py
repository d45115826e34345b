"""What passes ask of the whole body of a function, on loop-level IR, found when first asked."""

from __future__ import annotations

from ...ir.lazy import lazy
from ..loop_ir import nodes as L
from .alias import MayAlias, with_bindings
from .liveness import Names, after_loops


def dtypes_in(body: list[L.Stmt], given: dict[str, str]) -> dict[str, str]:
    """Of the arrays made in a body and of those that it is given."""
    return {**{s.name: s.dtype for s in L.walk(body) if isinstance(s, L.Alloc)}, **given}


class Overview:
    """`dtypes` are those of the arrays among the parameters; `shares` tells of those, and of new
    ones, whether they may lie at one place."""

    def __init__(self, body: list[L.Stmt], dtypes: dict[str, str], may_alias: MayAlias) -> None:
        self.body, self.dtypes = body, dtypes_in(body, dtypes)
        self._shares = may_alias

    @lazy
    def may_alias(self) -> MayAlias:
        """Also of variables that are bound to each other's buffers."""
        return with_bindings(self.body, self._shares)

    @lazy
    def after(self) -> dict[int, Names]:
        """What may be read after each loop."""
        return after_loops(self.body)
