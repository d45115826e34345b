"""Loops: over ranges, rows, lists and static sequences; `while`; comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..build import Builder
from ..counters import note_counter
from ..dims import Dim
from ..errors import TypeError_
from ..ir import Block, For, Operand, Scalar, Var, While
from ..records import record
from .expressions import NeedUnroll
from .peel import LONGEST, SHORT
from .values import (
    Cell,
    CheckpointedVal,
    Conflict,
    EnumerateVal,
    Growing,
    Items,
    ListVal,
    Maybe,
    Mixin,
    Num,
    ProductVal,
    RangeVal,
    Rec,
    Ref,
    State,
    TupleVal,
    Value,
    ZipVal,
)


@record
class Stream:
    """A run-time iteration: how often, and the element at a position."""

    count: Num
    element: Callable[[Num], Value]


class Loops(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State

    def run_For(self, node: Any) -> bool:
        iterable = self.eval(node.iter)
        return self.for_each(
            node.target, iterable, lambda: self.run(node.body, True), node.until, node
        )

    def for_each(
        self, target: ast.expr, iterable: Value, body: Any, until: str | None, node: Any
    ) -> bool:
        iterable = self.iterated(iterable, node)
        if isinstance(iterable, CheckpointedVal):
            return self.checkpointed_loop(target, iterable, body, until, node)
        numeric = isinstance(iterable, (RangeVal, ProductVal))
        items = None if numeric else self.static_items(iterable)
        if items is not None:
            return self._unrolled(target, items, body, until, node)
        if numeric:
            return self._run_time_loop(target, iterable, body, until, node)
        with self.holding(iterable, node):
            return self._run_time_loop(target, iterable, body, until, node)

    @contextmanager
    def holding(self, iterable: Value, node: Any) -> Iterator[None]:
        """A loop holds on to what it runs over, even if the user's name moves on."""
        held = f"<over L{node.lineno}>"
        while held in self.state.env:
            held += "'"
        self.state.env[held] = iterable
        try:
            yield
        finally:
            self.state.env.pop(held, None)

    def _run_time_loop(
        self, target: ast.expr, iterable: Value, body: Any, until: str | None, node: Any
    ) -> bool:
        def looped() -> bool:
            if isinstance(iterable, RangeVal):
                return self._range_loop(target, iterable, body, until, node)
            return self._stream_loop(target, self.stream(iterable, node), body, until, node)

        def otherwise(need: NeedUnroll) -> bool:
            items = self.static_items(iterable)
            if items is not None and len(items) > LONGEST:
                items = None
            if need.peel and (items is None or len(items) > SHORT):
                attempt = self.checkpoint()
                try:
                    return self._peeled(target, self.stream(iterable, node), body, until, node)
                except NeedUnroll:
                    if items is None:
                        raise
                    self.rollback(attempt)
            if items is None:
                raise need
            return self._unrolled(target, items, body, until, node)

        return self._looped(looped, otherwise)

    def _looped(self, looped: Callable[[], bool], otherwise: Callable[[NeedUnroll], bool]) -> bool:
        """A loop, else as `otherwise` has it, else with lists of the run in place of lists whose
        elements are known one by one."""
        attempt = self.checkpoint()
        while True:
            try:
                return looped()
            except NeedUnroll as need:
                self.rollback(attempt)
                trouble = need
            try:
                return otherwise(trouble)
            except NeedUnroll as need:
                self.rollback(attempt)
                if not self._becomes_run_time_list(need.sequence):
                    raise
            attempt = self.checkpoint()

    def _becomes_run_time_list(self, cell: Cell | None) -> bool:
        """Whether a list of ours that was to be indexed can be one of the run, and is now.  An
        empty one becomes one where something is appended to it; until then, no index is right."""
        content = self.state.heap.get(cell) if cell is not None else None
        if cell is None or cell.path or not isinstance(content, Items):
            return False
        if not content.values:
            new = cell not in self.run_time_lists
            self.run_time_lists.add(cell)
            return new
        elem = self._element_type((self.state, content))
        if elem is not None:
            self.state.heap[cell] = self.grow(content, elem, None)
        return elem is not None

    def _peeled(
        self, target: ast.expr, stream: Stream, body: Any, until: str | None, node: Any
    ) -> bool:
        def first() -> bool:
            self.bind(target, stream.element(self.constant(0)), node)
            return body()

        def rest() -> bool:
            return self._stream_loop(target, stream, body, until, node, 1)

        some = self.compare(ast.Gt(), stream.count, self.constant(0), node)
        return self.first_and_rest(some, first, rest, until, node)

    def checkpoint(self) -> Any:
        return (
            self.state.copy(),
            self.b.block,
            len(self.b.block),
            self.b.names.snapshot(),
            self.b.facts.snapshot(),
        )

    def rollback(self, saved: Any) -> None:
        self.state, self.b.block = saved[0].copy(), saved[1]
        del self.b.block[saved[2] :]
        self.b.names.restore(saved[3])
        self.b.facts.restore(saved[4])

    def _unrolled(
        self, target: ast.expr, items: list[Value], body: Any, until: str | None, node: Any
    ) -> bool:
        """One copy of the body per element of a static sequence."""
        for position, item in enumerate(items):
            self.bind(target, item, node)
            if body():
                return True
            over = self.is_over(until, node)
            if over.known is None:
                rest = items[position + 1 :]
                return self.unless(
                    until, lambda rest=rest: self._unrolled(target, rest, body, until, node), node
                )
            if over.known[0]:
                break
        return False

    def _range_loop(
        self, target: ast.expr, r: RangeVal, body: Any, until: str | None, node: Any
    ) -> bool:
        start, stop, step = r.start.operand, r.stop.operand, r.step.operand
        origin = self.b.origin
        hint = target.id if isinstance(target, ast.Name) else "k"
        made: dict[str, Any] = {}

        def once() -> tuple[bool, Operand | None]:
            name = self.b.names.fresh(hint)
            index = Var(
                name,
                Scalar("int64", True, Dim.of(name)),
                hint if isinstance(target, ast.Name) else "",
            )
            made["index"] = index
            note_counter(self.b.facts, index, start, stop, step)
            self.bind(target, Num(index), node)
            if body():
                return True, None
            return False, self._until(until, node)

        block, carried, flag = self.loop(once, node)
        trips = self.b.var(Scalar("int64", value=None), f"trips_L{getattr(node, 'lineno', 0)}")
        self.b.block.append(
            For(
                made["index"], start, stop, step, block, carried, flag, None, r.reverse, trips,
                label=self.b.names.fresh("loop"), kind="parallel" if r.parallel else "sequential",
                origin=origin,
            )
        )  # fmt: skip
        return False

    def _until(self, until: str | None, node: Any) -> Operand | None:
        if until is None:
            return None
        value = self.state.env[until]
        flag = self.truth(self.usable(value, node), node)
        return None if flag.known is not None and not flag.known[0] else flag.operand

    def _stream_loop(
        self,
        target: ast.expr,
        stream: Stream,
        body: Any,
        until: str | None,
        node: Any,
        start: int = 0,
    ) -> bool:
        index = ast.copy_location(ast.Name(self.fresh_name(f"k_L{node.lineno}"), ast.Store()), node)

        def inner() -> bool:
            # The position is not a name of the user's: it is gone before anyone sees it.
            position = self.state.env.pop(index.id)
            self.bind(target, stream.element(position), node)
            return body()

        positions = RangeVal(self.constant(start), stream.count, self.constant(1))
        return self._range_loop(index, positions, inner, until, node)

    def stream(self, iterable: Value, node: Any) -> Stream:
        """How to iterate over something whose length is known only at run time."""
        if isinstance(iterable, Ref):
            array = self.sym(iterable)
            if array.ndim == 0:
                raise self.located(TypeError("iteration over a 0-d array"), node)
            counted = self._counted(iterable)
            if counted is not None:
                return self.stream(counted, node)
            return Stream(self.size(array, 0), lambda k: self.row(iterable, k, node))
        if isinstance(iterable, ListVal) and isinstance(self.state.heap[iterable.cell], Growing):
            cell = iterable.cell
            count = self.wrap(self.b.emit("list_len", self.state.heap[cell].operand))
            return Stream(count, lambda k: self.list_element(self.state.heap[cell], k.operand))
        if isinstance(iterable, Rec):
            count = self.wrap(self.b.emit("shape", iterable.operand, axis=0))
            return Stream(count, lambda k: self.record_index(iterable, k, node))
        if isinstance(iterable, RangeVal):
            return Stream(
                self.range_count(iterable), lambda k: self._range_element(iterable, k, node)
            )
        if isinstance(iterable, EnumerateVal):
            inner = self.stream(iterable.inner, node)
            return Stream(
                inner.count,
                lambda k: TupleVal((self.binary("add", k, iterable.start, node)
                                    if iterable.start.known != (0,) else k, inner.element(k))),
            )  # fmt: skip
        if isinstance(iterable, ZipVal):
            inners = [self.stream(i, node) for i in iterable.inners]
            count = inners[0].count
            for other in inners[1:]:
                if count.operand != other.count.operand and not self._same_size(count, other.count):
                    count = Num(self.b.emit("minimum", count.operand, other.count.operand).operand)
            return Stream(count, lambda k: TupleVal(tuple(i.element(k) for i in inners)))
        if isinstance(iterable, ProductVal):
            return self._product_stream(iterable, node)
        items = self.static_items(iterable)
        if items is not None:
            values = tuple(items)
            return Stream(self.constant(len(values)), lambda k: self._pick(values, k, None, node))
        raise self.refusal(
            getattr(node, "iter", node), f"{self.kind_of(iterable)} is not iterable", "", TypeError_
        )

    def _counted(self, array: Ref) -> RangeVal | None:
        """What `tf.range` counts: a loop over it needs no array, and counts in int64."""
        made = self.b.definitions.get(self.read(array).name)
        if made is None or made.name != "arange" or made.attrs["dtype"] != "int32":
            return None
        if any(not isinstance(x.type, Scalar) or x.type.dtype != "int64" for x in made.args):
            return None
        start, stop, step = (self.wrap(self.b.sym(x)) for x in made.args)
        return RangeVal(start, stop, step)

    def _product_stream(self, product: ProductVal, node: Any) -> Stream:
        inners = [self.stream(i, node) for i in product.inners]
        count = self.constant(1)
        for inner in inners:
            count = self.binary("multiply", count, inner.count, node)

        def element(k: Num) -> Value:
            places: list[Num] = []
            for inner in inners[:0:-1]:
                places.append(self.binary("remainder", k, inner.count, node))
                k = self.binary("floor_divide", k, inner.count, node)
            places.append(k)
            index = TupleVal(tuple(i.element(p) for i, p in zip(inners, places[::-1])))
            if product.array is None:
                return index
            return TupleVal((index, self.subscript(product.array, index, node)))

        return Stream(count, element)

    def _same_size(self, x: Num, y: Num) -> bool:
        p, q = x.operand.type.value, y.operand.type.value
        return p is not None and q is not None and self.b.facts.known_equal(p, q)

    def range_count(self, r: RangeVal) -> Num:
        """`len(range(start, stop, step))`."""
        known = [p.known[0] for p in (r.start, r.stop, r.step) if p.known is not None]
        if len(known) == 3:
            return self.constant(len(range(*known)))
        start, stop, step = (self.b.sym(p.operand) for p in (r.start, r.stop, r.step))
        if r.start.known == (0,) and r.step.known == (1,):
            return Num(self.b.emit("maximum", stop, 0).operand)
        count = -((start - stop) // step)
        return Num(self.b.emit("maximum", count, 0).operand)

    def _range_element(self, r: RangeVal, k: Num, node: Any) -> Value:
        if r.reverse:
            count = self.range_count(r)
            k = self.binary(
                "subtract", self.binary("subtract", count, k, node), self.constant(1), node
            )
        if r.start.known == (0,) and r.step.known == (1,):
            return k
        scaled = self.binary("multiply", k, r.step, node)
        return self.binary("add", r.start, scaled, node)

    def run_While(self, node: Any) -> bool:
        def otherwise(need: NeedUnroll) -> bool:
            if need.peel:
                cond = self.condition(node.test)
                return self.first_and_rest(
                    cond, lambda: self.run(node.body), lambda: self._while(node), node.until, node
                )
            return self._unrolled_while(node, LONGEST, need)

        return self._looped(lambda: self._while(node), otherwise)

    def _unrolled_while(self, node: Any, left: int, need: NeedUnroll) -> bool:
        """One copy of the body per iteration, as long as the condition is known."""
        while left:
            left -= 1
            cond = self.condition(node.test)
            if cond.known is None:
                break
            if not cond.known[0]:
                return False
            if self.run(node.body, True):
                return True
            over = self.is_over(node.until, node)
            if over.known is None:
                again = left
                return self.unless(
                    node.until, lambda again=again: self._unrolled_while(node, again, need), node
                )
            if over.known[0]:
                return False
        raise need

    def _while(self, node: Any) -> bool:
        origin = self.b.origin
        made: dict[str, Any] = {}

        def once() -> tuple[bool, Operand | None]:
            test: Block = []
            with self.b.into(test):
                cond = self.condition(node.test)
            made["test"], made["cond"] = test, cond
            if self.run(node.body, True):
                return True, None
            return False, self._until(node.until, node)

        block, carried, flag = self.loop(once, node)
        cond = made["cond"]
        if cond.known is not None and not cond.known[0]:
            return False
        if cond.known is not None and flag is None:
            self.refuse(node, "this loop never ends", "add a `break` or a condition")
        trips = self.b.var(Scalar("int64", value=None), f"trips_L{node.lineno}")
        self.b.block.append(
            While(made["test"], cond.operand, block, carried, flag, trips,
                  self.b.names.fresh("loop"), origin)
        )  # fmt: skip
        return False

    # ---- comprehensions

    def comprehension(self, node: Any) -> Value:
        """`[e for x in xs if c]` is a list appended to in loops."""
        name = self.fresh_name("items")
        while name in self.state.env:  # a comprehension inside this one
            name += "_"
        self.state.env[name] = self.new_list((), name)
        targets = {
            n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)
        }
        # The first iterable is evaluated outside the comprehension.
        first = self.eval(node.generators[0].iter)
        hidden = {n: self.state.env.pop(n) for n in targets if n in self.state.env}

        def level(depth: int) -> bool:
            if depth == len(node.generators):
                value = self.eval(node.elt)
                self.call_method(self.state.env[name], "append", (value,), {}, node.elt)
                return False
            generator = node.generators[depth]
            if generator.is_async:
                self.refuse(node, "async comprehensions are not supported")

            def body() -> bool:
                cond = self.constant(True)
                for test in generator.ifs:
                    cond = self.lazy_and(cond, lambda test=test: self.condition(test), test)
                if cond.known is not None:
                    return level(depth + 1) if cond.known[0] else False
                return self.if_(cond, lambda: level(depth + 1), lambda: False)

            over = first if depth == 0 else self.eval(generator.iter)
            return self.for_each(generator.target, over, body, None, node)

        level(0)
        value = self.state.env.pop(name)
        for target in targets:
            self.state.env.pop(target, None)
        self.state.env.update(hidden)
        return self.usable(value, node)

    def usable(self, value: Value, node: ast.AST) -> Value:
        """A value that was merged from several paths, unless the paths disagree."""
        if isinstance(value, Conflict):
            self.need_unroll(node, value.why, "use one name for one kind of thing", peel=True)
        return value.value if isinstance(value, Maybe) else value
