"""Run-time lists: their elements, and appends to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ir.builder import Sym
from ...ir.nodes import Array, ListOf, Operand, Scalar, Type
from ...ir.record import record
from ...rules.promotion import differ_in_integer_dtype, join_elements
from ...syntax import core
from ..places import Places
from ..session import Part
from ..values import Content, Growing, Items, ListVal, Num, Ref, Value
from .arrays import Arrays


@record(eq=False)
class Lists(Part):
    """Lists whose length is known only at run time."""

    places: Places
    arrays: Arrays

    def grow(self, content: Items, elem: Scalar | Array, node: core.Node | None) -> Growing:
        """A list of known length as a run-time list with elements of type `elem`."""
        value = self.b.emit("list_new", type=ListOf(elem))
        for item in content.values:
            if not isinstance(item, (Num, Ref)):
                self.places.refuse(
                    node,
                    "a list that grows in a loop may hold numbers or arrays only",
                    "keep one list per field",
                )
            if isinstance(item, Ref):
                self.arrays.is_element(item)
            value = self.b.emit("list_append", value, self.as_element(self.element(item), elem))
        return Growing(value.operand)

    def element(self, value: Num | Ref) -> Sym:
        """A value as an element of a run-time list: arrays of rank 0 are numbers there."""
        item = self.arrays.sym(value)
        is_array = isinstance(item.type, Array) and not item.ndim
        return self.b.emit("index", item, items=()) if is_array else item

    def as_element(self, item: Sym, elem: Scalar | Array) -> Sym:
        """A number or array of a list, converted to the dtype of the list's elements."""
        cast = item.astype(elem.dtype)
        self.b.set_least_kind(cast.operand, self.b.least_kind(item.operand))
        return cast

    def widened(self, content: Growing, type_: Type, node: core.Node | None) -> Growing:
        """A run-time list that can hold elements of this type too without loss."""
        elem = content.operand.type.elem
        if not elem.ndim and differ_in_integer_dtype(elem, type_):
            self.places.refuse(
                node,
                f"a list of {elem.dtype} and {type_.dtype} numbers",
                "convert them to one dtype",
            )
        dtype = join_elements(_shapeless(elem), _shapeless(type_)).dtype
        if dtype == elem.dtype:
            return content
        if elem.ndim:
            self.places.refuse(
                node,
                f"a list of {elem.dtype} arrays cannot take one of {type_.dtype}",
                "give all its arrays one dtype",
            )
        stacked = self.b.emit("list_stack", content.operand).astype(dtype)
        wide = self.b.emit("list_unstack", stacked).operand
        self.b.set_least_kind(wide, self.b.least_kind(content.operand))
        return Growing(wide)

    def list_element(self, content: Growing, index: Operand | int) -> Value:
        value = self.arrays.wrap(self.b.emit("list_get", content.operand, index))
        if isinstance(value, Ref):
            value.cell.tensor = content.tensor
            self.arrays.is_element(value)
        return value

    def copy_list(self, content: Content) -> ListVal:
        copy = self.arrays.new_list(())
        self.state.heap[copy.cell] = content
        return copy


def _shapeless(type_: Any) -> Any:
    return replace(type_, shape=()) if isinstance(type_, Array) else type_
