"""Methods of arrays, lists, dicts and the user's own instances."""

from __future__ import annotations

import inspect
import types
from typing import Any

import numpy as np

from ...ir.record import record
from ...rules import SURFACES
from ...rules.library import LIBRARY
from ...syntax import core
from ..control.updates import Updates
from ..heap.arrays import Arrays
from ..heap.lists import Lists
from ..operations.attributes import Attributes
from ..operations.comparisons import Comparisons
from ..operations.iterators import Iterators, LengthChanges
from ..operations.list_parts import ListParts
from ..operations.operators import Operators
from ..operations.stores import Stores
from ..operations.streams import Streams
from ..outside.effects import Effects
from ..outside.object_attributes import ObjectAttributes
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..surface.guards import Guards
from ..surface.indexing import Indexing
from ..surface.library_calls import LibraryCalls
from ..surface.surface_calls import SurfaceCalls
from ..tapes.tape_methods import TapeMethods
from ..values import (
    Args,
    DictVal,
    Fields,
    Growing,
    InstanceVal,
    Items,
    Kwargs,
    ListVal,
    Num,
    Obj,
    Ref,
    RngVal,
    SliceVal,
    TupleVal,
    Value,
    ViewVal,
    constant,
    kind_text,
)
from ..variables import TapeVal
from .calls import Calls
from .numpy_calls import NumpyCalls
from .random_calls import RandomCalls
from .sequence_calls import SequenceCalls
from .vectorized import Vectorized

# The classes whose methods an owner has, to check the arguments of a call.
_CLASSES: dict[type, type] = {Ref: np.ndarray, ListVal: list, DictVal: dict, str: str}


@record(eq=False)
class Methods(Part):
    """Methods of arrays, lists, dicts and strings."""

    places: Places
    arrays: Arrays
    lists: Lists
    updates: Updates
    objects: Objects
    object_attributes: ObjectAttributes
    effects: Effects
    guards: Guards
    indexing: Indexing
    surface_calls: SurfaceCalls
    library_calls: LibraryCalls
    operators: Operators
    attributes: Attributes
    list_parts: ListParts
    stores: Stores
    streams: Streams
    comparisons: Comparisons
    iterators: Iterators
    tape_methods: TapeMethods
    vectorized: Vectorized
    sequence_calls: SequenceCalls
    numpy_calls: NumpyCalls
    random_calls: RandomCalls
    calls: Calls

    def call_method(
        self, owner: Value, name: str, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        if name == "__vectorized__":
            return self.vectorized.call_vectorized(owner, args, kwargs, node)
        if isinstance(owner, TapeVal):
            return self.tape_methods.tape_method(owner, name, args, kwargs, node)
        if isinstance(owner, Ref) and name in ("assign", "assign_add", "assign_sub"):
            add = {"assign_add": 1, "assign_sub": -1}.get(name, 0)
            return self.stores.assign_variable(owner, args[0], node, add)
        if isinstance(owner, Ref) and name == "read_value":
            return self.arrays.as_tensor(owner)
        if isinstance(owner, Ref) and name == "numpy":
            return self.arrays.wrap(
                self.b.emit("stop_gradient", self.b.emit("copy", self.arrays.sym(owner)))
            )
        if isinstance(owner, Ref) and name == "tolist" and self.arrays.ref_type(owner).ndim == 1:
            wide = np.float64 if self.arrays.ref_type(owner).dtype.startswith("float") else np.int64
            return self.sequence_calls.call_list(
                (self.call_method(owner, "astype", (Obj(wide),), {}, node),), {}, node
            )
        kind = _CLASSES.get(type(owner.value) if isinstance(owner, Obj) else type(owner))
        method = getattr(kind, name, None)
        if method is not None:
            self.calls.must_fit(method, (owner, *args), kwargs, node)
        if isinstance(owner, Ref) and name == "sort":
            ordered = self.numpy_calls.call_numpy(np.sort, (owner, *args), kwargs, node)
            with self.guards.guarding(node):
                self.updates.write(owner, (), self.arrays.sym(ordered), node)
            return Obj(None)
        if isinstance(owner, Ref) and f"numpy.ndarray.{name}" in LIBRARY:
            return self.numpy_calls.call_library(
                LIBRARY[f"numpy.ndarray.{name}"],
                getattr(np.ndarray, name),
                (owner, *args),
                kwargs,
                node,
            )
        if isinstance(owner, Ref) and name == "fill":
            rank = self.arrays.ref_type(args[0]).ndim if isinstance(args[0], Ref) else 0
            if rank or isinstance(args[0], (ListVal, TupleVal)):
                text = "setting an array element with a sequence."
                raise self.places.located(ValueError(text), node)
            with self.guards.guarding(node):
                self.updates.write(owner, (), self.arrays.sym(args[0]), node)
            return Obj(None)
        if isinstance(owner, RngVal):
            return self.random_calls.call_generator(owner, name, args, kwargs, node)
        if isinstance(owner, (Ref, Num)):
            path = f"numpy.ndarray.{name}"
            if path not in SURFACES:
                return self.places.refuse(node, f"ndarray.{name} has no rule", "write it in NumPy")
            args, kwargs, out = self.library_calls.split_out(None, args, kwargs, node)
            result = self.surface_calls.call_surface(path, (owner, *args), kwargs, node)
            return (
                result
                if out is None
                else self.library_calls.write_out(result, out, node, exact=True)
            )
        if isinstance(owner, ListVal):
            return self._list_method(owner, name, args, kwargs, node)
        if isinstance(owner, DictVal):
            return self._dict_method(owner, name, args, kwargs, node)
        if isinstance(owner, InstanceVal):
            function = inspect.getattr_static(owner.cls, name, None)
            if isinstance(function, types.FunctionType):
                self.object_attributes.guard_class(owner, function, name)
                return self.evaluator.call_function(Obj(function), (owner, *args), kwargs, node)
        if isinstance(owner, TupleVal) and name == "_replace" and owner.cls is not None:
            values = dict(zip(owner.cls._fields, owner.values))
            unknown = [key for key in kwargs if key not in values]
            if unknown:
                text = f"Got unexpected field names: {unknown}"
                raise self.places.located(ValueError(text), node)
            return TupleVal(tuple({**values, **kwargs}.values()), owner.cls)
        if isinstance(owner, Obj) and isinstance(owner.value, (str, bytes)):
            return self._text_method(owner.value, name, args, kwargs, node)
        return self.places.refuse(node, f"{kind_text(owner)} has no method {name!r} here")

    def _list_method(
        self, owner: ListVal, name: str, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        self._refuse_keywords("list", name, kwargs, node)
        cell, content = owner.cell, self.state.heap[owner.cell]
        if name in ("insert", "pop") and args:
            args = (self.indexing.integer(args[0], node), *args[1:])
        if name in ("append", "extend", "insert", "pop", "clear", "reverse", "remove", "sort"):
            self.effects.refuse_growth(cell, node)
            self.arrays.refuse_shared(cell, node)
            if cell in self.streams.run_over and name not in ("reverse", "sort"):
                raise LengthChanges(cell, node)
        if name == "append":
            (value,) = args
            if isinstance(content, Growing):
                self.state.heap[cell] = self._append(content, value, node)
            else:
                self.state.heap[cell] = Items((*content.values, value))
            return Obj(None)
        if name == "copy" and not args:
            return self.lists.copy_list(content)
        if name == "sort" and not args:
            ordered = self.evaluator.call(Obj(sorted), (owner,), kwargs, node)
            if isinstance(ordered, ListVal):
                self.state.heap[cell] = self.state.heap[ordered.cell]
                return Obj(None)
        if isinstance(content, Growing):
            return self._growing_method(cell, content, name, args, node)
        values = list(content.values)
        if name in ("index", "count", "remove") and len(args) == 1:
            found = self._places_of(args[0], values, name == "count", node)
            if name == "count":
                return constant(len(found))
            if not found:
                self.attributes.no_element("the value is not in the list", "ValueError")
            if name == "index":
                return constant(found[0])
            del values[found[0]]
            self.state.heap[cell] = Items(tuple(values))
            return Obj(None)
        if name == "extend":
            items = self.objects.static_items(self.iterators.whole(args[0], node))
            if items is None:
                return self.places.refuse(
                    node, "extending by a run-time list is not supported", "append in a loop"
                )
            values += items
        elif name == "insert":
            values.insert(self.arrays.static(args[0], node, "a position"), args[1])
        elif name == "pop":
            position = self.arrays.static(args[0], node, "a position") if args else -1
            if not -len(values) <= position < len(values):
                self.attributes.no_element(
                    "pop index out of range" if values else "pop from empty list"
                )
            result = values.pop(position)
            self.state.heap[cell] = Items(tuple(values))
            return result
        elif name == "reverse":
            values.reverse()
        elif name == "clear":
            values.clear()
        else:
            return self.places.refuse(node, f"list.{name} is not supported", "make a new list")
        self.operators.must_not_be_long(len(values), node)
        self.state.heap[cell] = Items(tuple(values))
        return Obj(None)

    def _places_of(
        self, wanted: Value, values: list[Value], all_: bool, node: core.Node
    ) -> list[int]:
        """Where a value stands: the first place, or all."""
        found: list[int] = []
        for place, value in enumerate(values):
            equal = self.comparisons.compare("==", value, wanted, node)
            if self.arrays.static(equal, node, "whether two elements are equal"):
                found.append(place)
                if not all_:
                    break
        return found

    def _append(self, content: Growing, value: Value, node: core.Node) -> Growing:
        elem = content.operand.type.elem
        if not isinstance(value, (Num, Ref)):
            self.places.refuse(
                node,
                "a list that grows in a loop may hold numbers or arrays only",
                "keep one list per field",
            )
        item = self.lists.element(value)
        if item.ndim != elem.ndim:
            self.places.refuse(
                node,
                "a list that grows in a loop must hold elements of one rank",
                "keep one list per rank",
            )
        if isinstance(value, Ref):
            self.arrays.is_element(value)
        content = self.lists.widened(content, item.type, node)
        elem = content.operand.type.elem
        with self.guards.guarding(node):
            item = self.lists.as_element(item, elem)
            grown = self.b.emit("list_append", content.operand, item)
        return Growing(grown.operand)

    def _growing_method(
        self, cell: Any, content: Growing, name: str, args: Args, node: core.Node
    ) -> Value:
        if name == "pop" and not args:
            count = self.b.emit("list_len", content.operand)
            self.b.check(count > 0, "IndexError", "pop from empty list")
            last = self.b.emit("list_get", content.operand, count - 1)
            self.state.heap[cell] = Growing(self.b.emit("list_drop", content.operand).operand)
            return self.arrays.wrap(last)
        if name == "pop" and len(args) == 1:
            element, rest = self.list_parts.list_without(content, args[0], node)
            self.state.heap[cell] = self.state.heap[rest.cell]
            return element
        if name == "insert" and len(args) == 2:
            longer = self.list_parts.list_with(content, args[0], args[1], node)
            self.state.heap[cell] = self.state.heap[longer.cell]
            return Obj(None)
        if name == "reverse" and not args:
            backward = self.list_parts.list_part(content, SliceVal(None, None, constant(-1)), node)
            self.state.heap[cell] = self.state.heap[backward.cell]
            return Obj(None)
        return self.places.refuse(
            node, f"list.{name} is not supported on a list that grows in a loop"
        )

    def _refuse_keywords(self, kind: str, name: str, kwargs: Kwargs, node: core.Node) -> None:
        """Methods of lists and dicts take no keywords, but for these two."""
        if kwargs and name not in ("sort", "update"):
            raise self.places.located(
                TypeError(f"{kind}.{name}() takes no keyword arguments"), node
            )

    def _dict_method(
        self, owner: DictVal, name: str, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        self._refuse_keywords("dict", name, kwargs, node)
        content = self.state.heap[owner.cell]
        if name in ("keys", "values", "items") and not args:
            return ViewVal(owner.cell, name)
        if name == "get":
            key = self.operators.dict_key(args[0], node)
            if key in content.keys:
                return content.values[content.keys.index(key)]
            return args[1] if len(args) > 1 else Obj(None)
        if name == "copy":
            return self.arrays.new_dict(content.keys, content.values)
        if name == "setdefault":
            key = self.operators.dict_key(args[0], node)
            if key not in content.keys:
                value = args[1] if len(args) > 1 else Obj(None)
                self.stores.store_item(owner, args[0], value, node)
            return self.attributes.subscript(owner, args[0], node)
        if name == "pop" and not owner.cell.path:
            return self._pop(owner, content, args, node)
        if name == "update":
            other: Any = self.sequence_calls.call_dict(args, kwargs, node)
            added = self.state.heap[other.cell]
            for key, value in zip(added.keys, added.values):
                self.stores.store_item(owner, constant(key), value, node)
            return Obj(None)
        return self.places.refuse(node, f"dict.{name} is not supported")

    def _pop(self, owner: DictVal, content: Any, args: Args, node: core.Node) -> Value:
        self.arrays.refuse_shared(owner.cell, node)
        key = self.operators.dict_key(args[0], node)
        if key not in content.keys:
            if len(args) == 1:
                raise self.places.located(KeyError(key), node)
            return args[1]
        left = {k: v for k, v in zip(content.keys, content.values) if k != key}
        self.state.heap[owner.cell] = Fields(tuple(left), tuple(left.values()))
        return content.values[content.keys.index(key)]

    def _text_method(
        self, text: str | bytes, name: str, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        def plain(value: Value) -> Any:
            value = self.iterators.whole(value, node)
            sequence = isinstance(value, (ListVal, TupleVal))
            items = self.objects.static_items(value) if sequence else None
            if items is not None:
                return [plain(item) for item in items]
            return self.arrays.static(value, node, "an argument of a string method")

        given, named = [plain(a) for a in args], {k: plain(v) for k, v in kwargs.items()}
        try:
            made = getattr(text, name)(*given, **named)
            if isinstance(made, list):
                return self.arrays.new_list(tuple(map(constant, made)))
            return constant(made)
        except Exception as error:
            raise self.places.located(error, node) from None
