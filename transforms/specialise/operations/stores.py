"""Stores into elements and attributes."""

from __future__ import annotations

import inspect
import types
from typing import Any

import numpy as np

from ...ir.record import record
from ...syntax import core
from ..control.joins import Joins
from ..control.updates import Updates
from ..heap.arrays import Arrays
from ..heap.lists import Lists
from ..outside.effects import Effects
from ..outside.object_attributes import ObjectAttributes
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..surface.guards import Guards
from ..surface.indexing import Indexing
from ..values import (
    Cell,
    DictVal,
    Fields,
    Growing,
    InstanceVal,
    Items,
    ListVal,
    Num,
    Obj,
    Rec,
    Ref,
    SliceVal,
    TupleVal,
    Value,
    kind_text,
)
from ..variables import Variables
from .attributes import Attributes
from .iterators import LengthChanges
from .operators import Operators
from .streams import Streams


@record(eq=False)
class Stores(Part):
    """Stores into elements and attributes."""

    places: Places
    variables: Variables
    arrays: Arrays
    lists: Lists
    joins: Joins
    updates: Updates
    object_attributes: ObjectAttributes
    effects: Effects
    guards: Guards
    indexing: Indexing
    operators: Operators
    attributes: Attributes
    objects: Objects
    streams: Streams

    def repeat_list(self, owner: ListVal, count: Num, node: core.Node) -> Value:
        """`values *= n`, in place."""
        if isinstance(self.state.heap[owner.cell], Growing):
            text = "repeating a list whose length is known only at run time is not supported"
            self.places.refuse(node, text, "append in a loop")
        repeated: Any = self.operators.binary("multiply", owner, count, node)
        self.effects.refuse_growth(owner.cell, node)
        self.arrays.refuse_shared(owner.cell, node)
        if owner.cell in self.streams.run_over:
            raise LengthChanges(owner.cell, node)
        self.state.heap[owner.cell] = self.state.heap[repeated.cell]
        return owner

    def store_in_instance(
        self, owner: InstanceVal, name: str, value: Value, node: core.Node
    ) -> bool:
        """`owner.name = value`; False if that cannot be followed."""
        self.effects.allow_effect(owner.cell, node)
        self.arrays.refuse_shared(owner.cell, node)
        found = inspect.getattr_static(owner.cls, name, None)
        if isinstance(found, property) and isinstance(found.fset, types.FunctionType):
            self.object_attributes.guard_class(owner, found.fset, name, "fset")
            self.evaluator.call_function(Obj(found.fset), (owner, value), {}, node)
            return True
        options = getattr(owner.cls, "__dataclass_params__", None)
        if options is not None and options.frozen:
            raise self.places.located(AttributeError(f"cannot assign to field {name!r}"), node)
        slot = isinstance(found, types.MemberDescriptorType)
        if hasattr(found, "__set__") and not slot:
            return False
        content = self.state.heap[owner.cell]
        if name in content.keys:
            values = list(content.values)
            values[content.keys.index(name)] = value
            self.state.heap[owner.cell] = Fields(content.keys, tuple(values))
            return True
        if owner.cell.path:  # a new attribute of an object from outside
            return False
        self.state.heap[owner.cell] = Fields((*content.keys, name), (*content.values, value))
        return True

    def rows_of(self, value: Ref, node: core.Node) -> ListVal:
        """`list(value)` of an array whose length is known at run time."""
        rank = self.arrays.ref_type(value).ndim
        if rank == 0:
            raise self.places.located(TypeError("iteration over a 0-d array"), node)
        if rank > 1:
            self.arrays.is_element(value)  # its rows are views
        cell = Cell()
        self.state.heap[cell] = Growing(self.b.emit("list_unstack", self.arrays.sym(value)).operand)
        return ListVal(cell)

    def store_item(self, owner: Value, index: Value, value: Value, node: core.Node) -> None:
        if isinstance(owner, Ref):
            self.indexing.assign_index(
                owner, self.indexing.index_items(owner, index, node), value, node
            )
            return
        if isinstance(owner, ListVal):
            self._store_list(owner, index, value, node)
            return
        if isinstance(owner, DictVal):
            self.effects.allow_effect(owner.cell, node)
            self.arrays.refuse_shared(owner.cell, node)
            content = self.state.heap[owner.cell]
            key = self.operators.dict_key(index, node)
            if key in content.keys:
                values = list(content.values)
                values[content.keys.index(key)] = value
                self.state.heap[owner.cell] = Fields(content.keys, tuple(values))
            else:
                self.state.heap[owner.cell] = Fields((*content.keys, key), (*content.values, value))
            return
        if isinstance(owner, Rec):
            self.places.refuse(
                node, "writing to a structured array is not supported", "use plain arrays"
            )
        if isinstance(owner, TupleVal):
            raise self.places.located(
                TypeError("'tuple' object does not support item assignment"), node
            )
        if self.evaluator.call_special(owner, "__setitem__", (index, value), node) is not None:
            return
        self.places.refuse(
            node, f"writing into {kind_text(owner)} is not supported", "return the value instead"
        )

    def _store_list(self, owner: ListVal, index: Value, value: Value, node: core.Node) -> None:
        self.effects.allow_effect(owner.cell, node)
        self.arrays.refuse_shared(owner.cell, node)
        self.indexing.must_be_index(index, "list", node)
        content = self.state.heap[owner.cell]
        if isinstance(content, Items) and isinstance(index, Num) and index.known is not None:
            position = index.known[0]
            if not -len(content.values) <= position < len(content.values):
                self.attributes.no_element("list assignment index out of range")
            values = list(content.values)
            values[position] = value
            self.state.heap[owner.cell] = Items(tuple(values))
            return
        self.effects.refuse_growth(owner.cell, node)
        if isinstance(content, Items) and isinstance(index, SliceVal):
            values, items = list(content.values), self.objects.static_items(value)
            if items is None or owner.cell in self.streams.run_over:
                text = "this assignment to a slice of a list is not supported"
                self.places.refuse(node, text, "make a new list")
            with self.places.python_errors(node):
                values[self._known_slice(index, node)] = items
            self.state.heap[owner.cell] = Items(tuple(values))
            return
        if isinstance(content, Items) and isinstance(index, Num):
            elem = self.joins.element_type((self.state, content), (self.state, Items((value,))))
            if elem is None:
                self.places.need_unroll(node)
            content = self.lists.grow(content, elem, node)
        if not isinstance(content, Growing) or not isinstance(index, Num):
            text = "this assignment to a list is not supported"
            self.places.refuse(node, text, "make a new list")
        if not isinstance(value, (Num, Ref)):
            self.places.refuse(node, "a run-time list may hold numbers or arrays only")
        item = self.lists.element(value)
        elem = content.operand.type.elem
        if item.ndim != elem.ndim:
            self.places.refuse(node, "a run-time list must hold elements of one rank")
        if isinstance(value, Ref):
            self.arrays.is_element(value)
        content = self.lists.widened(content, item.type, node)
        elem = content.operand.type.elem
        with self.guards.guarding(node):
            changed = self.b.emit(
                "list_set", content.operand, index.operand, self.lists.as_element(item, elem)
            )
        self.state.heap[owner.cell] = Growing(changed.operand)

    def _known_slice(self, index: SliceVal, node: core.Node) -> slice:
        parts = (index.start, index.stop, index.step)
        known = (None if p is None else self.arrays.static(p, node, "a bound") for p in parts)
        return slice(*known)

    def delete_slice(self, owner: ListVal, index: SliceVal, node: core.Node) -> None:
        """`del owner[index]`."""
        self.effects.refuse_growth(owner.cell, node)
        self.arrays.refuse_shared(owner.cell, node)
        content = self.state.heap[owner.cell]
        if not isinstance(content, Items) or owner.cell in self.streams.run_over:
            self.places.refuse(node, "this `del` of a slice is not supported", "make a new list")
        values = list(content.values)
        del values[self._known_slice(index, node)]
        self.state.heap[owner.cell] = Items(tuple(values))

    def delete_attribute(self, owner: Value, name: str, node: core.Node) -> None:
        """`del owner.name`."""
        if not isinstance(owner, InstanceVal) or owner.cell.path:
            text = "`del` of an attribute of an object from outside is not supported"
            self.places.refuse(node, text, "set it to None")
        self.arrays.refuse_shared(owner.cell, node)
        content = self.state.heap[owner.cell]
        left = {k: v for k, v in zip(content.keys, content.values) if k != name}
        if len(left) == len(content.keys):
            text = f"{owner.cls.__name__!r} object has no attribute {name!r}"
            raise self.places.located(AttributeError(text), node)
        self.state.heap[owner.cell] = Fields(tuple(left), tuple(left.values()))

    def store_attribute(self, owner: Value, name: str, value: Value, node: core.Node) -> None:
        if isinstance(owner, Obj):
            self.effects.store_on_object(owner, name, value, node)
            return
        if isinstance(owner, InstanceVal) and self.store_in_instance(owner, name, value, node):
            return
        self.places.refuse(
            node,
            f"writing to an attribute of {kind_text(owner)} is not supported",
            "return the new value instead",
        )

    def require_same_kind(self, name: str, have: str, want: str, node: core.Node) -> None:
        """What a ufunc writes into an array must be of the array's kind."""
        if not np.can_cast(have, want, "same_kind"):
            message = (
                f"Cannot cast ufunc '{name}' output from dtype('{have}') "
                f"to dtype('{want}') with casting rule 'same_kind'"
            )
            raise self.places.located(TypeError(message), node)

    def assign_variable(self, ref: Ref, value: Value, node: core.Node, add: int = 0) -> Value:
        """`assign`, `assign_add` (1) and `assign_sub` (-1)."""
        if not isinstance(value, (Num, Ref)):
            value = self.evaluator.call(Obj(np.asarray), (value,), {}, node)
        old, new = self.arrays.sym(ref), self.arrays.sym(value)
        name = self.variables.variables[ref.cell].name
        with self.guards.guarding(node):
            new = old + new if add > 0 else old - new if add < 0 else new
            if new.ndim != old.ndim:
                text = f"{name} has {old.ndim} dimensions, and the new value {new.ndim}"
                raise self.places.located(ValueError(text), node)
            for a, b in zip(old.shape, new.shape):
                if self.b.facts.relate(*(x.type.value for x in (a, b))) != "equal":
                    self.b.check(a == b, "ValueError", f"{name} and its new value differ in shape")
            self.updates.write(ref, (), new, node)
        return ref
