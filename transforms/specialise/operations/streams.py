"""What a run-time loop runs over: a count, and an element for each number below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...ir.errors import S2STypeError
from ...ir.nodes import Scalar
from ...ir.record import field, record
from ...syntax import core
from ..heap.arrays import Arrays
from ..heap.lists import Lists
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..surface.indexing import Indexing
from ..values import (
    Cell,
    EnumerateVal,
    Growing,
    ListVal,
    Num,
    ProductVal,
    RangeVal,
    Rec,
    Ref,
    RestVal,
    TupleVal,
    Value,
    ZipVal,
    constant,
    kind_text,
    number,
)
from .attributes import Attributes
from .operators import Operators


@record
class Stream:
    """A run-time iteration: how often, and the element at a position."""

    count: Num
    element: Callable[[Num], Value]


@record(eq=False)
class Streams(Part):
    """Sequences of the run as counts and elements."""

    places: Places
    arrays: Arrays
    lists: Lists
    objects: Objects
    indexing: Indexing
    operators: Operators
    attributes: Attributes
    # the lists that run-time loops run over
    run_over: list[Cell] = field(default_factory=list, init=False)

    @contextmanager
    def holding(self, iterable: Value, node: core.Node) -> Iterator[None]:
        """Keeps the iterable of a loop in the environment, in case the user's name is assigned
        again."""
        held = f"<over L{node.line}>"
        while held in self.state.env:
            held += "'"
        self.state.env[held] = iterable
        try:
            yield
        finally:
            self.state.env.pop(held, None)

    @contextmanager
    def running_over(self, lists: list[Cell]) -> Iterator[None]:
        """Registers the lists that a run-time loop runs over."""
        self.run_over += lists
        try:
            yield
        finally:
            del self.run_over[len(self.run_over) - len(lists) :]

    def lists_in(self, iterable: Value | None) -> list[Cell]:
        """The run-time lists that a loop runs over."""
        inner = getattr(iterable, "inners", None) or [getattr(iterable, "inner", None)]
        if isinstance(iterable, (ZipVal, EnumerateVal, ProductVal, RestVal)):
            return [cell for i in inner for cell in self.lists_in(i)]
        return [iterable.cell] if isinstance(iterable, ListVal) else []

    def stream(self, iterable: Value, node: core.Node) -> Stream:
        """How to iterate over something whose length is known only at run time."""
        if isinstance(iterable, Ref):
            array = self.arrays.sym(iterable)
            if array.ndim == 0:
                raise self.places.located(TypeError("iteration over a 0-d array"), node)
            counted = self._counted(iterable)
            if counted is not None:
                return self.stream(counted, node)
            return Stream(
                self.arrays.size(array, 0), lambda k: self.attributes.row(iterable, k, node)
            )
        if isinstance(iterable, ListVal) and isinstance(self.state.heap[iterable.cell], Growing):
            cell = iterable.cell
            count = number(self.arrays.wrap(self.b.emit("list_len", self.state.heap[cell].operand)))
            return Stream(
                count, lambda k: self.lists.list_element(self.state.heap[cell], k.operand)
            )
        if isinstance(iterable, Rec):
            count = number(self.arrays.wrap(self.b.emit("shape", iterable.operand, axis=0)))
            return Stream(count, lambda k: self.indexing.record_index(iterable, k, node))
        if isinstance(iterable, RangeVal):
            return Stream(
                self.range_count(iterable), lambda k: self._range_element(iterable, k, node)
            )
        if isinstance(iterable, EnumerateVal):
            inner = self.stream(iterable.inner, node)
            return Stream(
                inner.count,
                lambda k: TupleVal((self.operators.binary("add", k, iterable.start, node)
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
        if isinstance(iterable, RestVal):
            return self._rest_stream(iterable, node)
        items = self.objects.static_items(iterable)
        if items is not None:
            values = tuple(items)
            return Stream(
                constant(len(values)), lambda k: self.attributes.element_at(values, k, None, node)
            )
        place = getattr(node, "over", node)
        if self.operators.object_attributes.special(iterable, "__getitem__") is not None:
            text = f"iterating over {kind_text(iterable)} by its `__getitem__` is not supported"
            self.places.refuse(place, text, "give its class an `__iter__`")
        raise self.places.refusal(
            place,
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
        start, stop, step = (number(self.arrays.wrap(self.b.sym(x))) for x in made.args)
        return RangeVal(start, stop, step)

    def _product_stream(self, product: ProductVal, node: core.Node) -> Stream:
        inners = [self.stream(i, node) for i in product.inners]
        count: Num = constant(1)
        for inner in inners:
            count = self._number("multiply", count, inner.count, node)

        def element(k: Num) -> Value:
            places: list[Num] = []
            for inner in inners[:0:-1]:
                places.append(self._number("remainder", k, inner.count, node))
                k = self._number("floor_divide", k, inner.count, node)
            places.append(k)
            index = TupleVal(tuple(i.element(p) for i, p in zip(inners, places[::-1])))
            if product.array is None:
                return index
            return TupleVal((index, self.attributes.subscript(product.array, index, node)))

        return Stream(count, element)

    def _rest_stream(self, rest: RestVal, node: core.Node) -> Stream:
        """From a position on; an iterator that a loop tracks has taken the elements so far."""
        inner, start = self.stream(rest.inner, node), rest.start
        count = inner.count
        if start.known != (0,):
            left = self._number("subtract", inner.count, start, node)
            count = Num(self.b.emit("maximum", left.operand, 0).operand)

        def element(k: Num) -> Value:
            place = k if start.known == (0,) else self._number("add", k, start, node)
            if rest.tracked is not None:
                taken = self._number("add", place, constant(1), node)
                self.state.heap[rest.tracked] = RestVal(rest.inner, taken)
            return inner.element(place)

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
        up = None if r.step.known is None else r.step.known[0] > 0
        names = {None: ("maximum", "minimum"), True: ("maximum",), False: ("minimum",)}[up]
        ends = [self.b.emit(name, stop, start) for name in names]
        end = self.b.emit("where", step > 0, *ends) if up is None else ends[0]
        distance = start - end
        fits = (distance == 0) | ((distance < 0) == (step > 0))
        self.b.check(fits, "OverflowError", "Python int too large to convert to C ssize_t")
        return Num((-(distance // step)).operand)

    def _range_element(self, r: RangeVal, k: Num, node: core.Node) -> Value:
        if r.reverse:
            count = self.range_count(r)
            k = self._number("subtract", count, k, node)
            k = self._number("subtract", k, constant(1), node)
        if r.start.known == (0,) and r.step.known == (1,):
            return k
        scaled = self.operators.binary("multiply", k, r.step, node)
        return self.operators.binary("add", r.start, scaled, node)

    def _number(self, name: str, x: Num, y: Num, node: core.Node) -> Num:
        return number(self.operators.binary(name, x, y, node))
