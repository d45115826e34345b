"""Loops of the emitted program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.index_bounds import add_index_bounds
from ...ir.nodes import Const, For, Operand, Scalar, Var
from ...ir.record import record
from ...ir.symbolic_dims import Dim
from ...syntax import core
from ..control.loop_joins import LoopJoins
from ..heap.arrays import Arrays
from ..operations.streams import Stream
from ..operations.truth import Truth
from ..places import Places
from ..session import Part
from ..values import Num, RangeVal, constant, number


@record(eq=False)
class RunTimeLoops(Part):
    """Loops of the emitted program."""

    places: Places
    arrays: Arrays
    loop_joins: LoopJoins
    truth: Truth

    def range_loop(
        self,
        target: core.Expr,
        r: RangeVal,
        body: Callable[[], bool],
        until: str | None,
        node: core.Node,
    ) -> bool:
        start, stop, step = r.start.operand, r.stop.operand, r.step.operand
        origin = self.b.origin
        hint = target.id if isinstance(target, core.Name) else "k"
        made: dict[str, Any] = {}

        def once() -> tuple[bool, Operand | None]:
            name = self.b.names.fresh(hint)
            index = Var(
                name,
                Scalar("int64", True, Dim.of(name)),
                hint if isinstance(target, core.Name) else "",
            )
            made["index"] = index
            add_index_bounds(self.b.facts, index, start, stop, step)
            self.evaluator.bind(target, Num(index), node)
            if body():
                return True, None
            return False, self.until_operand(until, node)

        bounds = [b.value for b in (start, stop, step) if isinstance(b, Const)]
        runs = len(bounds) == 3 and bool(bounds[2]) and bool(range(*bounds))
        block, carried, flag = self.loop_joins.loop(once, node, runs)
        trips = self.b.var(Scalar("int64", value=None), f"trips_L{node.line}")
        self.b.block.append(
            For(
                made["index"], start, stop, step, block, carried, flag, None, r.reverse, trips,
                label=self.b.names.fresh("loop"), kind="parallel" if r.parallel else "sequential",
                origin=origin,
            )
        )  # fmt: skip
        return False

    def until_operand(self, until: str | None, node: core.Node) -> Operand | None:
        if until is None:
            return None
        value = self.state.env[until]
        flag = self.truth.truth(self.arrays.usable(value, node), node)
        return None if flag.known is not None and not flag.known[0] else flag.operand

    def stream_loop(
        self,
        target: core.Expr,
        stream: Stream,
        body: Callable[[], bool],
        until: str | None,
        node: core.Node,
        start: int = 0,
    ) -> bool:
        index = core.Name(node.at, self.places.fresh_name(f"k_L{node.line}"))

        def inner() -> bool:
            # The position is not a name of the user's, and is removed before the body runs.
            position = number(self.state.env.pop(index.id))
            self.evaluator.bind(target, stream.element(position), node)
            return body()

        positions = RangeVal(constant(start), stream.count, constant(1))
        return self.range_loop(index, positions, inner, until, node)
