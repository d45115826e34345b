"""Structured arrays.  They are never differentiated, and are read field by field."""

from __future__ import annotations

from dataclasses import replace

from ...ir import nodes
from ..build.context import Context, handles
from ..build.lazy_array import Emitter, Value
from ..loop_ir import nodes as L


@handles("field")
def field(ctx: Context, stmt: nodes.Assign) -> Value:
    """One field of a record or of an array of records, as a virtual value."""
    r = ctx.value(stmt.op.args[0])
    name, dtype = stmt.op.attrs["name"], stmt.target.type.dtype

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        return L.Field(r.at(emitter, index), name, dtype)

    return replace(r, at=at, dtype=dtype, memory=None)
