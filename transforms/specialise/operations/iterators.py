"""Iterators: what is consumed, and what is computed only then.

`zip`, `map`, `filter`, `enumerate`, `reversed`, `iter` and generator expressions make an iterator.
It is a cell that holds what is left: consumed once, it is empty.  What `map`, `filter` and
generator expressions compute is computed when they are consumed, all at once; where that could be
told from computing it element by element, the program is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ...ir.errors import S2SError, S2STypeError
from ...ir.nodes import Assign, Block, For, If, Raise, While, walk
from ...ir.record import record, replace
from ...syntax import core
from ...syntax.names import names_in
from ...syntax.traverse import walk as walk_syntax
from ..control.caught_errors import can_fail
from ..control.joins import Joins
from ..heap.arrays import Arrays
from ..heap.positions import EXHAUSTED, has_lists, is_indexed
from ..outside.objects import Objects
from ..places import Places
from ..scopes import targets_of
from ..session import Part
from ..surface.library_calls import LibraryCalls
from ..values import (
    Cell,
    Closure,
    Conflict,
    DictVal,
    Ended,
    EnumerateVal,
    GeneratorVal,
    Growing,
    Items,
    IterVal,
    KeysVal,
    LibraryVal,
    ListVal,
    MapVal,
    Num,
    Obj,
    ProductVal,
    RangeVal,
    Ref,
    RestVal,
    SliceVal,
    SnapshotVal,
    TupleVal,
    Value,
    ViewVal,
    ZipVal,
    constant,
    kind_text,
    number,
)
from .attributes import Attributes
from .comprehensions import Comprehensions
from .cursors import ADVICE, LAZY, Cursors
from .operators import Operators
from .truth import Truth

LEFT = "how much a loop has left of this iterator depends on the run"


PLAIN = "use a plain loop, or a list: `list(...)`"


class OneByOne(Exception):
    """The elements of an iterator must be computed between the iterations of a loop; `refusal` is
    for when that is not possible."""

    def __init__(self, refusal: S2SError) -> None:
        self.refusal = refusal
        super().__init__(refusal.message)


@record(eq=False)
class Iterators(Part):
    """Iterators and generators, and what they have left."""

    places: Places
    arrays: Arrays
    joins: Joins
    objects: Objects
    library_calls: LibraryCalls
    attributes: Attributes
    operators: Operators
    truth: Truth
    comprehensions: Comprehensions
    cursors: Cursors

    # ---- making

    def iterator(self, source: Value, cls: type) -> IterVal:
        cell = Cell()
        self.state.heap[cell] = self._begun(source)
        return IterVal(cell, cls)

    def _begun(self, source: Value) -> Value:
        """A sequence as an iterator over it begins: a dict keeps its keys from then on.  Numbers
        are refused here, as in Python, even if nothing is consumed."""
        if isinstance(source, Num) or self._is_rank_0(source):
            text = f"{kind_text(source)} is not iterable"
            raise self.places.refusal(self.places.stmt, text, "", S2STypeError)
        if isinstance(source, (DictVal, ViewVal)):
            return KeysVal(source, self.state.heap[source.cell].keys)
        if isinstance(source, (ZipVal, MapVal)):
            return replace(source, inners=tuple(map(self._begun, source.inners)))
        if isinstance(source, EnumerateVal):
            return replace(source, inner=self._begun(source.inner))
        if isinstance(source, GeneratorVal):
            return replace(source, first=self._begun(source.first))
        return source

    def _is_rank_0(self, source: Value) -> bool:
        return isinstance(source, Ref) and self.arrays.ref_type(source).ndim == 0

    def generator(self, node: core.Comp) -> Value:
        first = self.evaluator.eval(node.clauses[0].over)
        source = GeneratorVal(node, self.places.frame, first)
        return self.iterator(source, type(_ for _ in ()))

    # ---- consuming

    def whole(self, value: Value, node: core.Node) -> Value:
        """All that is left of an iterator, which is empty then; other values as they are."""
        left = self._left(value, node)
        if isinstance(left, RestVal) and isinstance(left.inner, ListVal):
            if isinstance(self.state.heap[left.inner.cell], Growing):
                part = SliceVal(left.start, None, None)
                return self.attributes.subscript(left.inner, part, node)
        return left

    def _left(self, value: Value, node: core.Node) -> Value:
        """As `whole`; a loop sees what is appended to a list of which a part is left."""
        if isinstance(value, IterVal):
            source = self.arrays.usable(self.state.heap[value.cell], node)
            self.state.heap[value.cell] = EXHAUSTED
            value = source
        return self.computed(self.opened(value, node), node)

    def opened(self, source: Value, node: core.Node) -> Value:
        """A sequence without iterators in it: those are consumed with it."""
        if isinstance(source, EnumerateVal):
            return EnumerateVal(self._left(source.inner, node), source.start)
        if isinstance(source, ZipVal):
            return self._opened_zip(source, node)
        if isinstance(source, KeysVal):
            self.cursors.check_keys(source, node)
            return source.inner
        if isinstance(source, RestVal) and isinstance(source.inner, EnumerateVal):
            if isinstance(source.inner.inner, IterVal):
                first = self.operators.binary("add", source.inner.start, source.start, node)
                return EnumerateVal(self._left(source.inner.inner, node), number(first))
        if isinstance(source, RestVal) and isinstance(source.inner, Ref):
            left = SliceVal(source.start, None, None)
            return self.attributes.subscript(source.inner, left, node)
        if isinstance(source, SnapshotVal):
            now = self.state.heap.get(source.cell)
            if isinstance(source.content, Items) and isinstance(now, Items):
                # `reversed(list)` counts down from where the list ended, as the list is by then.
                count = len(source.content.values)
                items = now.values[:count][::-1] if len(now.values) >= count else ()
                return TupleVal(items)
            if now is not source.content:
                self.places.refuse(
                    node, "what this runs over has changed since it was made", ADVICE
                )
            return source.inner
        return source

    def _opened_zip(self, source: ZipVal, node: core.Node) -> Value:
        inners = source.inners
        cells = [i.cell for i in inners if isinstance(i, IterVal)]
        if len(set(cells)) < len(cells):
            return self._alternating(inners, node)
        left = [self._left(i, node) for i in inners]
        sizes = [self.objects.static_items(i) for i in left]
        if len(inners) > 1:
            for position, inner in enumerate(inners):
                if isinstance(inner, IterVal):
                    self.state.heap[inner.cell] = _after_zip(sizes, position)
        return ZipVal(tuple(left))

    def _alternating(self, inners: tuple[Value, ...], node: core.Node) -> Value:
        """`zip(it, it)` takes its elements from one iterator by turns."""
        if any(i != inners[0] for i in inners):
            self.places.refuse(node, "zip takes some of these elements by turns", ADVICE)
        items = self.objects.static_items(self._left(inners[0], node))
        if items is None:
            self.places.refuse(
                node, "zip takes the elements of a run-time sequence by turns", ADVICE
            )
        n = len(inners)
        groups = [TupleVal(tuple(items[i : i + n])) for i in range(0, len(items) - n + 1, n)]
        return TupleVal(tuple(groups))

    def computed(self, value: Value, node: core.Node) -> Value:
        """What `map`, `filter` and generator expressions give, as a list."""
        if isinstance(value, GeneratorVal):
            return self._generated(value, node)
        if isinstance(value, MapVal):
            return self._mapped(value, node)
        if isinstance(value, LibraryVal):
            args = tuple(self._left(a, node) for a in value.inners)
            kwargs = {k: self._left(v, node) for k, v in value.kwargs.items()}
            return self.library_calls.run_library(value.program, value.value, args, kwargs, node)
        return value

    def _generated(self, value: GeneratorVal, node: core.Node) -> Value:
        if value.frame is self.places.frame:
            return self.comprehensions.comprehension(value.node, value.first)
        if any(isinstance(n, core.Bind) for n in walk_syntax(value.node)):
            text = "a generator that binds names of its function is consumed in another"
            self.places.refuse(node, text, ADVICE)
        # Its body is a function of its first iterable, which sees the names of its frame.
        node_, name = value.node, "s2s_first_iterable"
        first, *others = node_.clauses
        over = replace(first, over=core.Name(first.over.at, name))
        body = replace(node_, kind="list", clauses=(over, *others))
        params = core.Params(node_.at, plain=(core.Param(node_.at, name),))
        returned = (core.Return(node_.at, body),)
        function = core.Func(node_.at, "<lambda>", params, returned, True)
        return self.evaluator.call(Closure(function, value.frame), (value.first,), {}, node)

    def _mapped(self, value: MapVal, node: core.Node) -> Value:
        source = self.opened(ZipVal(value.inners), node)
        made = self.places.fresh_name(f"mapped_L{node.line}")
        element = self.places.fresh_name(f"element_L{node.line}")
        while made in self.state.env or element in self.state.env:  # a map in this one
            made, element = f"{made}_", f"{element}_"
        self.state.env[made] = self.arrays.new_list((), made)

        def keep(item: Value) -> bool:
            self.evaluator.call_method(self.state.env[made], "append", (item,), {}, node)
            return False

        def body() -> bool:
            pair: Any = self.state.env.pop(element)
            values = pair.values
            if not value.keeps:
                return keep(self.evaluator.call(value.function, values, {}, node))
            kept = self.is_kept(value.function, values[0], node)
            if kept.known is not None:
                return keep(values[0]) if kept.known[0] else False
            return self.joins.if_(kept, lambda: keep(values[0]), lambda: False)

        target = core.Name(node.at, element)
        self.evaluator.for_each(target, source, body, None, node)
        return self.arrays.usable(self.state.env.pop(made), node)

    def is_kept(self, function: Value, item: Value, node: core.Node) -> Num:
        if isinstance(function, Obj) and function.value is None:
            return self.truth.truth(item, node)
        return self.truth.truth(self.evaluator.call(function, (item,), {}, node), node)

    # ---- loops

    @contextmanager
    def consumed_by_loop(
        self, value: Value, until: str | None, node: core.Node
    ) -> Iterator[tuple[Value, Cell | None]]:
        """What a loop runs over, and the cell of the iterator that it is.  A loop that may be left
        leaves an unknown part of a run-time iterator."""
        if not isinstance(value, IterVal):
            yield value, None
            return
        cell = value.cell
        source = self.arrays.usable(self.state.heap[cell], node)
        if self._is_static(source):
            yield source, cell
            return
        if until is not None and self.is_read_later({cell, *self.iterators_in(source)}):
            if not is_indexed(source) or has_lists(source):
                raise OneByOne(self.places.refusal(node, LEFT, ADVICE))
            start = source.start if isinstance(source, RestVal) else constant(0)
            inner = source.inner if isinstance(source, RestVal) else source
            yield RestVal(inner, start, cell), None
            return
        if self._takes_unknown_parts(source, node):
            raise OneByOne(self.places.refusal(node, LEFT, ADVICE))
        self.state.heap[cell] = Conflict("a loop runs over this iterator")
        inner = self._resolved(source, node)
        check = self._unchanged(inner, node)
        iterators = [v.cell for v in _parts(source, IterVal)]
        source = self._at_once(source, inner, until, node)
        yield source, None
        if _has(inner, (*LAZY, SnapshotVal)):
            check()
        if until is None:
            self.state.heap[cell] = EXHAUSTED
        else:
            left = left_unknown("a loop")
            self.state.heap.update(dict.fromkeys([cell, *iterators], left))

    def _takes_unknown_parts(self, source: Value, node: core.Node) -> bool:
        """Whether `zip` takes its elements by turns from one iterator, or leaves a part of one that
        may be read later, and how many there are is known at run time only."""
        zips = [z.inners for z in _parts(source, ZipVal) if len(z.inners) > 1]
        cells = [[i.cell for i in inners if isinstance(i, IterVal)] for inners in zips]
        if not any(cells) or self.objects.static_items(self._resolved(source, node)) is not None:
            return False
        by_turns = any(len(set(found)) < len(found) for found in cells)
        return by_turns or self.is_read_later({cell for found in cells for cell in found})

    def is_read_later(self, cells: set[Cell]) -> bool:
        """Whether some of these iterators may be read after the present statement."""
        return not cells.isdisjoint(self.arrays.reachable())

    def is_read_in(self, value: IterVal, node: core.Node) -> bool:
        """Whether the body of a loop may take elements of what it runs over."""
        if not isinstance(node, core.For) or self._is_static(self.state.heap[value.cell]):
            return False
        names = {name for stmt in node.body for name in names_in(stmt)}
        read = self.arrays.cells_in(self.state.env.get(name) for name in names)
        return not read.isdisjoint({value.cell, *self.iterators_in(value)})

    def _resolved(self, source: Value, node: core.Node) -> Value:
        """A sequence with what its iterators have left in their places; nothing is consumed."""
        if isinstance(source, IterVal):
            return self._resolved(self.arrays.usable(self.state.heap[source.cell], node), node)
        if isinstance(source, (ZipVal, MapVal, LibraryVal)):
            inners = tuple(self._resolved(i, node) for i in source.inners)
            return replace(source, inners=inners)
        if isinstance(source, EnumerateVal):
            return replace(source, inner=self._resolved(source.inner, node))
        if isinstance(source, GeneratorVal):
            return replace(source, first=self._resolved(source.first, node))
        return source

    def _is_static(self, source: Value) -> bool:
        """Whether a loop over it takes one element after the other while compiling."""
        numeric = isinstance(source, (RangeVal, ProductVal))
        return not numeric and self.cursors.cursor(source) is not None

    def _at_once(self, source: Value, inner: Value, until: str | None, node: core.Node) -> Value:
        """The source with all computed that Python computes between the iterations.  That must
        have no effects; `inner` is the source without iterators."""
        if not _has(inner, LAZY):
            return self.opened(source, node)
        before, block = self.state.copy(), list[Any]()
        try:
            with self.b.into(block):
                made = self.computed(self.opened(source, node), node)
        except Ended:  # it always fails, with an error that must not get lost
            self.b.block.extend(block)
            raise
        for cell in self.iterators_in(source):  # that they are consumed is no effect
            before.heap[cell] = self.state.heap[cell]
        if self.state.changed_since(before) or not self.is_quiet(block, until is None):
            text = "what this iterator computes has effects, or may fail, between iterations"
            raise OneByOne(self.places.refusal(node, text, PLAIN))
        self.b.block.extend(block)
        return made

    def is_quiet(self, block: Block, may_fail: bool) -> bool:
        """Whether nobody can tell when a block runs, or whether; `may_fail`: but for errors."""
        loops: dict[str, For] = {}
        for stmt in walk(block):
            if isinstance(stmt, For):
                loops[stmt.index.name] = stmt
            elif isinstance(stmt, Assign):
                if not may_fail and can_fail(stmt.op, loops, self.b.definitions):
                    return False
            elif not isinstance(stmt, (If, While)) and not (may_fail and isinstance(stmt, Raise)):
                return False
        return True

    def iterators_in(self, source: Value) -> set[Cell]:
        """The cells of the iterators that are consumed with a sequence."""
        cells: set[Cell] = set()
        for part in _parts(source, IterVal):
            cells |= {part.cell, *self.iterators_in(self.state.heap[part.cell])}
        return cells

    def searched(self, value: Value, wanted: bool, node: core.Node) -> Num | None:
        """Whether some element of a generator is true, or false, taking no more elements than it
        needs to know; None if taking them all makes no difference."""
        if not isinstance(value, IterVal):
            return None
        source = self.arrays.usable(self.state.heap[value.cell], node)
        if not isinstance(source, LAZY):
            return None
        attempt, before, block = self.session.checkpoint(), self.state.copy(), list[Any]()
        with self.b.into(block), suppress(Ended):
            self._left(value, node)
        for cell in {value.cell, *self.iterators_in(source)} & before.heap.keys():
            before.heap[cell] = self.state.heap[cell]
        quiet = self.is_quiet(block, False) and not self.state.changed_since(before)
        self.session.rollback(attempt)
        if quiet and not self.iterators_in(source):
            return None
        if not isinstance(source, GeneratorVal) or source.frame is not self.places.frame:
            text = "what this iterator computes has effects, or may fail, after the first element"
            self.places.refuse(node, text, PLAIN)
        flag = f"<found L{node.line}>"
        self.state.env[flag] = constant(False)

        def look(item: Value) -> None:
            found = self.truth.truth(item, node)
            self.state.env[flag] = found if wanted else self.truth.not_(found, node)

        self.comprehensions.generate(source.node, source.first, look, flag)
        left = left_unknown("a search")
        self.state.heap[value.cell] = left
        return self.truth.truth(self.arrays.usable(self.state.env.pop(flag), node), node)

    def _unchanged(self, source: Value, node: core.Node) -> Callable[[], None]:
        """A check, for after the loop, that it did not change what the source reads."""
        names = [(g.frame, n) for g in _parts(source, GeneratorVal) for n in _loaded(g.node)]
        functions = [m.function for m in _parts(source, MapVal)]
        functions = [f for f in functions if isinstance(f, Closure)]
        names += [(f.frame, n) for f in functions for n in _loaded(f.node)]
        found = [self.places.env_of(frame).get(name) for frame, name in names]
        cells = {*self.arrays.cells_in([*found, *_leaves(source)])}
        iterators = {v.cell for v in _parts(source, IterVal)}
        held = {c: self.state.heap.get(c) for c in cells - iterators}

        def check() -> None:
            now = [self.places.env_of(frame).get(name) for frame, name in names]
            same = all(p is q for p, q in zip(found, now))
            if not same or any(self.state.heap.get(c) is not v for c, v in held.items()):
                text = "this loop changes what its iterator is computed from"
                raise OneByOne(self.places.refusal(node, text, PLAIN))

        return check


class LengthChanges(Exception):
    """A run-time list becomes longer or shorter while a loop runs over it."""

    def __init__(self, cell: Cell, node: core.Node) -> None:
        self.cell, self.node = cell, node
        super().__init__(cell)


def _after_zip(sizes: list[Any], position: int) -> Value:
    """What `zip` leaves of one of several iterators: it takes one element of each in turn, until
    there is none."""
    if any(items is None for items in sizes):
        return left_unknown("zip")
    rounds = min(len(items) for items in sizes)
    last = next(i for i, items in enumerate(sizes) if len(items) == rounds)
    return TupleVal(tuple(sizes[position][rounds + (position < last) :]))


def left_unknown(by: str) -> Conflict:
    """The content of an iterator of which something has taken an unknown part."""
    why = f"how much {by} has left of this iterator depends on the run"
    return Conflict(why, "use a list and an index")


def _inside(value: Value) -> tuple[Any, ...]:
    """The sequences that a sequence is made of."""
    if isinstance(value, (MapVal, ZipVal, ProductVal, LibraryVal)):
        return value.inners
    if isinstance(value, (EnumerateVal, RestVal, SnapshotVal, KeysVal)):
        return (value.inner,)
    return (value.first,) if isinstance(value, GeneratorVal) else ()


def _parts(value: Value, kinds: Any) -> list[Any]:
    found = [value] if isinstance(value, kinds) else []
    return found + [p for inner in _inside(value) for p in _parts(inner, kinds)]


def _leaves(value: Value) -> list[Value]:
    inner = _inside(value)
    return [leaf for v in inner for leaf in _leaves(v)] if inner else [value]


def _has(value: Value, kinds: Any) -> bool:
    return bool(_parts(value, kinds))


def _loaded(node: core.Comp | core.Func) -> list[str]:
    """The names that a comprehension or a function reads, but for its own variables."""
    if isinstance(node, core.Comp):
        own = targets_of(node)
    else:
        own = {p.name for p in node.params.all()}
    return sorted({*names_in(node)} - own)
