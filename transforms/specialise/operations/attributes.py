"""Attributes and subscripts of whatever a name may stand for."""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from ...ir.nodes import is_complex
from ...ir.op_registry import SURFACES
from ...ir.record import record
from ...rules.declare import as_python_scalar
from ...rules.library import LIBRARY
from ...rules.promotion import differ_in_integer_dtype, is_weak, join_types
from ...syntax import core
from ..dispatch import evaluates
from ..heap.arrays import Arrays
from ..heap.lists import Lists
from ..outside.object_attributes import ObjectAttributes
from ..outside.objects import Objects, path_of_class
from ..places import Places
from ..session import Part
from ..surface.guards import Guards
from ..surface.indexing import Indexing
from ..surface.library_calls import LibraryCalls
from ..surface.surface_calls import SurfaceCalls
from ..values import (
    Bound,
    Cell,
    DictVal,
    Ended,
    Growing,
    InstanceVal,
    Kwargs,
    ListVal,
    Num,
    Obj,
    Partial,
    RangeVal,
    Rec,
    Ref,
    RngVal,
    SliceVal,
    Super,
    TupleVal,
    Value,
    array,
    class_of,
    constant,
    kind_text,
)
from ..variables import TapeVal, Variables
from .list_parts import ListParts
from .operators import Operators


@record(eq=False)
class Attributes(Part):
    """Attributes and elements of values."""

    places: Places
    variables: Variables
    arrays: Arrays
    lists: Lists
    objects: Objects
    object_attributes: ObjectAttributes
    guards: Guards
    indexing: Indexing
    surface_calls: SurfaceCalls
    library_calls: LibraryCalls
    operators: Operators
    list_parts: ListParts

    @evaluates(core.Attr)
    def eval_Attr(self, node: core.Attr) -> Value:
        owner = self.evaluator.eval(node.value)
        return self.attribute(owner, node.name, node)

    def attribute(self, owner: Value, name: str, node: core.Node) -> Value:
        if isinstance(owner, TapeVal):
            return Bound(owner, name)
        if name == "__class__" and not isinstance(owner, (Obj, Super)):
            return self.objects.class_value(class_of(owner), path_of_class(owner))
        if isinstance(owner, Ref) and owner.cell in self.variables.variables and not owner.path:
            variable = self.variables.variables[owner.cell]
            if name in ("assign", "assign_add", "assign_sub", "numpy", "read_value"):
                return Bound(owner, name)
            if name == "value":  # in TensorFlow a method
                tensors = hasattr(variable, "_s2s_tensors")
                return Bound(owner, "read_value") if tensors else owner
            if name in ("name", "trainable"):
                return self.objects.lift(
                    getattr(variable, name), (*owner.cell.path[:-1], (".", name))
                )
        if isinstance(owner, Ref):
            return self._array_attribute(owner, name, node)
        if isinstance(owner, Rec):
            return self.indexing.record_field(owner, name, node)
        if isinstance(owner, Num):
            return self._scalar_attribute(owner, name, node)
        if isinstance(owner, TupleVal) and owner.cls is not None and name in owner.cls._fields:
            return owner.values[owner.cls._fields.index(name)]
        if isinstance(owner, TupleVal) and name == "_replace":
            return Bound(owner, name)
        if isinstance(owner, TupleVal) and owner.cls is not None:
            return self._of_class(owner, owner.cls, owner.cls.__mro__, name, node)
        if isinstance(owner, InstanceVal):
            content = self.state.heap[owner.cell]
            if name in content.keys:
                return content.values[content.keys.index(name)]
            cls = self._searched(owner)
            return self._of_class(owner, cls, cls.__mro__, name, node)
        if isinstance(owner, Super):
            cls = self._searched(owner.owner)
            after = cls.__mro__[cls.__mro__.index(owner.cls) + 1 :]
            return self._of_class(owner.owner, cls, after, name, node)
        if isinstance(owner, DictVal) and not hasattr(dict, name):
            # A plain dict has no such attribute; those of users that have one mean the item.
            if name in self.state.heap[owner.cell].keys:
                return self.subscript(owner, constant(name), node)
        if isinstance(owner, (ListVal, DictVal, RngVal)):
            return Bound(owner, name)
        if isinstance(owner, Obj):
            if isinstance(owner.value, (str, bytes)):
                return Bound(owner, name)
            if isinstance(owner.value, (np.finfo, np.iinfo)):
                return constant(getattr(owner.value, name))
            return self.object_attributes.attribute_of(owner, name, node)
        return self.places.refuse(node, f"{kind_text(owner)} has no attribute {name!r} here")

    def _searched(self, value: Any) -> type:
        """The class where Python looks for the methods of a value: its own, if it is one."""
        if isinstance(value, Obj):
            return value.value if isinstance(value.value, type) else type(value.value)
        return value.cls

    def _of_class(
        self, owner: Value, cls: type, classes: Sequence[type], name: str, node: core.Node
    ) -> Value:
        """What the first of `classes` to define a name gives `owner`, an instance of `cls` or
        `cls` itself."""
        definer = next((c for c in classes if name in vars(c)), None)
        if definer is None:
            raise self.places.located(
                AttributeError(f"{kind_text(owner)} has no attribute {name!r}"), node
            )
        raw = vars(definer)[name]
        if isinstance(raw, staticmethod):
            self.object_attributes.guard_method(owner, cls, definer, raw.__func__, name)
            return Obj(raw.__func__)
        if isinstance(raw, classmethod):
            self.object_attributes.guard_method(owner, cls, definer, raw.__func__, name, "__func__")
            return Partial(Obj(raw.__func__), (self.objects.class_value(cls),))
        instance = not (isinstance(owner, Obj) and owner.value is cls)
        if isinstance(raw, types.FunctionType):
            self.object_attributes.guard_method(owner, cls, definer, raw, name)
            return Partial(Obj(raw), (owner,)) if instance else Obj(raw)
        if isinstance(raw, property) and instance:
            self.object_attributes.guard_method(owner, cls, definer, raw.fget, name, "fget")
            return self.evaluator.call_function(Obj(raw.fget), (owner,), {}, node)
        place = self.objects.class_value(definer).path
        if not place and definer is next(c for c in cls.__mro__ if name in vars(c)):
            place = self.objects.class_value(cls).path
        return self.objects.lift(raw, (*place, (".", name))) if place else constant(raw)

    def _array_attribute(self, ref: Ref, name: str, node: core.Node) -> Value:
        if name == "shape":
            array = self.arrays.sym(ref)
            return TupleVal(tuple(self.arrays.size(array, axis) for axis in range(array.ndim)))
        if name == "ndim":
            return constant(self.arrays.ref_type(ref).ndim)
        if name == "dtype":
            self.arrays.require_one_kind(ref, node, "the dtype")
            return Obj(np.dtype(self.arrays.ref_type(ref).dtype))
        if name in ("real", "imag"):
            return self._part(ref, name, node)
        if name == "flat":
            return self.surface_calls.call_surface("numpy.ravel", (ref,), {}, node)
        if name in ("T", "mT", "size", "itemsize", "nbytes"):
            return self.surface_calls.call_surface(f"numpy.ndarray.{name}", (ref,), {}, node)
        if f"numpy.ndarray.{name}" in {**SURFACES, **LIBRARY} or name in ("fill", "sort", "tolist"):
            return Bound(ref, name)
        if not hasattr(np.ndarray, name):
            raise self.places.located(
                AttributeError(f"'numpy.ndarray' object has no attribute {name!r}"), node
            )
        return self.places.refuse(node, f"ndarray.{name} has no rule", "write it in NumPy")

    def _part(self, ref: Ref, name: str, node: core.Node) -> Value:
        """In NumPy a view; here a copy, so neither it nor the array may be written while the
        other can be reached."""
        if name == "real" and not is_complex(self.arrays.ref_type(ref)):
            return ref
        part = self.surface_calls.call_surface(f"numpy.{name}", (ref,), {}, node)
        if isinstance(part, Ref) and is_complex(self.arrays.ref_type(ref)):
            self.state.entangle(part.cell, ref.cell)
        return part

    def _scalar_attribute(self, value: Num, name: str, node: core.Node) -> Value:
        if name == "shape":
            return TupleVal(())
        if name == "ndim":
            return constant(0)
        if name == "size":
            return constant(1)
        if name in ("real", "imag"):
            part = self.surface_calls.call_surface(f"numpy.{name}", (value,), {}, node)
            return (
                self.arrays.wrap(as_python_scalar(self.arrays.sym(part)))
                if is_weak(value.type)
                else part
            )
        if name == "T":
            return value
        if name == "dtype":
            self.arrays.require_one_kind(value, node, "the dtype")
            return Obj(np.dtype(value.operand.type.dtype))
        if f"numpy.ndarray.{name}" in SURFACES:
            return Bound(value, name)
        return self.places.refuse(node, f"a number has no attribute {name!r} here")

    @evaluates(core.Item)
    def eval_Item(self, node: core.Item) -> Value:
        owner = self.evaluator.eval(node.value)
        index = self.evaluator.eval(node.index)
        return self.subscript(owner, index, node)

    def subscript(self, owner: Value, index: Value, node: core.Node) -> Value:
        special = self.evaluator.call_special(owner, "__getitem__", (index,), node)
        if special is not None:
            return special
        if isinstance(owner, Ref):
            return self.indexing.index_value(
                owner, self.indexing.index_items(owner, index, node), node
            )
        if isinstance(owner, Rec):
            return self.indexing.record_index(owner, index, node)
        if isinstance(owner, (TupleVal, ListVal)):
            return self.sequence_index(owner, index, node)
        if isinstance(owner, DictVal):
            content = self.state.heap[owner.cell]
            key = self.operators.dict_key(index, node)
            if key not in content.keys:
                raise self.places.located(KeyError(key), node)
            return content.values[content.keys.index(key)]
        if (
            isinstance(owner, RangeVal)
            and isinstance(index, SliceVal)
            and index.start is index.stop is None
        ):
            if index.step is None or index.step.known in ((1,), (-1,)):
                backward = index.step is not None and index.step.known == (-1,)
                return replace(owner, reverse=owner.reverse != backward)
        if isinstance(owner, Obj) and (owner.value is np.mgrid or owner.value is np.ogrid):
            return self.library_calls.grid_by_index(owner.value, index, node)
        if isinstance(owner, Obj) and (owner.value is np.r_ or owner.value is np.c_):
            return self.library_calls.joined_by_index(owner.value, index, node)
        if isinstance(owner, Obj) and isinstance(owner.value, (str, bytes)):
            parts = (index.start, index.stop, index.step) if isinstance(index, SliceVal) else ()
            known = [p and self.arrays.static(p, node, "a slice bound") for p in parts]
            key = slice(*known) if parts else self.arrays.static(index, node, "this index")
            try:
                return constant(owner.value[key])
            except Exception as error:
                raise self.places.located(error, node) from None
        if isinstance(owner, Obj):
            key = self.arrays.static(index, node, "this index")
            try:
                value = owner.value[key]
            except Exception as error:
                raise self.places.located(error, node) from None
            return (
                self.objects.lift(value, (*owner.path, ("[]", key)))
                if owner.path
                else constant(value)
            )
        return self.places.refuse(node, f"{kind_text(owner)} cannot be indexed here")

    def sequence_index(self, owner: TupleVal | ListVal, index: Value, node: core.Node) -> Value:
        content = owner if isinstance(owner, TupleVal) else self.state.heap[owner.cell]
        self.indexing.must_be_index(index, "tuple" if isinstance(owner, TupleVal) else "list", node)
        for part in (index.start, index.stop, index.step) if isinstance(index, SliceVal) else ():
            if part is not None:
                self.indexing.slice_bound(part, node)
        if isinstance(index, SliceVal) and isinstance(content, Growing):
            return self.list_parts.list_part(content, index, node)
        if isinstance(index, SliceVal):
            parts = [None if p is None else self.arrays.static(p, node, "a slice bound")
                     for p in (index.start, index.stop, index.step)]  # fmt: skip
            with self.places.python_errors(node):
                values = content.values[slice(*parts)]
            return TupleVal(values) if isinstance(owner, TupleVal) else self.arrays.new_list(values)
        if not isinstance(index, Num):
            return self.places.refuse(node, f"{kind_text(index)} cannot index a sequence")
        if isinstance(content, Growing):
            return self.lists.list_element(content, index.operand)
        if index.known is not None:
            position = index.known[0]
            if not -len(content.values) <= position < len(content.values):
                if isinstance(owner, TupleVal):
                    raise self.places.located(IndexError("tuple index out of range"), node)
                self.no_element("list index out of range")
            return content.values[position]
        cell = owner.cell if isinstance(owner, ListVal) else None
        return self.element_at(content.values, index, cell, node)

    def no_element(self, message: str, error: str = "IndexError") -> NoReturn:
        """Fails if the run comes here: a list may still grow before it does."""
        self.b.check(False, error, message)
        raise Ended

    def element_at(
        self, values: tuple[Value, ...], index: Num, cell: Cell | None, node: core.Node
    ) -> Value:
        """A run-time index into a sequence of numbers: the numbers become an array."""
        if not values and cell in self.arrays.run_time_lists:
            self.no_element("list index out of range")
        numbers = [v for v in values if isinstance(v, Num)]
        if values and len(numbers) == len(values):
            types = [v.operand.type for v in numbers]
            if any(differ_in_integer_dtype(types[0], t) for t in types[1:]):
                dtypes = ", ".join(sorted({t.dtype for t in types}))
                text = f"a run-time index into numbers of the dtypes {dtypes}"
                self.places.refuse(node, text, "convert them to one dtype")
            exact = _common_dtype(numbers)
            kwargs: Kwargs = {} if exact is None else {"dtype": Obj(exact)}
            made = self.guards.surface_call("numpy.array", (TupleVal(values),), kwargs, node)
            whole = array(self.arrays.wrap(made))
            element = self.indexing.index_value(whole, (("int", index.operand),), node)
            if not all(v.operand.type.weak for v in numbers):
                return element
            dtype = self.arrays.sym(element).dtype  # Python's numbers stay Python's numbers
            return self.arrays.wrap(
                self.b.emit("cast", self.arrays.sym(element), dtype=dtype, weak=True)
            )
        return self.places.need_unroll(node, sequence=cell)

    def row(self, value: Ref, index: Num, node: core.Node) -> Value:
        items = (("int", index.operand),) + (("all",),) * (self.arrays.ref_type(value).ndim - 1)
        return self.indexing.index_value(value, items, node)


def _common_dtype(values: Sequence[Num]) -> str | None:
    """The dtype of NumPy's numbers that stand among Python's, if it holds those without loss:
    `[np.float32(x), 2.0]` are float32 wherever they are used with float32."""
    kinds = [v.operand.type for v in values]
    if len({kind.weak for kind in kinds}) == 1:
        return None
    dtype = functools.reduce(join_types, kinds).dtype

    def holds(v: Num) -> bool:
        if not v.operand.type.weak:
            return np.can_cast(v.operand.type.dtype, dtype)
        return v.known is not None and np.array(v.known[0]).astype(dtype) == v.known[0]

    return dtype if all(map(holds, values)) else None
