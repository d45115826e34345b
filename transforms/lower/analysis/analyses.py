"""Lazily computed analyses of a whole function body, on loop-level IR."""

from __future__ import annotations

from ...ir.lazy import lazy_property
from ..loop_ir import nodes as L
from .alias import MayAlias, with_bindings
from .liveness import Names, live_after_loops


def buffer_dtypes(body: list[L.Stmt], given: dict[str, str]) -> dict[str, str]:
    """The dtypes of the buffers allocated in a body and of the `given` parameters."""
    return {**{s.name: s.dtype for s in L.walk(body) if isinstance(s, L.Alloc)}, **given}


class FunctionAnalyses:
    """Analyses of `body`, each computed on first use.

    `dtypes` are those of the array parameters.  `may_alias` is the alias query for parameters and
    allocated buffers.
    """

    def __init__(self, body: list[L.Stmt], dtypes: dict[str, str], may_alias: MayAlias) -> None:
        self.body, self.dtypes = body, buffer_dtypes(body, dtypes)
        self._base_may_alias = may_alias

    @lazy_property
    def may_alias(self) -> MayAlias:
        """The alias query, extended to names bound to one another's buffers in the body."""
        return with_bindings(self.body, self._base_may_alias)

    @lazy_property
    def live_after(self) -> dict[int, Names]:
        """The live-out names of each loop, by the loop's identity."""
        return live_after_loops(self.body)
