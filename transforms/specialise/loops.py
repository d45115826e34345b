"""Loops: over ranges, rows, lists and static sequences; `while`; comprehensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..ir.errors import S2STypeError
from ..ir.fixpoint import IterationLimit
from ..ir.index_bounds import add_index_bounds
from ..ir.nodes import Const, For, Operand, Scalar, Var, While
from ..ir.record import field, record
from ..ir.symbolic_dims import Dim
from ..syntax import core
from ..syntax.names import names_in
from .arrays import Arrays
from .attributes import Attributes
from .comparisons import Comparisons
from .expressions import Expressions
from .indexing import Indexing
from .iterators import END, EXHAUSTED, Cursor, Iterators, LengthChanges
from .joins import Joins
from .loop_joins import LoopJoins
from .operators import Operators
from .peel import LONGEST, SHORT, Peel
from .places import NeedUnroll, Places
from .scopes import makes_functions, renamed, targets_of
from .session import Part
from .statements import Statements
from .values import (
    Cell,
    CheckpointedVal,
    Conflict,
    DictVal,
    Ended,
    EnumerateVal,
    Growing,
    InstanceVal,
    Items,
    ListVal,
    Maybe,
    Num,
    Obj,
    ProductVal,
    RangeVal,
    Rec,
    Ref,
    TupleVal,
    Value,
    ZipVal,
    constant,
    kind_text,
)


@record
class Stream:
    """A run-time iteration: how often, and the element at a position."""

    count: Num
    element: Callable[[Num], Value]


class _TestChanges(Exception):
    """The test of a loop has effects."""


@record(eq=False)
class Loops(Part):
    """Loops and comprehensions."""

    places: Places
    arrays: Arrays
    joins: Joins
    expressions: Expressions
    peel: Peel
    operators: Operators
    indexing: Indexing
    iterators: Iterators
    comparisons: Comparisons
    loop_joins: LoopJoins
    attributes: Attributes
    statements: Statements
    # the lists that run-time loops run over
    run_over: list[Cell] = field(default_factory=list, init=False)

    def run_For(self, node: Any) -> bool:
        iterable = self.expressions.eval(node.over)
        return self.for_each(
            node.target, iterable, lambda: self.statements.run(node.body, True), node.until, node
        )

    def for_each(
        self, target: core.Expr, iterable: Value, body: Any, until: str | None, node: Any
    ) -> bool:
        iterable = self.operators.iterated(iterable, node)
        if isinstance(iterable, CheckpointedVal):
            return self.evaluator.checkpoints.checkpointed_loop(target, iterable, body, until, node)
        with self.iterators.consumed_by_loop(iterable, until, node) as (source, iterator):
            numeric = isinstance(source, (RangeVal, ProductVal))
            cursor = None if numeric else self.iterators.cursor(source)
            if cursor is not None:
                return self._unrolled(target, cursor, body, until, node, iterator)
            if numeric:
                return self._run_time_loop(target, source, body, until, node)
            with self.holding(source, node):
                return self._run_time_loop(target, source, body, until, node)

    @contextmanager
    def holding(self, iterable: Value, node: Any) -> Iterator[None]:
        """A loop holds on to what it runs over, even if the user's name moves on."""
        held = f"<over L{node.line}>"
        while held in self.state.env:
            held += "'"
        self.state.env[held] = iterable
        try:
            yield
        finally:
            self.state.env.pop(held, None)

    def _run_time_loop(
        self, target: core.Expr, iterable: Value, body: Any, until: str | None, node: Any
    ) -> bool:
        def looped() -> bool:
            if isinstance(iterable, RangeVal):
                return self._range_loop(target, iterable, body, until, node)
            return self._stream_loop(target, self.stream(iterable, node), body, until, node)

        def otherwise(need: NeedUnroll) -> bool:
            items = self.expressions.static_items(iterable)
            if items is not None and len(items) > LONGEST:
                items = None
            if need.peel and (items is None or len(items) > SHORT):
                attempt = self.session.checkpoint()
                try:
                    return self._peeled(target, self.stream(iterable, node), body, until, node)
                except NeedUnroll:
                    if items is None:
                        raise
                    self.session.rollback(attempt)
            if items is None:
                raise need
            cursor = self.iterators.cursor(iterable)
            assert cursor is not None, iterable
            return self._unrolled(target, cursor, body, until, node)

        lists = self._lists_in(iterable)
        attempt = self.session.checkpoint() if lists else None
        self.run_over += lists
        try:
            return self._looped(looped, otherwise)
        except LengthChanges as changes:
            if changes.cell not in lists or attempt is None:
                raise
            self.session.rollback(attempt)
            if not isinstance(iterable, ListVal):
                text = "this list changes its length while a loop runs over it"
                self.places.refuse(changes.node, text, "run over a copy: `list(...)`")
        finally:
            del self.run_over[len(self.run_over) - len(lists) :]
        return self._live_loop(target, iterable.cell, body, until, node)

    def _lists_in(self, iterable: Value) -> list[Cell]:
        """The run-time lists that a loop runs over."""
        inner = getattr(iterable, "inners", None) or [getattr(iterable, "inner", None)]
        if isinstance(iterable, (ZipVal, EnumerateVal, ProductVal)):
            return [cell for i in inner for cell in self._lists_in(i)]
        return [iterable.cell] if isinstance(iterable, ListVal) else []

    def _live_loop(
        self, target: core.Expr, cell: Cell, body: Any, until: str | None, node: Any
    ) -> bool:
        """A loop over a list that it makes longer or shorter."""
        place = f"<place L{node.line}>"
        while place in self.state.env:
            place += "'"
        self.state.env[place] = constant(0)

        def test() -> Num:
            count = self.evaluator.python_calls.call_len((ListVal(cell),), {}, node)
            return self.comparisons.compare("<", self.state.env[place], count, node)

        def inner() -> bool:
            position = self.state.env[place]
            self.state.env[place] = self.expressions.binary("add", position, constant(1), node)
            self.statements.bind(
                target, self.attributes.sequence_index(ListVal(cell), position, node), node
            )
            return body()

        with self.holding(ListVal(cell), node):
            ended = self._while(test, inner, until, node)
        self.state.env.pop(place, None)
        return ended

    def _looped(self, looped: Callable[[], bool], otherwise: Callable[[NeedUnroll], bool]) -> bool:
        """A loop, else as `otherwise` has it, else with lists of the run in place of lists whose
        elements are known one by one."""
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
        """Whether a list of ours that was to be indexed can be one of the run, and is now.  An
        empty one becomes one where something is appended to it; until then, no index is right."""
        content = self.state.heap.get(cell) if cell is not None else None
        if cell is None or cell.path or not isinstance(content, Items):
            return False
        if not content.values:
            new = cell not in self.arrays.run_time_lists
            self.arrays.run_time_lists.add(cell)
            return new
        elem = self.joins._element_type((self.state, content))
        if elem is not None:
            self.state.heap[cell] = self.arrays.grow(content, elem, None)
        return elem is not None

    def _peeled(
        self, target: core.Expr, stream: Stream, body: Any, until: str | None, node: Any
    ) -> bool:
        def first() -> bool:
            self.statements.bind(target, stream.element(constant(0)), node)
            return body()

        def rest() -> bool:
            return self._stream_loop(target, stream, body, until, node, 1)

        some = self.comparisons.compare(">", stream.count, constant(0), node)
        return self.peel.first_and_rest(some, first, rest, until, node)

    def _unrolled(
        self,
        target: core.Expr,
        cursor: Cursor,
        body: Any,
        until: str | None,
        node: Any,
        iterator: Cell | None = None,
        longest: int = 0,
    ) -> bool:
        """One copy of the body per element of a static sequence, which is perhaps what an
        iterator has left; at most `longest` elements, if that is known from before."""
        if not longest:
            items = self.expressions.static_items(cursor.source)
            assert items is not None, cursor.source
            longest = cursor.at + len(items) + LONGEST
        while True:
            if iterator is not None:  # of which the body may have taken elements, too
                left = self.usable(self.state.heap[iterator], node)
                now = self.iterators.cursor(left)
                assert now is not None, left
                cursor = now
            item = cursor.next(node)
            if iterator is not None:
                self.state.heap[iterator] = EXHAUSTED if item is END else cursor.rest()
            if item is END:
                return False
            if cursor.at > longest:
                self.places.refuse(node, "this loop makes what it runs over longer and longer")
            self.statements.bind(target, item, node)
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

    def _range_loop(
        self, target: core.Expr, r: RangeVal, body: Any, until: str | None, node: Any
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
            self.statements.bind(target, Num(index), node)
            if body():
                return True, None
            return False, self._until(until, node)

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

    def _until(self, until: str | None, node: Any) -> Operand | None:
        if until is None:
            return None
        value = self.state.env[until]
        flag = self.expressions.truth(self.usable(value, node), node)
        return None if flag.known is not None and not flag.known[0] else flag.operand

    def _stream_loop(
        self,
        target: core.Expr,
        stream: Stream,
        body: Any,
        until: str | None,
        node: Any,
        start: int = 0,
    ) -> bool:
        index = core.Name(node.at, self.places.fresh_name(f"k_L{node.line}"))

        def inner() -> bool:
            # The position is not a name of the user's: it is gone before anyone sees it.
            position = self.state.env.pop(index.id)
            self.statements.bind(target, stream.element(position), node)
            return body()

        positions = RangeVal(constant(start), stream.count, constant(1))
        return self._range_loop(index, positions, inner, until, node)

    def stream(self, iterable: Value, node: Any) -> Stream:
        """How to iterate over something whose length is known only at run time."""
        if isinstance(iterable, Ref):
            array = self.arrays.sym(iterable)
            if array.ndim == 0:
                raise self.places.located(TypeError("iteration over a 0-d array"), node)
            counted = self._counted(iterable)
            if counted is not None:
                return self.stream(counted, node)
            return Stream(
                self.attributes.size(array, 0), lambda k: self.statements.row(iterable, k, node)
            )
        if isinstance(iterable, ListVal) and isinstance(self.state.heap[iterable.cell], Growing):
            cell = iterable.cell
            count = self.arrays.wrap(self.b.emit("list_len", self.state.heap[cell].operand))
            return Stream(
                count, lambda k: self.attributes.list_element(self.state.heap[cell], k.operand)
            )
        if isinstance(iterable, Rec):
            count = self.arrays.wrap(self.b.emit("shape", iterable.operand, axis=0))
            return Stream(count, lambda k: self.indexing.record_index(iterable, k, node))
        if isinstance(iterable, RangeVal):
            return Stream(
                self.range_count(iterable), lambda k: self._range_element(iterable, k, node)
            )
        if isinstance(iterable, EnumerateVal):
            inner = self.stream(iterable.inner, node)
            return Stream(
                inner.count,
                lambda k: TupleVal((self.expressions.binary("add", k, iterable.start, node)
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
        items = self.expressions.static_items(iterable)
        if items is not None:
            values = tuple(items)
            return Stream(
                constant(len(values)), lambda k: self.attributes._pick(values, k, None, node)
            )
        raise self.places.refusal(
            getattr(node, "over", node),
            f"{kind_text(iterable)} is not iterable",
            "",
            S2STypeError,
        )

    def _counted(self, array: Ref) -> RangeVal | None:
        """What `tf.range` counts: a loop over it needs no array, and counts in int64."""
        made = self.b.definitions.get(self.arrays.read(array).name)
        if made is None or made.name != "arange" or made.attrs["dtype"] != "int32":
            return None
        if any(not isinstance(x.type, Scalar) or x.type.dtype != "int64" for x in made.args):
            return None
        start, stop, step = (self.arrays.wrap(self.b.sym(x)) for x in made.args)
        return RangeVal(start, stop, step)

    def _product_stream(self, product: ProductVal, node: Any) -> Stream:
        inners = [self.stream(i, node) for i in product.inners]
        count = constant(1)
        for inner in inners:
            count = self.expressions.binary("multiply", count, inner.count, node)

        def element(k: Num) -> Value:
            places: list[Num] = []
            for inner in inners[:0:-1]:
                places.append(self.expressions.binary("remainder", k, inner.count, node))
                k = self.expressions.binary("floor_divide", k, inner.count, node)
            places.append(k)
            index = TupleVal(tuple(i.element(p) for i, p in zip(inners, places[::-1])))
            if product.array is None:
                return index
            return TupleVal((index, self.attributes.subscript(product.array, index, node)))

        return Stream(count, element)

    def _same_size(self, x: Num, y: Num) -> bool:
        p, q = x.operand.type.value, y.operand.type.value
        return p is not None and q is not None and self.b.facts.known_equal(p, q)

    def range_count(self, r: RangeVal) -> Num:
        """`len(range(start, stop, step))`."""
        known = [p.known[0] for p in (r.start, r.stop, r.step) if p.known is not None]
        if len(known) == 3:
            return constant(len(range(*known)))
        start, stop, step = (self.b.sym(p.operand) for p in (r.start, r.stop, r.step))
        if r.start.known == (0,) and r.step.known == (1,):
            return Num(self.b.emit("maximum", stop, 0).operand)
        # The difference of the bounds of an empty range could wrap.
        known = r.step.known
        names = (
            ("maximum", "minimum")
            if known is None
            else ("maximum",)
            if known[0] > 0
            else ("minimum",)
        )
        ends = [self.b.emit(name, stop, start) for name in names]
        end = self.b.emit("where", step > 0, *ends) if ends[1:] else ends[0]
        distance = start - end
        fits = (distance == 0) | ((distance < 0) == (step > 0))
        self.b.check(fits, "OverflowError", "Python int too large to convert to C ssize_t")
        count = -(distance // step)
        return Num(count.operand)

    def _range_element(self, r: RangeVal, k: Num, node: Any) -> Value:
        if r.reverse:
            count = self.range_count(r)
            k = self.expressions.binary(
                "subtract", self.expressions.binary("subtract", count, k, node), constant(1), node
            )
        if r.start.known == (0,) and r.step.known == (1,):
            return k
        scaled = self.expressions.binary("multiply", k, r.step, node)
        return self.expressions.binary("add", r.start, scaled, node)

    def run_While(self, node: Any) -> bool:
        def loop() -> bool:
            test, body = (
                lambda: self.expressions.condition(node.test),
                lambda: self.statements.run(node.body, True),
            )
            return self._while(test, body, node.until, node)

        def otherwise(need: NeedUnroll) -> bool:
            if need.peel:
                cond = self.expressions.condition(node.test)
                return self.peel.first_and_rest(
                    cond, lambda: self.statements.run(node.body), loop, node.until, node
                )
            return self._unrolled_while(node, LONGEST, need)

        return self._looped(loop, otherwise)

    def _unrolled_while(self, node: Any, left: int, need: NeedUnroll) -> bool:
        """One copy of the body per iteration, as long as the condition is known."""
        while left:
            left -= 1
            cond = self.expressions.condition(node.test)
            if cond.known is None:
                break
            if not cond.known[0]:
                return False
            if self.statements.run(node.body, True):
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

    def _while(
        self, test: Callable[[], Num], body: Callable[[], bool], until: str | None, node: Any
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
            return False, self._until(until, node)

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
            self.places.refuse(node, "this loop never ends", "add a `break` or a condition")
        trips = self.b.var(Scalar("int64", value=None), f"trips_L{node.line}")
        self.b.block.append(
            While(made["test"], cond.operand, block, carried, flag, trips,
                  self.b.names.fresh("loop"), origin)
        )  # fmt: skip
        return False

    def _while_tested_inside(
        self, test: Callable[[], Num], body: Callable[[], bool], until: str | None, node: Any
    ) -> bool:
        """A loop whose test has effects, those of the test that fails included: the test is a part
        of the body, which ends the loop."""
        origin = self.b.origin
        failed = f"<failed L{node.line}>"
        self.state.env[failed] = constant(False)

        def fails() -> bool:
            self.state.env[failed] = constant(True)
            return False

        def once() -> tuple[bool, Operand | None]:
            self.state.env[failed] = constant(False)
            cond = test()
            if cond.known is not None:
                ended = body() if cond.known[0] else fails()
            else:
                ended = self.joins.if_(cond, body, fails)
            if ended:
                return True, None
            flags = [f for f in (self._until(until, node), self._until(failed, node)) if f]
            both = self.b.emit("logical_or", *flags).operand if flags[1:] else None
            return False, both or (flags[0] if flags else None)

        block, carried, flag = self.loop_joins.loop(once, node)
        if flag is None:
            self.places.refuse(node, "this loop never ends", "add a `break` or a condition")
        self.state.env.pop(failed, None)
        trips = self.b.var(Scalar("int64", value=None), f"trips_L{node.line}")
        label = self.b.names.fresh("loop")
        self.b.block.append(
            While([], constant(True).operand, block, carried, flag, trips, label, origin)
        )
        return False

    # ---- comprehensions

    def comprehension(self, node: Any, first: Value | None = None) -> Value:
        """`[e for x in xs if c]` is a list appended to in loops.  The first iterable, which is
        evaluated outside the comprehension, may be at hand."""
        name = self.places.fresh_name("items")
        while name in self.state.env:  # a comprehension inside this one
            name += "_"
        self.state.env[name] = self.arrays.new_list((), name)
        first = self.expressions.eval(node.clauses[0].over) if first is None else first

        def append(value: Value) -> None:
            self.evaluator.call_method(self.state.env[name], "append", (value,), {}, node.element)

        self.generate(node, first, append)
        return self.usable(self.state.env.pop(name), node)

    def generate(
        self, node: Any, first: Value, action: Callable[[Value], None], until: str | None = None
    ) -> None:
        """Runs the loops of a comprehension, with an action on each of its elements."""
        read_later: list[bool] = []
        kept = makes_functions(node)
        targets = targets_of(node)
        if kept:
            scope = self.b.names.fresh("scope")
            names = {n: f"<{n} {scope}>" for n in sorted(targets)}
            node, targets = renamed(node, names), set(names.values())
        hidden = {n: self.state.env.pop(n) for n in targets if n in self.state.env}

        def level(depth: int) -> bool:
            if depth == len(node.clauses):
                value = self.expressions.eval(node.element)
                action(value)
                read_later.append(kept and self._reads_later(value))
                return False
            clause = node.clauses[depth]

            def body() -> bool:
                cond = constant(True)
                for test in clause.tests:
                    cond = self.expressions.lazy_and(
                        cond, lambda test=test: self.expressions.condition(test), test
                    )
                if cond.known is not None:
                    ended = level(depth + 1) if cond.known[0] else False
                else:
                    ended = self.joins.if_(cond, lambda: level(depth + 1), lambda: False)
                if kept and not any(read_later):
                    for target in names_in(clause.target):
                        self.state.env.pop(target, None)
                return ended

            over = first if depth == 0 else self.expressions.eval(clause.over)
            return self.for_each(clause.target, over, body, until, node)

        level(0)
        for target in () if any(read_later) else targets:
            self.state.env.pop(target, None)
        self.state.env.update(hidden)

    def _reads_later(self, value: Value) -> bool:
        """Whether a value may read the names of a comprehension when it is used."""
        if isinstance(value, (ListVal, DictVal, InstanceVal)):
            content = self.state.heap[value.cell]
            return any(map(self._reads_later, getattr(content, "values", ())))
        if isinstance(value, TupleVal):
            return any(map(self._reads_later, value.values))
        return not isinstance(value, (Num, Ref, Rec, Obj))

    def usable(self, value: Value, node: core.Node) -> Value:
        """A value that was merged from several paths, unless the paths disagree."""
        if isinstance(value, Conflict):
            self.places.need_unroll(
                node, value.why, "use one name for one kind of thing", peel=True
            )
        return value.value if isinstance(value, Maybe) else value
