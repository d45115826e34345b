"""Iterators whose elements are computed one by one: between the iterations of a loop, or by `next`.

`iterators.py` computes all elements of `map`, `filter` and generator expressions when a loop over
them begins.  Where the difference is observable, the loop is specialised again as here.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.builder import Sym
from ...ir.record import record, replace
from ...syntax import core
from ...syntax.traverse import walk
from ..control.joins import Joins
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..values import (
    Closure,
    Conflict,
    Ended,
    GeneratorVal,
    IterVal,
    MapVal,
    Num,
    Ref,
    RestVal,
    TupleVal,
    Value,
    ZipVal,
    constant,
)
from .attributes import Attributes
from .comprehensions import Comprehensions
from .iterators import END, EXHAUSTED, Iterators, OneByOne, left_unknown
from .truth import Truth


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
        if until is None:
            self.state.heap[value.cell] = EXHAUSTED
        else:
            left = left_unknown("a loop")
            self.state.heap[value.cell] = left
        return ended

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

    def advance(self, value: IterVal, node: core.Node, default: bool = False) -> Value:
        """The next element, or END.  With a `default`, the end is no error of the program."""
        source = self.arrays.usable(self.state.heap[value.cell], node)
        cursor = self.iterators.cursor(source)
        if cursor is not None:
            item = cursor.next(node)
            self.state.heap[value.cell] = cursor.rest()
            return item
        inner = source.inner if isinstance(source, RestVal) else source
        if isinstance(inner, Ref) and self.arrays.ref_type(inner).ndim:
            place = source.start if isinstance(source, RestVal) else 0
            return self._next_row(value, inner, place, node, default)
        if isinstance(source, MapVal) and not source.keeps:
            source = replace(source, inners=tuple(map(self._as_iterator, source.inners)))
            self.state.heap[value.cell] = source
            items = [self.advance(i, node, default) for i in source.inners]
            if any(item is END for item in items):
                return END
            return self.evaluator.call(source.function, tuple(items), {}, node)
        if not isinstance(source, GeneratorVal) or not _is_simple(source):
            return self.places.refuse(
                node, "next of a run-time sequence is not supported", "index the sequence"
            )
        source = replace(source, first=self._as_iterator(source.first))
        self.state.heap[value.cell] = source
        while True:
            item = self.advance(source.first, node, default)
            if item is END:
                return END
            kept = self._keeps(source, item, node)
            if self.arrays.static(kept, node, "whether this element is kept"):
                return self._part(source, source.node.element, item, node)

    def _as_iterator(self, source: Value) -> IterVal:
        return (
            source
            if isinstance(source, IterVal)
            else self.iterators.iterator(source, type(iter(())))
        )

    def _next_row(
        self, value: IterVal, array: Ref, place: int, node: core.Node, default: bool
    ) -> Value:
        size = self.arrays.size(self.arrays.sym(array), 0)
        if size.known is not None and size.known[0] <= place:
            return END
        if size.known is None:
            if default:
                self.places.refuse(
                    node,
                    "`next` with a default, of an array whose length is known only at run time, "
                    "is not supported",
                    "test the length with `if`",
                )
            self.b.check(Sym(self.b, size.operand) > place, "StopIteration", "")
        self.state.heap[value.cell] = RestVal(array, place + 1)
        return self.attributes.subscript(array, constant(place), node)


def _is_simple(source: GeneratorVal) -> bool:
    """Whether a generator runs over one sequence, and binds nothing else."""
    node = source.node
    return len(node.clauses) == 1 and not any(isinstance(n, core.Bind) for n in walk(node))
