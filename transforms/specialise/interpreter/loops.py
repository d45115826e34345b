"""Loops over ranges, rows, lists, iterators and static sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.record import record
from ...syntax import core
from ..calls.python_calls import PythonCalls
from ..control.peel import LONGEST, SHORT, Peel
from ..dispatch import runs
from ..heap.arrays import Arrays
from ..heap.positions import EXHAUSTED
from ..operations.attributes import Attributes
from ..operations.comparisons import Comparisons
from ..operations.cursors import ADVICE, END, Cursor, Cursors
from ..operations.iterators import LEFT, Iterators, LengthChanges, OneByOne
from ..operations.lazy_iterators import LazyIterators
from ..operations.operators import Operators
from ..operations.streams import Stream, Streams
from ..outside.objects import Objects
from ..places import NeedUnroll, Places
from ..session import Part
from ..values import (
    Cell,
    CheckpointedVal,
    IterVal,
    ListVal,
    Num,
    ProductVal,
    RangeVal,
    RestVal,
    Value,
    constant,
    number,
)
from .checkpointed_loops import CheckpointedLoops
from .run_time_loops import RunTimeLoops
from .while_loops import WhileLoops


@record(eq=False)
class Loops(Part):
    """Loops and comprehensions."""

    places: Places
    arrays: Arrays
    peel: Peel
    objects: Objects
    operators: Operators
    attributes: Attributes
    streams: Streams
    comparisons: Comparisons
    iterators: Iterators
    cursors: Cursors
    lazy_iterators: LazyIterators
    python_calls: PythonCalls
    run_time_loops: RunTimeLoops
    while_loops: WhileLoops
    checkpointed_loops: CheckpointedLoops

    @runs(core.For)
    def run_For(self, node: core.For) -> bool:
        iterable = self.evaluator.eval(node.over)
        return self.for_each(
            node.target, iterable, lambda: self.evaluator.run(node.body, True), node.until, node
        )

    def for_each(
        self,
        target: core.Expr,
        iterable: Value,
        body: Callable[[], bool],
        until: str | None,
        node: core.Node,
    ) -> bool:
        iterable = self.operators.iterated(iterable, node)
        if isinstance(iterable, CheckpointedVal):
            return self.checkpointed_loops.checkpointed_loop(target, iterable, body, until, node)
        if not isinstance(iterable, IterVal):
            return self._over(target, iterable, body, until, node)

        def take(element: Value) -> bool:
            self.evaluator.bind(target, element, node)
            return body()

        if self.iterators.is_read_in(iterable, node):
            return self._stepped(iterable, take, until, node)
        attempt = self.session.checkpoint()
        try:
            return self._over(target, iterable, body, until, node)
        except OneByOne as error:
            self.session.rollback(attempt)
            if self.lazy_iterators.is_nested(iterable, until, node):
                return self.lazy_iterators.one_by_one(iterable, take, until, error, node)
            return self._stepped(iterable, take, until, node)

    def _over(
        self, target: core.Expr, iterable: Value, body: Any, until: str | None, node: core.Node
    ) -> bool:
        with self.iterators.consumed_by_loop(iterable, until, node) as (source, iterator):
            numeric = isinstance(source, (RangeVal, ProductVal))
            cursor = None if numeric else self.cursors.cursor(source)
            if cursor is not None:
                return self._unrolled(target, cursor, body, until, node, iterator)
            if numeric:
                return self._run_time_loop(target, source, body, until, node)
            with self.streams.holding(source, node):
                if isinstance(source, RestVal) and source.tracked is not None:
                    body = self._without_steps(source.tracked, body, node)
                return self._run_time_loop(target, source, body, until, node)

    def _without_steps(self, cell: Cell, body: Callable[[], bool], node: core.Node) -> Any:
        """The body of a loop that takes no elements of the iterator that it runs over."""

        def checked() -> bool:
            before = self.state.heap[cell]
            ended = body()
            if not ended and self.state.heap[cell] is not before:
                raise OneByOne(self.places.refusal(node, LEFT, ADVICE))
            return ended

        return checked

    def _stepped(
        self, iterator: IterVal, take: Callable[[Value], bool], until: str | None, node: core.Node
    ) -> bool:
        """A loop of which each iteration begins with one step of the iterator."""
        self.lazy_iterators.begun(iterator, node)

        def once(end: Callable[[], bool]) -> bool:
            return self.lazy_iterators.step(iterator, take, end, node, lambda: False)

        return self.while_loops.tested_inside(once, until, node)

    def _run_time_loop(
        self, target: core.Expr, iterable: Value, body: Any, until: str | None, node: core.Node
    ) -> bool:
        def looped() -> bool:
            if isinstance(iterable, RangeVal):
                return self.run_time_loops.range_loop(target, iterable, body, until, node)
            return self.run_time_loops.stream_loop(
                target, self.streams.stream(iterable, node), body, until, node
            )

        def otherwise(need: NeedUnroll) -> bool:
            items = self.objects.static_items(iterable)
            if items is not None and len(items) > LONGEST:
                items = None
            if need.peel and (items is None or len(items) > SHORT):
                attempt = self.session.checkpoint()
                try:
                    return self._peeled(
                        target, self.streams.stream(iterable, node), body, until, node
                    )
                except NeedUnroll:
                    if items is None:
                        raise
                    self.session.rollback(attempt)
            if items is None:
                raise need
            cursor = self.cursors.cursor(iterable)
            assert cursor is not None, iterable
            return self._unrolled(target, cursor, body, until, node)

        lists = self.streams.lists_in(iterable)
        attempt = self.session.checkpoint() if lists else None
        try:
            with self.streams.running_over(lists):
                return self.while_loops.looped(looped, otherwise)
        except LengthChanges as changes:
            if changes.cell not in lists or attempt is None:
                raise
            self.session.rollback(attempt)
            if not isinstance(iterable, ListVal):
                text = "this list changes its length while a loop runs over it"
                advice = "run over a copy: `list(...)`"
                refusal = self.places.refusal(changes.node, text, advice)
                raise (OneByOne(refusal) if isinstance(iterable, RestVal) else refusal) from None
        return self._live_loop(target, iterable.cell, body, until, node)

    def _live_loop(
        self, target: core.Expr, cell: Cell, body: Any, until: str | None, node: core.Node
    ) -> bool:
        """A loop over a list that it makes longer or shorter."""
        place = f"<place L{node.line}>"
        while place in self.state.env:
            place += "'"
        self.state.env[place] = constant(0)

        def test() -> Num:
            count = self.python_calls.call_len((ListVal(cell),), {}, node)
            return number(self.comparisons.compare("<", self.state.env[place], count, node))

        def inner() -> bool:
            position = self.state.env[place]
            self.state.env[place] = self.operators.binary("add", position, constant(1), node)
            self.evaluator.bind(
                target, self.attributes.sequence_index(ListVal(cell), position, node), node
            )
            return body()

        with self.streams.holding(ListVal(cell), node):
            ended = self.while_loops.while_(test, inner, until, node)
        self.state.env.pop(place, None)
        return ended

    def _peeled(
        self, target: core.Expr, stream: Stream, body: Any, until: str | None, node: core.Node
    ) -> bool:
        def first() -> bool:
            self.evaluator.bind(target, stream.element(constant(0)), node)
            return body()

        def rest() -> bool:
            return self.run_time_loops.stream_loop(target, stream, body, until, node, 1)

        some = number(self.comparisons.compare(">", stream.count, constant(0), node))
        return self.peel.first_and_rest(some, first, rest, until, node)

    def _unrolled(
        self,
        target: core.Expr,
        cursor: Cursor,
        body: Any,
        until: str | None,
        node: core.Node,
        iterator: Cell | None = None,
        longest: int = 0,
    ) -> bool:
        """One copy of the body per element of a static sequence, or of the rest of an iterator; at
        most `longest` elements, if that is known."""
        if not longest:
            items = self.objects.static_items(cursor.source)
            assert items is not None, cursor.source
            longest = cursor.at + len(items) + LONGEST
        while True:
            if iterator is not None:  # from which the body may have taken elements, too
                left = self.arrays.usable(self.state.heap[iterator], node)
                now = self.cursors.cursor(left)
                assert now is not None, left
                cursor = now
            item = cursor.next(node)
            if iterator is not None:
                self.state.heap[iterator] = EXHAUSTED if item is END else cursor.rest()
            if item is END:
                return False
            if cursor.at > longest:
                self.places.refuse(node, "this loop makes what it runs over longer and longer")
            self.evaluator.bind(target, item, node)
            if body():
                return True
            over = self.peel.is_over(until, node)
            if over.known is None:
                return self.peel.unless(
                    until,
                    lambda c=cursor: self._unrolled(
                        target, c, body, until, node, iterator, longest
                    ),
                    node,
                )
            if over.known[0]:
                return False
