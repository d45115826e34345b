"""Rematerialisation: recompute a forward value at another point, under a cost model."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.builder import NameSupply
from ..ir.nodes import (
    Assign,
    Block,
    Const,
    Op,
    Operand,
    Scalar,
    Var,
)
from ..ir.op_registry import RULES
from ..ir.record import field, record, replace

# Values that cost more than this in total are stored.  The unit is one addition.
MAX_RECOMPUTE_COST = 12.0
# The cost of what cannot be recomputed or stored.
INFINITE_COST = float("inf")

_CHEAP = frozenset(
    "add subtract multiply negative positive absolute fabs square maximum minimum sign cast copy "
    "where strong_mul clip clip_low clip_high equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or logical_not logical_xor bitwise_and bitwise_or "
    "bitwise_xor left_shift right_shift invert isnan isinf isfinite signbit copysign".split()
)
_MODERATE = frozenset("divide reciprocal sqrt floor ceil rint trunc floor_divide remainder".split())
# Operations that cannot fail, so that they may be executed speculatively.
_SAFE = frozenset("add subtract multiply negative maximum minimum cast shape".split())


def cost(op: Op) -> float:
    """The cost of recomputing an operation, per element."""
    rule = RULES[op.name]
    if rule.kind == "query":
        return INFINITE_COST if op.name == "restore" else 0.0
    if rule.kind in ("view", "create"):
        return INFINITE_COST if op.name == "undef" else 1.0
    if op.name == "index":
        gathers = any(item[0] in ("array", "mask") for item in op.attrs["items"])
        return 4.0 if gathers else 1.0
    if op.name in ("list_get", "list_len", "literal"):
        return 1.0
    if op.name == "roll":
        return 2.0
    if rule.kind != "elementwise":
        return INFINITE_COST
    if op.name == "power" and isinstance(op.args[1], Const) and abs(op.args[1].value) in (1, 2, 3):
        return 2.0
    return 1.0 if op.name in _CHEAP else 4.0 if op.name in _MODERATE else 16.0


@record
class Rematerializer:
    """Rematerialises values from their definitions.

    `lookup` yields the operand of a value at the new point, or None.  Values without one are
    computed from `definitions`, for a total cost of at most `limit`, and only if they are in
    `allowed` (None: all).  `is_never_overwritten` is true for arrays that are never overwritten.
    `final` yields an operation that reads an array element after the loops, for an array that is
    not available in its earlier version.  `axis_of_size` yields an array with an axis of the size
    of the given one.  `safe` permits only operations that cannot fail.  The statements are appended
    to `block`; `done` maps rematerialised names to operands, and `spent` is the cost so far."""

    definitions: dict[str, Op]
    names: NameSupply
    lookup: Callable[[Var], Operand | None]
    is_never_overwritten: Callable[[Var], bool]
    axis_of_size: Callable[[Var, int], tuple[Var, int] | None] = lambda x, axis: None
    final: Callable[[Var], Op | None] = lambda x: None
    limit: float = MAX_RECOMPUTE_COST
    allowed: frozenset[str] | None = None
    safe: bool = False
    block: Block = field(default_factory=list)
    done: dict[str, Operand] = field(default_factory=dict)
    spent: float = 0.0

    def rebuild(self, x: Operand, target: Var | None = None) -> Operand | None:
        """An operand equal to `x`, whose statements are appended to `block`; None if that is not
        possible or too expensive.  The result is assigned to `target` if given."""
        if isinstance(x, Const):
            return x
        if target is None:
            available = self.done.get(x.name) or self.lookup(x)
            if available is not None:
                return available
        op = self.definitions.get(x.name)
        if op is None or (self.safe and op.name not in _SAFE):
            return None
        if self.allowed is not None and x.name not in self.allowed:
            return None
        if op.name == "index" and isinstance(op.args[0], Var) and self.lookup(op.args[0]) is None:
            op = self.final(x) or op
        if op.name == "shape" and isinstance(op.args[0], Var):
            found = self.axis_of_size(op.args[0], op.attrs["axis"])
            if self.lookup(op.args[0]) is None and found is not None:
                op = Op("shape", (found[0],), {"axis": found[1]})
                return self._emit(x, op, op.args, target)
        self.spent += cost(op)
        if self.spent > self.limit:
            return None
        args = [self._argument(op, i) for i in range(len(op.args))]
        if None in args:
            return None
        return self._emit(x, op, tuple(a for a in args if a is not None), target)

    def _emit(self, x: Var, op: Op, args: tuple[Operand, ...], target: Var | None) -> Var:
        new = target or replace(x, name=self.names.fresh(x.name))
        self.block.append(Assign(new, replace(op, args=args)))
        self.done[x.name] = new
        return new

    def _argument(self, op: Op, at: int) -> Operand | None:
        x = op.args[at]
        if op.name == "shape" or isinstance(x, Const) or isinstance(x.type, Scalar):
            return self.rebuild(x)
        found = self.rebuild(x)
        # An array or list that is overwritten later would need a copy.
        if isinstance(found, Var) and not self.is_never_overwritten(found):
            return None
        return found
