"""Iterators whose elements are computed one by one: between the iterations of a loop, or by `next`.

`iterators.py` computes all elements of `map`, `filter` and generator expressions when a loop over
them begins.  Where the difference is observable, the loop is specialised again as here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...ir.builder import Sym
from ...ir.record import record, replace
from ...syntax import core
from ...syntax.traverse import walk
from ..control.joins import Joins
from ..heap.arrays import Arrays
from ..heap.positions import EXHAUSTED, has_lists, is_indexed, position
from ..places import Places
from ..session import Part
from ..values import (
    Cell,
    Closure,
    Conflict,
    Ended,
    EnumerateVal,
    GeneratorVal,
    IterVal,
    MapVal,
    Num,
    RestVal,
    TupleVal,
    Value,
    ZipVal,
    constant,
    number,
)
from .attributes import Attributes
from .comprehensions import Comprehensions
from .cursors import ADVICE, END, Cursors
from .iterators import PLAIN, Iterators, OneByOne, left_unknown
from .operators import Operators
from .streams import Streams
from .truth import Truth

# What is done with an element, or at the end; both say whether they always end in an error.
Step: TypeAlias = Callable[[Value], bool]
End: TypeAlias = Callable[[], bool]


@record(eq=False)
class LazyIterators(Part):
    """Elements that are computed one by one."""

    places: Places
    arrays: Arrays
    joins: Joins
    attributes: Attributes
    truth: Truth
    comprehensions: Comprehensions
    iterators: Iterators
    cursors: Cursors
    operators: Operators
    streams: Streams

    def one_by_one(
        self, value: IterVal, action: Callable[[Value], bool], until: str | None,
        error: OneByOne, node: core.Node,
    ) -> bool:  # fmt: skip
        """A loop whose elements are computed between its iterations; `action` takes an element,
        and says whether it always ends in an error."""
        source = self.arrays.usable(self.state.heap[value.cell], node)
        self.state.heap[value.cell] = Conflict("a loop runs over this iterator")
        ended = False
        if isinstance(source, GeneratorVal) and source.frame is self.places.frame:

            def take(element: Value) -> None:
                if action(element):
                    raise Ended

            self.comprehensions.generate(source.node, source.first, take, until, own_scope=True)
        elif isinstance(source, GeneratorVal) and _is_simple(source):
            ended = self._each_generated(source, action, until, node)
        elif isinstance(source, MapVal):
            ended = self._each_mapped(source, action, until, node)
        else:
            raise error.refusal
        exhausted = until is None
        self.state.heap[value.cell] = EXHAUSTED if exhausted else left_unknown("a loop")
        return ended

    def is_nested(self, value: IterVal, until: str | None, node: core.Node) -> bool:
        """Whether a loop over it is a loop over what it computes its elements from."""
        source = self.arrays.usable(self.state.heap[value.cell], node)
        if until is not None and self.iterators.is_read_later({value.cell}):
            return False
        if isinstance(source, GeneratorVal):
            return source.frame is self.places.frame or _is_simple(source)
        return isinstance(source, MapVal)

    def _each_generated(
        self, source: GeneratorVal, action: Callable[[Value], bool], until: str | None,
        node: core.Node,
    ) -> bool:  # fmt: skip
        """Of a generator of another function: its element is a function of what it runs over."""
        scope = self.b.names.fresh("scope")
        name = f"<element {scope}>"

        def body() -> bool:
            item = self.state.env.pop(name)

            def run() -> bool:
                return action(self._part(source, source.node.element, item, node))

            kept = self._keeps(source, item, node)
            if kept.known is not None:
                return run() if kept.known[0] else False
            return self.joins.if_(kept, run, lambda: False)

        over = source.first
        return self.evaluator.for_each(core.Name(node.at, name), over, body, until, node)

    def _keeps(self, source: GeneratorVal, item: Value, node: core.Node) -> Num:
        """Whether the tests of a generator hold for an item."""
        tests = source.node.clauses[0].tests
        if not tests:
            return constant(True)
        test = tests[0] if len(tests) == 1 else core.Bool(source.node.at, "and", tests)
        return self.truth.truth(self._part(source, test, item, node), node)

    def _part(self, source: GeneratorVal, part: core.Expr, item: Value, node: core.Node) -> Value:
        """An expression in a generator, for an item of what it runs over."""
        at, target = source.node.at, source.node.clauses[0].target
        body: core.Block = (core.Return(part.at, part),)
        param = target
        if not isinstance(param, core.Name):
            param = core.Name(at, "s2s_item")
            body = (core.Assign(at, (target,), param), *body)
        params = core.Params(at, plain=(core.Param(at, param.id),))
        function = core.Func(at, "<generator>", params, body)
        return self.evaluator.call(Closure(function, source.frame), (item,), {}, node)

    def _each_mapped(
        self, source: MapVal, action: Callable[[Value], bool], until: str | None, node: core.Node
    ) -> bool:
        scope = self.b.names.fresh("scope")
        name = f"<element {scope}>"

        def body() -> bool:
            item = self.state.env.pop(name)
            assert isinstance(item, TupleVal)
            values = item.values
            if not source.keeps:
                return action(self.evaluator.call(source.function, values, {}, node))
            kept = self.iterators.is_kept(source.function, values[0], node)
            if kept.known is not None:
                return action(values[0]) if kept.known[0] else False
            return self.joins.if_(kept, lambda: action(values[0]), lambda: False)

        over = self.iterators.iterator(ZipVal(source.inners), zip)
        return self.evaluator.for_each(core.Name(node.at, name), over, body, until, node)

    # ---- one step

    def step(
        self, value: IterVal, then: Step, end: End | None, node: core.Node, skip: End | None = None
    ) -> bool:  # fmt: skip
        """Takes one element: `then` if there is one, else `end`, both of which say whether they
        always end in an error; the end is an error if there is no `end`.  `skip` is for elements
        that tests of the iterator drop: if there is none, the next one is taken."""
        cell = value.cell
        source = self.arrays.usable(self.state.heap[cell], node)
        cursor = self.cursors.cursor(source)
        if cursor is not None:
            item = cursor.next(node)
            self.state.heap[cell] = cursor.rest()
            return self._ended(end) if item is END else then(item)
        source = self.begun(value, node)
        inner = source.inner if isinstance(source, RestVal) else source
        if isinstance(inner, EnumerateVal) and isinstance(inner.inner, IterVal):
            number_ = self.operators.binary("add", inner.start, position(source), node)

            def numbered(item: Value) -> bool:
                taken = self.operators.binary("add", position(source), constant(1), node)
                self.state.heap[cell] = RestVal(inner, number(taken))
                return then(TupleVal((number_, item)))

            return self.step(inner.inner, numbered, end, node, skip)
        if isinstance(source, ZipVal) and not is_indexed(source):
            return self._step_all(source.inners, (), then, end, node, skip)
        if isinstance(source, MapVal):
            return self._step_map(source, then, end, node, skip)
        if isinstance(source, GeneratorVal):

            def keeps(items: tuple[Value, ...]) -> Num:
                return self._keeps(source, items[0], node)

            def generated(items: tuple[Value, ...]) -> bool:
                return then(self._part(source, source.node.element, items[0], node))

            return self._step_kept((source.first,), keeps, generated, end, node, skip)
        return self._step_indexed(cell, source, then, end, node)

    def begun(self, value: IterVal, node: core.Node) -> Value:
        """What an iterator has left, in which each iterator that is taken from has a cell."""
        source = self.arrays.usable(self.state.heap[value.cell], node)
        inner = source.inner if isinstance(source, RestVal) else source
        numbered = isinstance(inner, EnumerateVal) and isinstance(inner.inner, IterVal)
        if is_indexed(source):
            return source
        if isinstance(source, (ZipVal, MapVal)):
            if not all(isinstance(i, IterVal) for i in source.inners):
                source = replace(source, inners=tuple(map(self._as_iterator, source.inners)))
        elif isinstance(source, EnumerateVal) and not numbered:
            source = replace(source, inner=self._as_iterator(source.inner))
        elif isinstance(source, GeneratorVal) and _is_simple(source):
            if not isinstance(source.first, IterVal):
                source = replace(source, first=self._as_iterator(source.first))
        elif not numbered:
            self.places.refuse(
                node, "taking elements of this iterator one by one is not supported", ADVICE
            )
        self.state.heap[value.cell] = source
        for part in _iterators(source):
            if self.cursors.cursor(self.state.heap[part.cell]) is None:
                self.begun(part, node)
        return source

    def _ended(self, end: End | None) -> bool:
        if end is None:
            self.attributes.no_element("", "StopIteration")
        return end()

    def _step_all(
        self, inners: tuple[IterVal, ...], items: tuple[Value, ...], then: Step, end: End | None,
        node: core.Node, skip: End | None,
    ) -> bool:  # fmt: skip
        """One element of each, in their order."""
        if not inners:
            return then(TupleVal(items)) if items else self._ended(end)

        def rest(item: Value) -> bool:
            return self._step_all(inners[1:], (*items, item), then, end, node, None)

        return self.step(inners[0], rest, end, node, skip)

    def _step_map(
        self, source: MapVal, then: Step, end: End | None, node: core.Node, skip: End | None
    ) -> bool:
        def keeps(items: tuple[Value, ...]) -> Num:
            return self.iterators.is_kept(source.function, items[0], node)

        if source.keeps:
            return self._step_kept(
                source.inners, keeps, lambda items: then(items[0]), end, node, skip
            )

        def mapped(items: Value) -> bool:
            assert isinstance(items, TupleVal)
            return then(self.evaluator.call(source.function, items.values, {}, node))

        return self._step_all(source.inners, (), mapped, end, node, skip)

    def _step_kept(
        self, inners: tuple[IterVal, ...], keeps: Callable[[tuple[Value, ...]], Num],
        then: Callable[[tuple[Value, ...]], bool], end: End | None, node: core.Node,
        skip: End | None,
    ) -> bool:  # fmt: skip
        def tested(items: Value) -> bool:
            assert isinstance(items, TupleVal)
            kept = keeps(items.values)
            if kept.known is not None and kept.known[0]:
                return then(items.values)
            if skip is not None:
                if kept.known is not None:
                    return skip()
                return self.joins.if_(kept, lambda: then(items.values), skip)
            if self.cursors.cursor(self.state.heap[inners[0].cell]) is None:
                self.places.refuse(
                    node, "which of these elements is the next one turns out at run time", PLAIN
                )
            self.arrays.static(kept, node, "whether this element is kept")
            return self._step_kept(inners, keeps, then, end, node, None)

        return self._step_all(inners, (), tested, end, node, skip)

    def _step_indexed(
        self, cell: Cell, source: Value, then: Step, end: End | None, node: core.Node
    ) -> bool:
        start = position(source)
        inner = source.inner if isinstance(source, RestVal) else source
        stream = self.streams.stream(inner, node)
        left = number(self.operators.binary("less", start, stream.count, node))

        def taken() -> bool:
            after = number(self.operators.binary("add", start, constant(1), node))
            self.state.heap[cell] = RestVal(inner, after)
            return then(stream.element(start))

        def ended() -> bool:
            if has_lists(inner):  # elements that are appended now come too late
                self.state.heap[cell] = EXHAUSTED
            return self._ended(end)

        if left.known is not None:
            return taken() if left.known[0] else ended()
        if end is None:
            self.b.check(Sym(self.b, left.operand), "StopIteration", "")
            return taken()
        return self.joins.if_(left, taken, ended)

    def _as_iterator(self, source: Value) -> IterVal:
        return (
            source
            if isinstance(source, IterVal)
            else self.iterators.iterator(source, type(iter(())))
        )


def _iterators(source: Value) -> list[IterVal]:
    """The iterators that one takes its elements of."""
    inner = source.inner if isinstance(source, RestVal) else source
    parts = (*getattr(inner, "inners", ()), getattr(inner, "inner", None))
    parts = (*parts, inner.first if isinstance(inner, GeneratorVal) else None)
    return [p for p in parts if isinstance(p, IterVal)]


def _is_simple(source: GeneratorVal) -> bool:
    """Whether a generator runs over one sequence, and binds nothing else."""
    node = source.node
    return len(node.clauses) == 1 and not any(isinstance(n, core.Bind) for n in walk(node))
