"""Calls of surfaces: the compiler's own versions of library functions."""

from __future__ import annotations

import inspect
from typing import Any, NoReturn

from ...ir.nodes import Scalar
from ...ir.path_kinds import KIND_NAMES, dtype_kind
from ...ir.record import record, replace
from ...rules import SURFACES
from ...rules.declare import as_python_scalar
from ...rules.integer_range_checks import require_in_range
from ...rules.numpy.joining import cast_operand
from ...rules.promotion import kind_of, mixed_dtypes
from ...syntax import core
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..values import (
    RANK_0,
    Args,
    Cell,
    Growing,
    Kwargs,
    ListVal,
    Num,
    PyObject,
    Ref,
    Value,
    constant,
)
from .guards import Guards
from .indexing import Indexing
from .library_paths import path_of

JOINS = ("numpy.stack", "numpy.concatenate", "numpy.vstack", "numpy.hstack")


# Functions about the running program or the world outside.
_OF_PYTHON_ITSELF = (compile, dir, eval, exec, globals, input, locals, open, vars, __import__)


@record(eq=False)
class SurfaceCalls(Part):
    """Calls of surfaces."""

    places: Places
    arrays: Arrays
    guards: Guards
    indexing: Indexing

    def no_rule(self, value: PyObject, node: core.Node) -> NoReturn:
        module = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
        name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
        text = f"{module}.{name}" if module and module != "builtins" else name
        known = path_of(value)
        if known:
            text = known
        elif "random" in str(type(getattr(value, "__self__", None))):
            text = f"numpy.random.{value.__name__}"
        advice = "write it in NumPy, or teach it with s2s.defrule"
        if any(value is other for other in _OF_PYTHON_ITSELF):
            advice = "compute it outside, pass the value in"
        why = f"{text} has no rule, so it cannot be differentiated or compiled"
        return self.places.refuse(node, why, advice)

    def call_surface(self, path: str, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if path in JOINS and args and self._is_growing(args[0]):
            return self._join_list(path, args, kwargs, node)
        refs = tuple(a for a in (*args, *kwargs.values()) if isinstance(a, Ref))
        result = self.arrays.wrap(self.guards.surface_call(path, args, kwargs, node), refs)
        return self.of_rank_0(result) if path in RANK_0 else result

    def _is_growing(self, value: Value) -> bool:
        return isinstance(value, ListVal) and isinstance(self.state.heap[value.cell], Growing)

    def _join_list(self, path: str, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """Joins the elements of a run-time list, whose count no surface can know."""
        known = inspect.signature(SURFACES[path]).parameters
        if any(k not in known for k in kwargs) or len(args) > ("axis" in known) + 1:
            self.places.refuse(
                node, f"{path} of a run-time list with these arguments", "leave them out"
            )
        axis = kwargs.get("axis") or (args[1] if len(args) > 1 else constant(0))
        axis = self.indexing.integer(axis, node)
        axis = self.arrays.static(axis, node, "the axis")
        assert isinstance(args[0], ListVal)
        stacked = self.b.emit("list_stack", self.state.heap[args[0].cell].operand)
        options = {
            k: self.arrays.static(v, node, k)
            for k, v in kwargs.items()
            if k in ("dtype", "casting")
        }
        with self.guards.guarding(node):
            stacked = cast_operand(
                stacked, options.get("dtype"), options.get("casting", "same_kind")
            )
        if path == "numpy.vstack" and stacked.ndim == 2:
            return self.arrays.wrap(stacked)
        if path == "numpy.stack":
            moved = constant(0), constant(axis)
            return self.call_surface(
                "numpy.moveaxis", (self.arrays.wrap(stacked), *moved), {}, node
            )
        if stacked.ndim < 2:
            raise self.places.located(
                ValueError("zero-dimensional arrays cannot be concatenated"), node
            )
        if path == "numpy.hstack":
            axis = 0 if stacked.ndim == 2 else 1
        axis += stacked.ndim - 1 if axis < 0 else 0
        # The list's axis goes right before the one it is joined to, and the two merge.
        front = [self.arrays.wrap(stacked), constant(0), constant(axis)]
        moved = self.arrays.sym(self.call_surface("numpy.moveaxis", front, {}, node))
        sizes = list(moved.shape)
        merged = [*sizes[:axis], sizes[axis] * sizes[axis + 1], *sizes[axis + 2 :]]
        return self.arrays.wrap(self.b.emit("reshape", moved, *merged))

    def operate(self, name: str, *operands: Num | Ref, node: core.Node) -> Value:
        """One elementwise operation or product on numbers and arrays."""
        path = f"numpy.{name}"
        if name == "matmul" and path in SURFACES:
            for operand in operands:
                self.arrays.require_one_kind(operand, node, "a product", of_bools=True)
            return self.arrays.tensor_of(self.call_surface(path, operands, {}, node), *operands)
        with self.guards.guarding(node):
            syms = [self.arrays.sym(o) for o in operands]
            if any(isinstance(s.type, Scalar) and s.type.mixed for s in syms):
                result = self._operate_mixed(name, syms, node)
            else:
                result = self.arrays.wrap(self._emitted(name, syms, node))
        return self.arrays.tensor_of(result, *operands)

    def _emitted(self, name: str, syms: list[Any], node: core.Node) -> Any:
        """An operation; refused where NumPy does something else on one of the paths by which an
        operand is a bool or an integer."""
        kinds = [self.b.least_kind(s.operand) for s in syms]
        own = [dtype_kind(s.type) for s in syms]
        try:
            result = self.b.emit(name, *syms)
        except TypeError:
            if kinds == own:
                raise
            result = None
        if kinds != own and (
            result is None
            or name in ("add", "invert")
            and self.b.least_kind(result.operand) == "b"
            and dtype_kind(result.type) != "b"
        ):
            lower, upper = next((k, o) for k, o in zip(kinds, own) if k != o)
            self.places.refuse(
                node,
                f"{name} of a value that is {KIND_NAMES[lower]} on one path and "
                f"{KIND_NAMES[upper]} on another",
                "convert it to one dtype on all paths",
            )
        return result

    def _operate_mixed(self, name: str, syms: list[Any], node: core.Node) -> Value:
        """An operation on an integer that is a Python int on some paths and a small NumPy integer
        on others: the results agree, or a check raises at run time."""
        strong, weak = mixed_dtypes(name, [s.type for s in syms])
        if strong == weak or not {kind_of(strong), kind_of(weak)} <= {"i", "u"}:
            return self.arrays.wrap(self.b.emit(name, *syms))
        if weak != "int64":
            message = f"this is {strong} on one path and {weak} on another"
            self.places.refuse(node, message, "convert the integer to one dtype on all paths")
        wide = self.b.emit(name, *(as_python_scalar(s) for s in syms))
        require_in_range(self.b, wide, strong)
        result = wide.astype(strong).operand
        return Num(replace(result, type=replace(result.type, mixed=True)))

    def of_rank_0(self, value: Value) -> Value:
        """A result that is an array of rank 0 in NumPy, if it is a scalar here."""
        return replace(value, arrays=frozenset((Cell(),))) if isinstance(value, Num) else value
