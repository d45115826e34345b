"""`while` loops, and the forms that a loop may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...ir.fixpoint import IterationLimit
from ...ir.nodes import Operand, Scalar, While
from ...ir.record import record
from ...syntax import core
from ..control.joins import Joins
from ..control.loop_joins import LoopJoins
from ..control.peel import LONGEST, Peel
from ..dispatch import runs
from ..heap.arrays import Arrays
from ..heap.lists import Lists
from ..operations.truth import Truth
from ..places import NeedUnroll, Places
from ..session import Part
from ..values import Cell, Ended, Items, Num, constant
from .run_time_loops import RunTimeLoops


class _TestChanges(Exception):
    """The test of a loop has effects."""


@record(eq=False)
class WhileLoops(Part):
    """Loops that run as long as a test holds."""

    places: Places
    arrays: Arrays
    lists: Lists
    joins: Joins
    loop_joins: LoopJoins
    peel: Peel
    truth: Truth
    run_time_loops: RunTimeLoops

    def looped(self, looped: Callable[[], bool], otherwise: Callable[[NeedUnroll], bool]) -> bool:
        """A loop; where that fails, `otherwise`; where that fails as well, the same with run-time
        lists in place of lists with known elements."""
        attempt = self.session.checkpoint()
        rounds = IterationLimit("specialise: form of a loop")
        while True:
            rounds.count()
            try:
                return looped()
            except NeedUnroll as need:
                self.session.rollback(attempt)
                trouble = need
            try:
                return otherwise(trouble)
            except NeedUnroll as need:
                self.session.rollback(attempt)
                if not self._becomes_run_time_list(need.sequence):
                    raise
            attempt = self.session.checkpoint()

    def _becomes_run_time_list(self, cell: Cell | None) -> bool:
        """Converts a list with known elements that is indexed at run time to a run-time list; False
        if that is impossible.  An empty list is converted at the first append."""
        content = self.state.heap.get(cell) if cell is not None else None
        if cell is None or cell.path or not isinstance(content, Items):
            return False
        if not content.values:
            return self.arrays.becomes_run_time_list(cell)
        elem = self.joins.element_type((self.state, content))
        if elem is not None:
            self.state.heap[cell] = self.lists.grow(content, elem, None)
        return elem is not None

    @runs(core.While)
    def run_While(self, node: core.While) -> bool:
        def loop() -> bool:
            test, body = (
                lambda: self.truth.condition(node.test),
                lambda: self.evaluator.run(node.body, True),
            )
            return self.while_(test, body, node.until, node)

        def otherwise(need: NeedUnroll) -> bool:
            if need.peel:
                cond = self.truth.condition(node.test)
                return self.peel.first_and_rest(
                    cond, lambda: self.evaluator.run(node.body), loop, node.until, node
                )
            return self._unrolled_while(node, LONGEST, need)

        return self.looped(loop, otherwise)

    def _unrolled_while(self, node: core.While, left: int, need: NeedUnroll) -> bool:
        """One copy of the body per iteration, as long as the condition is known."""
        while left:
            left -= 1
            cond = self.truth.condition(node.test)
            if cond.known is None:
                break
            if not cond.known[0]:
                return False
            if self.evaluator.run(node.body, True):
                return True
            over = self.peel.is_over(node.until, node)
            if over.known is None:
                again = left
                return self.peel.unless(
                    node.until, lambda again=again: self._unrolled_while(node, again, need), node
                )
            if over.known[0]:
                return False
        raise need

    def while_(
        self, test: Callable[[], Num], body: Callable[[], bool], until: str | None, node: core.Node
    ) -> bool:
        origin = self.b.origin
        made: dict[str, Any] = {}

        def once() -> tuple[bool, Operand | None]:
            before, block = self.state.copy(), list[Any]()
            with self.b.into(block):
                cond = test()
            if self.state.changed_since(before):
                raise _TestChanges
            made["test"], made["cond"] = block, cond
            if body():
                return True, None
            return False, self.run_time_loops.until_operand(until, node)

        attempt = self.session.checkpoint()
        try:
            block, carried, flag = self.loop_joins.loop(once, node)
        except _TestChanges:
            self.session.rollback(attempt)
            return self._while_tested_inside(test, body, until, node)
        if "cond" not in made:  # the test always raises
            self.session.rollback(attempt)
            test()
            raise Ended
        cond = made["cond"]
        if cond.known is not None and not cond.known[0]:
            self.session.rollback(attempt)  # there is no loop, but its test may fail
            test()
            return False
        if cond.known is not None and flag is None:
            self._refuse_endless(node)
        trips = self.b.var(Scalar("int64", value=None), f"trips_L{node.line}")
        self.b.block.append(
            While(made["test"], cond.operand, block, carried, flag, trips,
                  self.b.names.fresh("loop"), origin)
        )  # fmt: skip
        return False

    def _refuse_endless(self, node: core.Node) -> NoReturn:
        self.places.refuse(
            node,
            "nothing but an error ends this loop",
            "add a `break` or a condition",
        )

    def _while_tested_inside(
        self, test: Callable[[], Num], body: Callable[[], bool], until: str | None, node: core.Node
    ) -> bool:
        """A loop whose test has effects, those of the test that fails included."""

        def once(end: Callable[[], bool]) -> bool:
            cond = test()
            if cond.known is not None:
                return body() if cond.known[0] else end()
            return self.joins.if_(cond, body, end)

        return self.tested_inside(once, until, node)

    def tested_inside(
        self, run: Callable[[Callable[[], bool]], bool], until: str | None, node: core.Node
    ) -> bool:
        """A loop whose test is a part of its body: `run` is given what ends the loop."""
        origin = self.b.origin
        failed = f"<failed L{node.line}>"
        self.state.env[failed] = constant(False)

        def fails() -> bool:
            self.state.env[failed] = constant(True)
            return False

        def once() -> tuple[bool, Operand | None]:
            self.state.env[failed] = constant(False)
            if run(fails):
                return True, None
            flags = [
                f
                for f in (
                    self.run_time_loops.until_operand(until, node),
                    self.run_time_loops.until_operand(failed, node),
                )
                if f
            ]
            both = self.b.emit("logical_or", *flags).operand if flags[1:] else None
            return False, both or (flags[0] if flags else None)

        block, carried, flag = self.loop_joins.loop(once, node)
        if flag is None:
            self._refuse_endless(node)
        self.state.env.pop(failed, None)
        trips = self.b.var(Scalar("int64", value=None), f"trips_L{node.line}")
        label = self.b.names.fresh("loop")
        self.b.block.append(
            While([], constant(True).operand, block, carried, flag, trips, label, origin)
        )
        return False
