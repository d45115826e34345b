"""Attributes and subscripts of whatever a name may stand for."""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from ..ir.builder import Builder, Sym
from ..ir.nodes import is_complex
from ..ir.op_registry import SURFACES
from ..rules.declare import as_python_scalar
from ..rules.library import LIBRARY
from ..rules.promotion import differ_in_integer_dtype, is_weak, join_types
from ..syntax import core
from .tape import TapeVal
from .values import (
    Bound,
    Cell,
    DictVal,
    Ended,
    Growing,
    InstanceVal,
    ListVal,
    Mixin,
    Num,
    Obj,
    Partial,
    RangeVal,
    Rec,
    Ref,
    RngVal,
    SliceVal,
    State,
    Super,
    TupleVal,
    Value,
)


class Attributes(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State

    def eval_Attr(self, node: core.Attr) -> Value:
        owner = self.eval(node.value)
        return self.attribute(owner, node.name, node)

    def attribute(self, owner: Value, name: str, node: core.Node) -> Value:
        if isinstance(owner, TapeVal):
            return Bound(owner, name)
        if isinstance(owner, Ref) and owner.cell in self.variables and not owner.path:
            variable = self.variables[owner.cell]
            if name in ("assign", "assign_add", "assign_sub", "numpy", "read_value"):
                return Bound(owner, name)
            if name == "value":  # in TensorFlow a method
                tensors = hasattr(variable, "_s2s_tensors")
                return Bound(owner, "read_value") if tensors else owner
            if name in ("name", "trainable"):
                return self.lift(getattr(variable, name), (*owner.cell.path[:-1], (".", name)))
        if isinstance(owner, Ref):
            return self._array_attribute(owner, name, node)
        if isinstance(owner, Rec):
            return self.record_field(owner, name, node)
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
                return self.subscript(owner, self.constant(name), node)
        if isinstance(owner, (ListVal, DictVal, RngVal)):
            return Bound(owner, name)
        if isinstance(owner, Obj):
            if isinstance(owner.value, (str, bytes)):
                return Bound(owner, name)
            if isinstance(owner.value, (np.finfo, np.iinfo)):
                return self.constant(getattr(owner.value, name))
            return self.attribute_of(owner, name, node)
        return self.refuse(node, f"{self.kind_of(owner)} has no attribute {name!r} here")

    def _searched(self, value: Value) -> type:
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
            raise self.located(
                AttributeError(f"{self.kind_of(owner)} has no attribute {name!r}"), node
            )
        raw = vars(definer)[name]
        if isinstance(raw, staticmethod):
            self.guard_method(owner, cls, definer, raw.__func__, name)
            return Obj(raw.__func__)
        if isinstance(raw, classmethod):
            self.guard_method(owner, cls, definer, raw.__func__, name, "__func__")
            return Partial(Obj(raw.__func__), (self.class_value(cls),))
        instance = not (isinstance(owner, Obj) and owner.value is cls)
        if isinstance(raw, types.FunctionType):
            self.guard_method(owner, cls, definer, raw, name)
            return Partial(Obj(raw), (owner,)) if instance else Obj(raw)
        if isinstance(raw, property) and instance:
            self.guard_method(owner, cls, definer, raw.fget, name, "fget")
            return self.call_function(Obj(raw.fget), (owner,), {}, node)
        place = self.class_value(definer).path
        if not place and definer is next(c for c in cls.__mro__ if name in vars(c)):
            place = self.class_value(cls).path
        return self.lift(raw, (*place, (".", name))) if place else self.constant(raw)

    def _array_attribute(self, ref: Ref, name: str, node: core.Node) -> Value:
        if name == "shape":
            array = self.sym(ref)
            return TupleVal(tuple(self.size(array, axis) for axis in range(array.ndim)))
        if name == "ndim":
            return self.constant(self.ref_type(ref).ndim)
        if name == "dtype":
            return Obj(np.dtype(self.ref_type(ref).dtype))
        if name in ("real", "imag"):
            return self._part(ref, name, node)
        if name == "flat":
            return self.call_surface("numpy.ravel", (ref,), {}, node)
        if name in ("T", "mT", "size", "itemsize", "nbytes"):
            return self.call_surface(f"numpy.ndarray.{name}", (ref,), {}, node)
        if f"numpy.ndarray.{name}" in {**SURFACES, **LIBRARY} or name in ("fill", "sort", "tolist"):
            return Bound(ref, name)
        if not hasattr(np.ndarray, name):
            raise self.located(
                AttributeError(f"'numpy.ndarray' object has no attribute {name!r}"), node
            )
        return self.refuse(node, f"ndarray.{name} has no rule", "write it in NumPy")

    def _part(self, ref: Ref, name: str, node: core.Node) -> Value:
        """In NumPy a view; here a copy, so neither it nor the array may be written while the
        other can be reached."""
        if name == "real" and not is_complex(self.ref_type(ref)):
            return ref
        part = self.call_surface(f"numpy.{name}", (ref,), {}, node)
        if isinstance(part, Ref) and is_complex(self.ref_type(ref)):
            self.state.entangle(part.cell, ref.cell)
        return part

    def size(self, array: Sym, axis: int) -> Num:
        dim = self.b.facts.canonical(array.type.shape[axis])
        operand = self.b.emit("shape", array, axis=axis).operand
        return Num(operand, (dim.const,) if dim.is_const else None)

    def _scalar_attribute(self, value: Num, name: str, node: core.Node) -> Value:
        if name == "shape":
            return TupleVal(())
        if name == "ndim":
            return self.constant(0)
        if name == "size":
            return self.constant(1)
        if name in ("real", "imag"):
            part = self.call_surface(f"numpy.{name}", (value,), {}, node)
            return self.wrap(as_python_scalar(self.sym(part))) if is_weak(value.type) else part
        if name == "T":
            return value
        if name == "dtype":
            return Obj(np.dtype(value.operand.type.dtype))
        if f"numpy.ndarray.{name}" in SURFACES:
            return Bound(value, name)
        return self.refuse(node, f"a number has no attribute {name!r} here")

    def eval_Item(self, node: core.Item) -> Value:
        owner = self.eval(node.value)
        index = self.eval(node.index)
        return self.subscript(owner, index, node)

    def subscript(self, owner: Value, index: Value, node: core.Node) -> Value:
        special = self.call_special(owner, "__getitem__", (index,), node)
        if special is not None:
            return special
        if isinstance(owner, Ref):
            return self.index_value(owner, self.index_items(owner, index, node), node)
        if isinstance(owner, Rec):
            return self.record_index(owner, index, node)
        if isinstance(owner, (TupleVal, ListVal)):
            return self.sequence_index(owner, index, node)
        if isinstance(owner, DictVal):
            content = self.state.heap[owner.cell]
            key = self.dict_key(index, node)
            if key not in content.keys:
                raise self.located(KeyError(key), node)
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
            return self.grid_by_index(owner.value, index, node)
        if isinstance(owner, Obj) and (owner.value is np.r_ or owner.value is np.c_):
            return self.joined_by_index(owner.value, index, node)
        if isinstance(owner, Obj) and isinstance(owner.value, (str, bytes)):
            parts = (index.start, index.stop, index.step) if isinstance(index, SliceVal) else ()
            known = [p and self.static(p, node, "a slice bound") for p in parts]
            key = slice(*known) if parts else self.static(index, node, "this index")
            try:
                return self.constant(owner.value[key])
            except Exception as error:
                raise self.located(error, node) from None
        if isinstance(owner, Obj):
            key = self.static(index, node, "this index")
            try:
                value = owner.value[key]
            except Exception as error:
                raise self.located(error, node) from None
            return (
                self.lift(value, (*owner.path, ("[]", key))) if owner.path else self.constant(value)
            )
        return self.refuse(node, f"{self.kind_of(owner)} cannot be indexed here")

    def sequence_index(self, owner: Value, index: Value, node: core.Node) -> Value:
        content = owner if isinstance(owner, TupleVal) else self.state.heap[owner.cell]
        self.must_be_index(index, "tuple" if isinstance(owner, TupleVal) else "list", node)
        for part in (index.start, index.stop, index.step) if isinstance(index, SliceVal) else ():
            if part is not None:
                self.slice_bound(part, node)
        if isinstance(index, SliceVal) and isinstance(content, Growing):
            return self.list_part(content, index, node)
        if isinstance(index, SliceVal):
            parts = [None if p is None else self.static(p, node, "a slice bound")
                     for p in (index.start, index.stop, index.step)]  # fmt: skip
            with self.python_errors(node):
                values = content.values[slice(*parts)]
            return TupleVal(values) if isinstance(owner, TupleVal) else self.new_list(values)
        if not isinstance(index, Num):
            return self.refuse(node, f"{self.kind_of(index)} cannot index a sequence")
        if isinstance(content, Growing):
            return self.list_element(content, index.operand)
        if index.known is not None:
            position = index.known[0]
            if not -len(content.values) <= position < len(content.values):
                if isinstance(owner, TupleVal):
                    raise self.located(IndexError("tuple index out of range"), node)
                self.no_element("list index out of range")
            return content.values[position]
        cell = owner.cell if isinstance(owner, ListVal) else None
        return self._pick(content.values, index, cell, node)

    def no_element(self, message: str, error: str = "IndexError") -> NoReturn:
        """Fails if the run comes here: a list may still grow before it does."""
        self.b.check(False, error, message)
        raise Ended

    def list_element(self, content: Growing, index: Any) -> Value:
        value = self.wrap(self.b.emit("list_get", content.operand, index))
        if isinstance(value, Ref):
            value.cell.tensor = content.tensor
            self.appended.add(value.cell)
        return value

    def _pick(
        self, values: tuple[Value, ...], index: Num, cell: Cell | None, node: core.Node
    ) -> Value:
        """A run-time index into a sequence of numbers: the numbers become an array."""
        if not values and cell in self.run_time_lists:
            self.no_element("list index out of range")
        if values and all(isinstance(v, Num) for v in values):
            types = [v.operand.type for v in values]
            if any(differ_in_integer_dtype(types[0], t) for t in types[1:]):
                dtypes = ", ".join(sorted({t.dtype for t in types}))
                text = f"a run-time index into numbers of the dtypes {dtypes}"
                self.refuse(node, text, "convert them to one dtype")
            exact = _common_dtype(values)
            dtype = {} if exact is None else {"dtype": Obj(exact)}
            array = self.wrap(self.surface_call("numpy.array", [list(values)], dtype, node))
            element = self.index_value(array, (("int", index.operand),), node)
            if not all(v.operand.type.weak for v in values):
                return element
            dtype = self.sym(element).dtype  # Python's numbers stay Python's numbers
            return self.wrap(self.b.emit("cast", self.sym(element), dtype=dtype, weak=True))
        return self.need_unroll(node, sequence=cell)


def _common_dtype(values: tuple[Num, ...]) -> str | None:
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
