"""Placement of scalars: on the host, or on the device in a one-element array (a slot).

A scalar is on the host if all its assignments are: their values are computed from sizes, scalar
parameters, counters of host loops and other host scalars.  A scalar that is read from an array, or
assigned in a kernel, is on the device, with all its assignments.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.record import field, record
from ..analysis.liveness import defs
from ..loop_ir import nodes as L


@record
class Placement:
    """`device` are the scalars on the device; it only grows while a plan is made.  `copies` are the
    buffers of which the host has a copy (`host_copies.py`)."""

    device: set[str] = field(default_factory=set[str])
    copies: set[str] = field(default_factory=set[str])

    def is_host(self, e: L.Expr | L.Subview) -> bool:
        """True if an expression, or the index of a buffer, can be computed on the host."""
        if isinstance(e, L.Subview):
            return self.are_host(e.index)
        return not any(
            isinstance(p, L.Field)
            or (isinstance(p, L.Load) and p.buffer not in self.copies)
            or (isinstance(p, L.Name) and p.name in self.device)
            for p in L.walk_expr(e)
        )

    def are_host(self, exprs: Iterable[L.Expr | L.Subview]) -> bool:
        return all(map(self.is_host, exprs))

    def is_host_only(self, stmts: list[L.Stmt]) -> bool:
        """True if statements compute with host scalars alone, and touch no memory."""
        return all(
            isinstance(s, (L.Let, L.Loop, L.While, L.If, L.Break, L.Fail, L.Comment))
            and self.are_host(L.exprs_of(s))
            and self.device.isdisjoint(defs(s))
            for s in L.walk(stmts)
        )
