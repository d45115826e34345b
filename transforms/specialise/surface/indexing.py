"""Subscripts: from what the user wrote to the items of an `index` or `update`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.builder import Sym
from ...ir.nodes import Const, Operand, Record
from ...ir.record import record
from ...rules.dtypes import SUPPORTED
from ...rules.integer_range_checks import require_in_range
from ...rules.promotion import is_inexact, is_weak
from ...syntax import core
from ..control.updates import Updates
from ..heap.arrays import Arrays, is_basic
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..values import (
    IndexItems,
    ListVal,
    Num,
    Obj,
    RangeVal,
    Rec,
    Ref,
    SliceVal,
    TupleVal,
    Value,
    array,
    constant,
    is_huge,
    kind_text,
)
from ..variables import Variables
from .guards import Guards

# Operations of Python that give an integer for integers.
_KEEPING_INTEGERS = (
    "add subtract multiply floor_divide remainder power negative positive absolute maximum minimum"
).split()


@record(eq=False)
class Indexing(Part):
    """Elements and parts of arrays."""

    places: Places
    variables: Variables
    arrays: Arrays
    updates: Updates
    objects: Objects
    guards: Guards

    def index_items(self, ref: Ref, index: Value, node: core.Node) -> IndexItems:
        """One item per axis or new axis, with operands in place; an ellipsis is expanded."""
        parts = list(index.values) if isinstance(index, TupleVal) else [index]
        items: list[Any] = []
        ellipsis: int | None = None
        for part in parts:
            if isinstance(part, Obj) and part.value is Ellipsis:
                if ellipsis is not None:
                    raise self.places.located(
                        IndexError("an index can only have a single ellipsis ('...')"), node
                    )
                ellipsis = len(items)
                continue
            items.append(self._item(part, node))
        used = sum(_axes_used(item) for item in items)
        ndim = self.arrays.ref_type(ref).ndim
        if used > ndim:
            raise self.places.located(
                IndexError(
                    f"too many indices for array: array is {ndim}-dimensional, "
                    f"but {used} were indexed"
                ),
                node,
            )
        at = len(items) if ellipsis is None else ellipsis
        return tuple(items[:at] + [("all",)] * (ndim - used) + items[at:])

    def _item(self, part: Value, node: core.Node) -> Any:
        if isinstance(part, Num):
            dtype = part.operand.type.dtype
            if dtype == "bool":
                self.places.refuse(
                    node, "a bool scalar as an index is not supported", "use `if`, or a mask array"
                )
            if is_inexact(dtype):
                self.refuse_joined_float(part, node)
                raise self.places.located(
                    IndexError(
                        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) "
                        "and integer or boolean arrays are valid indices"
                    ),
                    node,
                )
            return ("int", part.operand)
        if isinstance(part, SliceVal):
            bounds = tuple(None if p is None else self.slice_bound(p, node) for p in
                           (part.start, part.stop, part.step))  # fmt: skip
            return ("all",) if bounds == (None, None, None) else ("slice", *bounds)
        if isinstance(part, Obj) and isinstance(part.value, slice):
            s = part.value
            return self._item(
                SliceVal(*(None if v is None else constant(v) for v in (s.start, s.stop, s.step))),
                node,
            )
        if isinstance(part, Obj) and part.value is None:
            return ("new",)
        if isinstance(part, (ListVal, TupleVal, RangeVal)):
            part = self.as_array(part, node)
        if isinstance(part, Ref):
            type_ = self.arrays.ref_type(part)
            if type_.ndim == 0:
                return self._item(self.index_value(part, (), node), node)
            self.arrays.require_one_kind(part, node, "the meaning as an index", of_bools=True)
            if type_.dtype == "bool":
                return ("mask", self.arrays.read(part), type_.ndim)
            if is_inexact(type_.dtype):
                raise self.places.located(
                    IndexError("arrays used as indices must be of integer (or boolean) type"), node
                )
            return ("array", self.arrays.read(part))
        return self.places.refuse(node, f"{kind_text(part)} cannot be used as an index")

    def slice_bound(self, value: Value, node: core.Node) -> Operand:
        if isinstance(value, Ref) and self.arrays.ref_type(value).ndim == 0:
            value = self.index_value(value, (), node)
        if isinstance(value, Obj) and is_huge(value.value):  # clipped, as any bound
            value = constant(2**63 - 1 if value.value > 0 else -(2**63))
        if not isinstance(value, Num) or is_inexact(value.operand.type.dtype):
            self.refuse_joined_float(value, node)
            raise self.places.located(
                TypeError("slice indices must be integers or None or have an __index__ method"),
                node,
            )
        return value.operand

    def refuse_joined_float(self, value: Value, node: core.Node) -> None:
        """Refuses a float where an integer must stand, if it may be an integer in Python: one on
        some paths that is a float on others, or computed from such a number."""
        if isinstance(value, Num) and self._may_be_integer(value.operand):
            text = "an integer is needed here, and this number may be a float"
            self.places.refuse(node, text, "keep integers and floats under different names")

    def _may_be_integer(self, operand: Operand) -> bool:
        if not is_inexact(operand.type.dtype):
            return True
        if isinstance(operand, Const) or not is_weak(operand.type):
            return False
        op = self.b.definitions.get(operand.name)
        if op is None:  # an argument, or joined from several paths
            return all(param.name != operand.name for param in self.session.params)
        return op.name in _KEEPING_INTEGERS and all(map(self._may_be_integer, op.args))

    def must_be_index(self, value: Value, what: str, node: core.Node) -> None:
        """Raises what Python raises where a float stands for a position in a list or tuple."""
        if isinstance(value, Num) and is_inexact(value.operand.type.dtype):
            self.refuse_joined_float(value, node)
            kind = "complex" if value.operand.type.dtype.startswith("complex") else "float"
            text = f"{what} indices must be integers or slices, not {kind}"
            raise self.places.located(TypeError(text), node)

    def index_value(self, ref: Ref, items: IndexItems, node: core.Node) -> Value:
        """`ref[items]` for reading: a number, a view, or a new array."""
        plain = plain_items(items)
        if is_basic(items) and not all(i[0] == "int" for i in items):
            view = Ref(ref.cell, (*ref.path, ("index", plain)))
            with self.guards.guarding(node):
                value = self.arrays.read(view)
            return (
                view
                if ref.cell not in self.variables.variables
                else self.arrays.part_of_variable(view, value)
            )
        with self.guards.guarding(node):
            result = self.arrays.apply_step(self.arrays.sym(ref), ("index", plain))
        return self.arrays.tensor_of(self.arrays.wrap(result), ref)

    def assign_index(self, ref: Ref, items: IndexItems, value: Value, node: core.Node) -> None:
        """`ref[items] = value`."""
        if isinstance(value, (ListVal, TupleVal, RangeVal)):
            dtype = self.arrays.ref_type(ref).dtype
            if all(item[0] == "int" for item in items):
                text = "setting an array element with a sequence."
                raise self.places.located(ValueError(text), node)
            for item in self.objects.static_items(value) or ():
                if isinstance(item, Num):
                    with self.guards.guarding(node):
                        require_in_range(self.b, item.operand, dtype, numpy_scalars=True)
            value = self.as_array(value, node)
        if not isinstance(value, (Num, Ref)):
            self.places.refuse(node, f"{kind_text(value)} cannot be stored in an array")
        with self.guards.guarding(node):
            self.updates.write(ref, (("index", plain_items(items)),), self.arrays.sym(value), node)

    def as_array(self, value: Value, node: core.Node) -> Ref:
        if isinstance(value, RangeVal):
            args = (value.start, value.stop, value.step)
            return array(self.evaluator.call(Obj(np.arange), args, {}, node))
        return array(self.evaluator.call(Obj(np.array), (value,), {}, node))

    # ---- records

    def record_field(self, rec: Rec, name: str, node: core.Node) -> Value:
        assert isinstance(rec.operand.type, Record)
        if name == "shape":
            sizes = range(rec.operand.type.ndim)
            return TupleVal(
                tuple(self.arrays.wrap(self.b.emit("shape", rec.operand, axis=a)) for a in sizes)
            )
        if name == "ndim":
            return constant(rec.operand.type.ndim)
        if name == "size":
            return self.record_length(rec)
        if name not in dict(rec.operand.type.fields):
            raise self.places.located(KeyError(name), node)
        dtype = dict(rec.operand.type.fields)[name]
        if dtype not in SUPPORTED or dtype == "float16":
            self.places.refuse(
                node,
                f"the field {name!r} of dtype {dtype} is not supported",
                "pass its values as an array of their own",
            )
        return self.arrays.wrap(self.b.emit("field", rec.operand, name=name))

    def record_length(self, rec: Rec) -> Value:
        return self.arrays.wrap(self.b.emit("shape", rec.operand, axis=0))

    def record_index(self, rec: Rec, index: Value, node: core.Node) -> Value:
        if isinstance(index, Obj) and isinstance(index.value, str):
            return self.record_field(rec, index.value, node)
        if isinstance(index, Num):
            index = TupleVal((index,))
        if isinstance(index, TupleVal) and all(isinstance(p, Num) for p in index.values):
            items = tuple(("int", i + 1) for i in range(len(index.values)))
            operands = [p.operand for p in index.values]
            items += (("all",),) * (rec.operand.type.ndim - len(items))
            return self.arrays.wrap(self.b.emit("index", rec.operand, *operands, items=items))
        return self.places.refuse(
            node,
            "structured arrays are indexed by integers and field names here",
            "take a field first: r['x']",
        )

    def integer(self, value: Value, node: core.Node) -> Num:
        if isinstance(value, Ref) and self.arrays.ref_type(value).ndim == 0:
            value = self.index_value(value, (), node)
        if isinstance(value, Obj) and is_huge(value.value):
            self.places.refuse(node, "this integer does not fit in 64 bits", "use smaller integers")
        if not isinstance(value, Num) or is_inexact(value.operand.type.dtype):
            self.refuse_joined_float(value, node)
            raise self.places.located(
                TypeError(
                    "'float' object cannot be interpreted as an integer"
                    if isinstance(value, Num)
                    else "an integer is required"
                ),
                node,
            )
        if value.operand.type.dtype == "bool" and not is_weak(value.operand.type):
            text = "'numpy.bool' object cannot be interpreted as an integer"
            raise self.places.located(TypeError(text), node)
        if value.operand.type.dtype != "int64":
            cast = Sym(self.b, value.operand).astype("int64").operand
            return Num(cast, value.known)
        return value


def _axes_used(item: Any) -> int:
    if item[0] == "new":
        return 0
    return item[2] if item[0] == "mask" else 1


def plain_items(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Masks lose the rank they were counted with."""
    return tuple(item[:2] if item[0] == "mask" else item for item in items)
