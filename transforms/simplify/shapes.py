"""Where a saved value serves for its shape only, another value of that shape takes its place."""

from __future__ import annotations

from dataclasses import replace

from ..dims import Facts
from ..ir import Array, Assign, Op, Operand, Var
from ..scopes import Scopes, Twins

# The operands of which only the shape counts.
_SHAPE_ONLY = {
    "zeros_like": 0,
    "ones_like": 0,
    "empty_like": 0,
    "full_like": 0,
    "unbroadcast": 1,
    "broadcast_like": 1,
}


class ShapeTwins:
    """`bound` are the values defined so far, which is where twins are looked for."""

    def __init__(self, scopes: Scopes, facts: Facts, bound: set[str]) -> None:
        self.scopes = scopes
        self.twins = Twins(scopes, facts, bound)

    def replace(self, op: Op) -> Op:
        if op.name == "shape" and self.restored(op.args[0]):
            found = self.twins.axis(op.args[0].type.shape[op.attrs["axis"]])
            return op if found is None else Op("shape", (found[0],), {"axis": found[1]})
        at = _SHAPE_ONLY.get(op.name)
        if at is None or not self.restored(op.args[at]):
            return op
        v = op.args[at]
        assert isinstance(v, Var)
        twin = self.twins.shape(v)
        return op if twin is None else replace(op, args=(*op.args[:at], twin, *op.args[at + 1 :]))

    def restored(self, x: Operand) -> bool:
        if not isinstance(x, Var) or not isinstance(x.type, Array):
            return False
        binder = self.scopes.binder.get(x.name)
        return isinstance(binder, Assign) and binder.op.name == "restore"
