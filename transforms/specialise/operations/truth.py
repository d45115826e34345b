"""Truth values, `and`, `or` and `not`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...ir.errors import S2SValueError
from ...ir.nodes import Assign, Block, Scalar
from ...ir.op_registry import RULES
from ...ir.record import record
from ...syntax import core
from ..control.joins import Joins
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..surface.indexing import Indexing
from ..values import (
    DictVal,
    Ended,
    Growing,
    ListVal,
    Num,
    Obj,
    RangeVal,
    Ref,
    TupleVal,
    Value,
    ViewVal,
    constant,
    number,
)
from .streams import Streams


@record(eq=False)
class Truth(Part):
    """Truth values."""

    places: Places
    arrays: Arrays
    joins: Joins
    indexing: Indexing
    streams: Streams

    def not_(self, value: Value, node: core.Node) -> Num:
        cond = self.truth(value, node)
        return self.arrays.negated(cond)

    def truth(self, value: Value, node: core.Node) -> Num:
        """`bool(value)`, as a bool number."""
        if isinstance(value, Num):
            if value.known is not None:
                return constant(bool(value.known[0]))
            if value.operand.type.dtype == "bool":
                return value
            return Num(self.b.emit("not_equal", value.operand, 0).operand)
        special = self.special_truth(value, node)
        if special is not None:
            return special
        if isinstance(value, Obj):
            if value.path and not isinstance(value.value, (str, bytes, type(None))):
                return constant(True)
            return constant(bool(value.value))
        if isinstance(value, TupleVal):
            return constant(bool(value.values))
        if isinstance(value, (ListVal, DictVal)):
            content = self.state.heap[value.cell]
            if isinstance(content, Growing):
                count = self.b.emit("list_len", content.operand)
                return Num(self.b.emit("not_equal", count, 0).operand)
            return constant(bool(content.values))
        if isinstance(value, ViewVal):
            return constant(bool(self.state.heap[value.cell].keys))
        if isinstance(value, RangeVal):
            return self.truth(self.streams.range_count(value), node)
        if isinstance(value, Ref):
            type_ = self.arrays.ref_type(value)
            if type_.ndim == 0:
                return self.truth(self.indexing.index_value(value, (), node), node)
            raise self.places.refusal(
                node,
                "the truth value of an array is ambiguous",
                "use .any() or .all()",
                S2SValueError,
            )
        return constant(True)

    def condition(self, node: core.Expr) -> Num:
        """A test, of which only the truth matters: `if stack and stack[-1] > x`."""
        if not isinstance(node, core.Bool):
            return self.truth(self.evaluator.eval(node), node)
        combine = self.lazy_and if node.op == "and" else self.lazy_or
        value = self.condition(node.values[0])
        for other in node.values[1:]:
            value = number(combine(value, lambda other=other: self.condition(other), node))
        return value

    def lazy_and(self, left: Value, right: Callable[[], Value], node: core.Node) -> Value:
        cond = self.truth(left, node)
        if cond.known is not None:
            return right() if cond.known[0] else left
        return self._short_circuit(cond, left, right, "logical_and", node)

    def lazy_or(self, left: Value, right: Callable[[], Value], node: core.Node) -> Value:
        cond = self.truth(left, node)
        if cond.known is not None:
            return left if cond.known[0] else right()
        return self._short_circuit(cond, left, right, "logical_or", node)

    def _short_circuit(
        self, cond: Num, left: Value, right: Any, name: str, node: core.Node
    ) -> Value:
        """A right side that cannot fail, costs nothing and has no effect is simply evaluated;
        otherwise it runs only where Python would run it."""
        attempt = self.session.checkpoint()
        before = self.state.copy()
        block: Block = []
        value: Value | None = None
        with self.b.into(block), self.joins.at_run_time(), suppress(Ended):
            try:
                value = right()
            except Exception as error:
                if not self.joins.raised_when_reached(error):
                    raise
        scalar = isinstance(value, Num) and value.operand.type.dtype == "bool"
        harmless = all(_harmless(s) for s in block) and not self.state.changed_since(before)
        if isinstance(value, Num) and scalar and left is cond and harmless:
            self.b.block.extend(block)
            if value.known is not None:
                stays = value.known[0] == (name == "logical_and")
                return cond if stays else constant(value.known[0])
            return Num(self.b.emit(name, cond.operand, value.operand).operand)
        self.session.rollback(attempt)
        if name == "logical_and":
            return self.joins.choose(cond, right, lambda: left, node)
        return self.joins.choose(cond, lambda: left, right, node)

    def special_truth(self, value: Value, node: core.Node) -> Num | None:
        result = self.evaluator.call_special(value, "__bool__", (), node)
        if result is None:
            result = self.evaluator.call_special(value, "__len__", (), node)
        return None if result is None else self.truth(result, node)


def _harmless(stmt: Any) -> bool:
    """Scalar arithmetic that cannot fail; evaluating it in vain does no harm."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.target.type, Scalar):
        return False
    rule = RULES[stmt.op.name]
    if stmt.op.name in ("shape", "undef", "list_len"):
        return True
    if stmt.op.name in ("floor_divide", "remainder", "power", "left_shift", "right_shift"):
        return stmt.target.type.dtype.startswith("float")
    return rule.kind == "elementwise"
