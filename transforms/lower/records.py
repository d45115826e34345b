"""Structured arrays: inactive data, read field by field."""

from __future__ import annotations

from dataclasses import replace

from .. import ir
from . import loop_ir as L
from .context import Context, handles
from .values import Emitter, Value


@handles("field")
def field(cx: Context, stmt: ir.Assign) -> Value:
    r = cx.value(stmt.op.args[0])
    name, dtype = stmt.op.attrs["name"], stmt.target.type.dtype

    def at(em: Emitter, index: L.Index) -> L.Expr:
        return L.Field(r.at(em, index), name, dtype)

    return replace(r, at=at, dtype=dtype, memory=None)
