"""Slices of lists whose length is known only at run time, such lists backwards, and with an element
more or less."""

from __future__ import annotations

from typing import Any

from ...ir.builder import Sym
from ...ir.record import record
from ...syntax import core
from ..heap.arrays import Arrays
from ..heap.lists import Lists
from ..places import Places
from ..session import Part
from ..values import (
    Growing,
    ListVal,
    Num,
    Obj,
    RangeVal,
    SliceVal,
    Value,
    constant,
    kind_text,
    number,
)


@record(eq=False)
class ListParts(Part):
    """Parts of lists whose length is known at run time."""

    places: Places
    arrays: Arrays
    lists: Lists

    def list_part(self, content: Growing, part: SliceVal, node: core.Node) -> ListVal:
        """A new list, appended to in a loop over the places of the slice."""
        step = 1
        if not _left_out(part.step):
            step = self.arrays.static(part.step, node, "the step of a slice of a list")
        if step == 0:
            raise self.places.located(ValueError("slice step cannot be zero"), node)
        count = self.b.emit("list_len", content.operand)
        low, high = (self.b.sym(0), count) if step > 0 else (self.b.sym(-1), count - 1)
        ends = (low, high) if step > 0 else (high, low)
        start, stop = (
            default if _left_out(place) else self._list_bound(place, count, low, high, node)
            for place, default in zip((part.start, part.stop), ends)
        )
        return self._listed_part(content, start, stop, step, node)

    def _list_bound(self, place: Value, count: Sym, low: Sym, high: Sym, node: core.Node) -> Sym:
        """A bound as Python takes it: from the end if it is negative, and never beyond an end."""
        if not isinstance(place, Num):
            return self.places.refuse(node, f"{kind_text(place)} cannot bound a slice")
        at = self._from_the_front(place, count)
        return self.b.emit("maximum", self.b.emit("minimum", at, high), low)

    def _from_the_front(self, place: Num, count: Sym) -> Sym:
        """A place, counted from the end if it is negative."""
        at = self.b.sym(place.operand)
        if place.known is None:
            return self.b.emit("where", at < 0, at + count, at)
        return at + count if place.known[0] < 0 else at

    def list_with(self, content: Growing, place: Value, value: Value, node: core.Node) -> ListVal:
        """A new list with a value before the place, which counts as a bound of a slice does."""
        count, first = self.b.emit("list_len", content.operand), self.b.sym(0)
        at = self._list_bound(place, count, first, count, node)
        made = self._listed_part(content, first, at, 1, node)
        self.evaluator.call_method(made, "append", (value,), {}, node)
        return self._listed_part(content, at, count, 1, node, made)

    def list_without(
        self, content: Growing, place: Value, node: core.Node
    ) -> tuple[Value, ListVal]:
        """An element, and a new list without it."""
        count = self.b.emit("list_len", content.operand)
        self.b.check(count > 0, "IndexError", "pop from empty list")
        if not isinstance(place, Num):
            self.places.refuse(node, f"{kind_text(place)} cannot be the place of an element")
        at = self._from_the_front(place, count)
        self.b.check(at >= 0, "IndexError", "pop index out of range")
        self.b.check(at < count, "IndexError", "pop index out of range")
        element = self.lists.list_element(content, at.operand)
        made = self._listed_part(content, self.b.sym(0), at, 1, node)
        return element, self._listed_part(content, at + 1, count, 1, node, made)

    def _listed_part(
        self,
        content: Growing,
        start: Sym,
        stop: Sym,
        step: int,
        node: core.Node,
        onto: ListVal | None = None,
    ) -> ListVal:
        """The elements at some places, in a new list or appended to one."""
        name = self.places.fresh_name("part")
        while name in self.state.env:
            name += "_"
        made = onto
        if made is None:
            made = self.arrays.new_list((), name)
            empty = self.b.emit("list_new", type=content.operand.type)
            self.state.heap[made.cell] = Growing(empty.operand)
        self.state.env[name] = made
        index = core.Name(node.at, self.places.fresh_name(f"k_L{node.line}"))

        def body() -> bool:
            position = number(self.state.env.pop(index.id))
            element = self.lists.list_element(content, position.operand)
            self.evaluator.call_method(self.state.env[name], "append", (element,), {}, node)
            return False

        places = RangeVal(Num(start.operand), Num(stop.operand), constant(step))
        self.evaluator.for_each(index, places, body, None, node)
        value = self.state.env.pop(name)
        assert isinstance(value, ListVal)
        return value


def _left_out(bound: Any) -> bool:
    return bound is None or (isinstance(bound, Obj) and bound.value is None)
