"""Slices of lists whose length is known only at run time, and such lists backwards."""

from __future__ import annotations

import ast
from typing import Any

from ..build import Builder, Sym
from .values import Growing, ListVal, Mixin, Num, Obj, RangeVal, SliceVal, State, Value


class ListParts(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State

    def list_part(self, content: Growing, part: SliceVal, node: Any) -> ListVal:
        """A new list, appended to in a loop over the places of the slice."""
        step = 1
        if not _left_out(part.step):
            step = self.static(part.step, node, "the step of a slice of a list")
        if step == 0:
            raise self.located(ValueError("slice step cannot be zero"), node)
        count = self.b.emit("list_len", content.operand)
        low, high = (self.b.sym(0), count) if step > 0 else (self.b.sym(-1), count - 1)
        ends = (low, high) if step > 0 else (high, low)
        start, stop = (
            default if _left_out(place) else self._list_bound(place, count, low, high, node)
            for place, default in zip((part.start, part.stop), ends)
        )
        return self._listed_part(content, start, stop, step, node)

    def _list_bound(self, place: Value, count: Sym, low: Sym, high: Sym, node: Any) -> Sym:
        """A bound as Python takes it: from the end if it is negative, and never beyond an end."""
        if not isinstance(place, Num):
            return self.refuse(node, f"{self.kind_of(place)} cannot bound a slice")
        at = self.b.sym(place.operand)
        if place.known is None:
            at = self.b.emit("where", at < 0, at + count, at)
        elif place.known[0] < 0:
            at = at + count
        return self.b.emit("maximum", self.b.emit("minimum", at, high), low)

    def _listed_part(
        self, content: Growing, start: Sym, stop: Sym, step: int, node: Any
    ) -> ListVal:
        name = self.fresh_name("part")
        while name in self.state.env:
            name += "_"
        made = self.new_list((), name)
        empty = self.b.emit("list_new", type=content.operand.type)
        self.state.heap[made.cell] = Growing(empty.operand)
        self.state.env[name] = made
        index = ast.copy_location(ast.Name(self.fresh_name(f"k_L{node.lineno}"), ast.Store()), node)

        def body() -> bool:
            position = self.state.env.pop(index.id)
            element = self.list_element(content, position.operand)
            self.call_method(self.state.env[name], "append", (element,), {}, node)
            return False

        places = RangeVal(Num(start.operand), Num(stop.operand), self.constant(step))
        self.for_each(index, places, body, None, node)
        value = self.state.env.pop(name)
        assert isinstance(value, ListVal)
        return value


def _left_out(bound: Any) -> bool:
    return bound is None or (isinstance(bound, Obj) and bound.value is None)
