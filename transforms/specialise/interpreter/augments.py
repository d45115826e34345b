"""Augmented assignment, `a += b`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ...ir.builder import Builder
from ...ir.record import record, replace
from ...syntax import core
from ..control.updates import Updates
from ..dispatch import runs
from ..heap.arrays import Arrays
from ..operations.attributes import Attributes
from ..operations.operators import Operators, is_count
from ..operations.stores import Stores
from ..places import Places
from ..session import Part
from ..surface.guards import Guards
from ..surface.surface_calls import SurfaceCalls
from ..values import DictVal, ListVal, Num, Ref, TupleVal, Value, number
from .expressions import BINARY


def hint(b: Builder, target: core.Expr) -> AbstractContextManager[None]:
    """Names temporaries after the variable being assigned."""
    return _Hint(b, target.id if isinstance(target, core.Name) else "t")


@record(eq=False)
class Augments(Part):
    """Augmented assignment."""

    places: Places
    arrays: Arrays
    updates: Updates
    guards: Guards
    surface_calls: SurfaceCalls
    operators: Operators
    attributes: Attributes
    stores: Stores

    @runs(core.Augment)
    def run_Augment(self, node: core.Augment) -> None:
        name = BINARY[node.op]
        target = node.target
        if isinstance(target, core.Name):
            current = self.evaluator.eval(target)
            with hint(self.b, target):
                value = self.evaluator.eval(node.value)
                if isinstance(current, Ref) and not self._binds_anew(current, node):
                    self._in_place(current, name, value, node)
                    return
                self.evaluator.bind(target, self._augmented(name, current, value, node), node)
            return
        owner = self.evaluator.eval(target.value)  # type: ignore[attr-defined]
        if isinstance(target, core.Item):
            index = self.evaluator.eval(target.index)
            current = self.attributes.subscript(owner, index, target)
            value = self.evaluator.eval(node.value)
            if isinstance(owner, Ref):
                self.arrays.refuse_tensor(owner.cell, node)
            if isinstance(current, Ref) and isinstance(owner, Ref) and current.cell is owner.cell:
                self._in_place(current, name, value, node)
            elif (
                isinstance(current, Ref)
                and not isinstance(owner, Ref)
                and not self._binds_anew(current, node)
            ):
                self._in_place(current, name, value, node)
            else:
                result = self._augmented(name, current, value, node)
                if isinstance(current, Ref) and isinstance(result, Ref):
                    have, want = (
                        self.arrays.ref_type(result).dtype,
                        self.arrays.ref_type(current).dtype,
                    )
                    self.stores.require_same_kind(name, have, want, node)
                self.stores.store_item(owner, index, result, target)
            return
        assert isinstance(target, core.Attr)
        current = self.attributes.attribute(owner, target.name, target)
        value = self.evaluator.eval(node.value)
        if isinstance(current, Ref) and not self._binds_anew(current, node):
            self._in_place(current, name, value, node)
        else:
            self.stores.store_attribute(
                owner, target.name, self._augmented(name, current, value, node), target
            )

    def _binds_anew(self, current: Ref, node: core.Node) -> bool:
        """Whether `a += b` makes a new `a`: tensors are never changed."""
        if current.cell.tensor is None:
            self.arrays.refuse_tensor(current.cell, node)
        return bool(current.cell.tensor)

    def _augmented(self, name: str, current: Value, value: Value, node: core.Node) -> Value:
        if isinstance(current, DictVal) and name == "bitwise_or":
            self.evaluator.call_method(current, "update", (value,), {}, node)
            return current
        if isinstance(current, ListVal) and name == "add":
            self.evaluator.call_method(current, "extend", (value,), {}, node)
            return current
        if isinstance(current, ListVal) and name == "multiply" and is_count(value):
            return self.stores.repeat_list(current, number(value), node)
        special = self.operators.special_binary(name, current, value, node, in_place=True)
        if special is not None:
            return special
        result = self.operators.binary(name, current, value, node)
        if isinstance(current, Num) and current.arrays and isinstance(result, Num):
            self._refuse_shared_scalar(current, node)
            return replace(result, arrays=current.arrays)
        if isinstance(current, Ref) and isinstance(result, Num):
            # A tensor of rank 0 stays one, so that a loop carries one kind of thing.
            result = self.arrays.as_tensor(
                self.surface_calls.call_surface("numpy.array", (result,), {}, node)
            )
        return result

    def _refuse_shared_scalar(self, current: Num, node: core.Node) -> None:
        """Refuse to update an array of rank 0 with several names.  It is a scalar here, of which
        each name would keep its own value."""
        live = self.arrays.live_values()
        contents = (self.state.heap[cell] for cell in self.arrays.cells_in(live))
        values = [value for content in contents for value in getattr(content, "values", ())]
        same = 0
        todo = [*live, *values]
        while todo:
            value = todo.pop()
            if isinstance(value, TupleVal):
                todo += value.values
            elif isinstance(value, Num) and value.arrays & current.arrays:
                same += 1
        if same > 1:
            text = "in NumPy this is an array of rank 0 with another name, which would change, too"
            self.places.refuse(node, text, "write x = x + ... in place of x += ...")

    def _in_place(self, ref: Ref, name: str, value: Value, node: core.Node) -> None:
        """`a += b` writes into a's memory, in a's dtype."""
        result = self.operators.binary(name, ref, value, node)
        dtype = self.arrays.ref_type(ref).dtype
        out = self.arrays.sym(result)
        self.stores.require_same_kind(name, out.dtype, dtype, node)
        if name == "matmul" and out.ndim != self.arrays.ref_type(ref).ndim:
            text = "inplace matrix multiplication requires a result of the first operand's shape"
            raise self.places.located(ValueError(text), node)
        with self.guards.guarding(node):
            self.updates.write(ref, (), out, node)


class _Hint:
    """Names temporaries after the variable being assigned."""

    def __init__(self, b: Builder, name: str) -> None:
        self.b, self.name = b, name

    def __enter__(self) -> None:
        self.saved, self.b.hint = self.b.hint, self.name

    def __exit__(self, *_: Any) -> None:
        self.b.hint = self.saved
