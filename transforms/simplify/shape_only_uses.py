"""Shape-only uses: an operand of which only the shape is used is replaced by another of that shape.

A value that is saved for its shape alone then becomes dead.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.nodes import Array, Assign, Function, Op, Var
from ..ir.scopes import SameShapeValues, Scopes, dims_of, overwritten
from ..ir.symbolic_dims import Facts
from .dce import is_user_code

# The position of the operand of which only the shape is used.
_SHAPE_ONLY = {
    "zeros_like": 0,
    "ones_like": 0,
    "empty_like": 0,
    "full_like": 0,
    "unbroadcast": 1,
    "broadcast_like": 1,
}


class ShapeOnlyUses:
    """Finds replacements for operands; `bound` are the values defined so far, the candidates."""

    def __init__(self, function: Function, facts: Facts, bound: set[str]) -> None:
        scopes = Scopes(function)
        self.scopes, self.facts = scopes, facts
        self.twins = SameShapeValues(scopes, facts, bound)
        self.overwritten = overwritten(function)

    def replace(self, op: Op) -> Op:
        """`op` with its shape-only operand replaced, if there is a replacement."""
        at = 0 if op.name == "shape" else _SHAPE_ONLY.get(op.name)
        if at is None:
            return op
        v = op.args[at]
        if not isinstance(v, Var) or not isinstance(v.type, Array):
            return op
        binder = self.scopes.binder.get(v.name)
        if not isinstance(binder, Assign):
            return op
        twin = None
        if binder.op.name == "restore":
            if op.name == "shape":
                found = self.twins.axis(dims_of(v)[op.attrs["axis"]])
                return op if found is None else Op("shape", (found[0],), {"axis": found[1]})
            twin = self.twins.shape(v)
        elif binder.op.name == "list_get" and not is_user_code(binder):
            twin = self.twins.shape(v)
        elif not v.user and is_user_code(binder):
            twin = self.ancestor(v)
        return op if twin is None else replace(op, args=(*op.args[:at], twin, *op.args[at + 1 :]))

    def ancestor(self, v: Var) -> Var | None:
        """A named value of the same shape from which a temporary is computed, or None.

        Reading its shape instead keeps the user's statement whole: the temporary inside it need not
        be a variable of its own.
        """
        binder = self.scopes.binder.get(v.name)
        if not isinstance(binder, Assign):
            return None
        for x in binder.op.args:
            if isinstance(x, Var) and x.type.dtype == v.type.dtype:
                dims = [self.facts.canonical(d) for d in dims_of(x)]
                if dims == [self.facts.canonical(d) for d in dims_of(v)]:
                    found = x if x.user else self.ancestor(x)
                    if found is not None and found.name not in self.overwritten:
                        return found
        return None
