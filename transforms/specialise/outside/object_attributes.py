"""Attributes of objects from outside, and the guards that they need."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...frontend.kernel_interface import ObjectGuard
from ...frontend.pytree import Path, is_constant_module, path_text
from ...ir.record import field, record
from ...syntax import core
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..values import Cell, Fields, InstanceVal, Obj, PyObject, TupleVal, Undefined, Value, constant
from .objects import _PACKAGE, Objects, _is_library, path_of_class

_IMMUTABLE = (bool, int, float, complex, str, bytes, slice, np.dtype, np.generic, type(None))


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


@record(eq=False)
class ObjectAttributes(Part):
    """Attributes and methods of objects from outside."""

    places: Places
    arrays: Arrays
    objects: Objects
    object_cells: dict[int, tuple[Cell, Obj]] = field(default_factory=dict, init=False)

    def object_cell(self, owner: Obj) -> Cell:
        key = id(owner.value)
        if key not in self.object_cells:
            cell = Cell(type(owner.value).__name__, path=owner.path)
            self.object_cells[key] = cell, owner
            self.state.adopt(cell, Fields((), ()))
            self.arrays.note_first_content(cell, Fields((), ()))
        return self.object_cells[key][0]

    def written_attribute(self, owner: Obj, name: str) -> Value | None:
        """The value of an attribute that the program writes somewhere."""
        found = self.object_cells.get(id(owner.value))
        if found is None:
            return None
        content = self.state.heap[found[0]]
        return content.values[content.keys.index(name)] if name in content.keys else None

    def attribute_of(self, owner: Obj, name: str, node: core.Node) -> Value:
        """An attribute of a static object; what it yields is lifted by its path."""
        target = owner.value
        self.objects.note_looked_up({(id(target), name): path_text((*owner.path, (".", name)))})
        written = self.written_attribute(owner, name)
        if written is not None:
            return self._bound_attribute(written, name, node)
        if is_constant_module(target) or (isinstance(target, type) and not owner.path):
            if not hasattr(target, name):
                raise self.places.located(
                    AttributeError(
                        f"{getattr(target, '__name__', target)!r} has no attribute {name!r}"
                    ),
                    node,
                )
            return self._unguarded(target, name)
        try:
            raw = inspect.getattr_static(target, name)
        except AttributeError:
            raw = None
            # Modules and objects may make attributes when they are read.
            if not _makes(target, name):
                text = f"{type(target).__name__!r} object has no attribute {name!r}"
                raise self.places.located(AttributeError(text), node) from None
            made = self.evaluator.call_special(owner, "__getattr__", (constant(name),), node)
            if made is not None:
                self._guard_absence(owner, name)
                return made
        if isinstance(raw, property) and hasattr(raw.fget, "_s2s_static"):
            # What is decided by the objects alone is computed by Python, and guarded.
            return self.objects.lift(getattr(target, name), (*owner.path, (".", name)))
        if isinstance(raw, property) and isinstance(raw.fget, types.FunctionType):
            self.guard_class(owner, raw.fget, name, "fget")
            return self.evaluator.call_function(Obj(raw.fget), (owner,), {}, node)
        if owner.path == () and not isinstance(target, types.ModuleType):
            return self._unguarded(target, name)
        getter = self.special(Obj(raw), "__get__")
        if getter is not None and not isinstance(target, type):
            definer = next(c for c in type(target).__mro__ if name in vars(c))
            place = self.objects.class_value(definer).path
            descriptor = self.objects.lift(raw, (*place, (".", "__dict__"), ("[]", name)))
            return self.evaluator.call_function(
                getter, (descriptor, owner, Obj(type(target))), {}, node
            )
        value = getattr(target, name)
        if isinstance(value, types.MethodType):
            place = (*owner.path, (".", name))
            if isinstance(value.__func__, types.FunctionType) and not _is_library(value):
                self.objects.lift(value.__func__, (*place, (".", "__func__")))  # it may be replaced
            return Obj(value, place)
        if _is_library(value):
            return self.objects.lift_library(value, (*owner.path, (".", name)))
        return self.objects.lift(value, (*owner.path, (".", name)))

    def _guard_absence(self, owner: Obj, name: str) -> None:
        """An attribute that `__getattr__` makes may be set later, on the object or its class."""
        if not owner.path:
            return
        if hasattr(owner.value, "__dict__"):
            path = (*owner.path, (".", "__dict__"))
            self.shared.object_guards.append(ObjectGuard(path, "item", (name, False)))
        self.guard_no_method(owner, name)

    def guard_no_method(self, owner: Obj | InstanceVal | TupleVal, name: str) -> None:
        """A user's class that does not define a name may do so later."""
        cls = type(owner.value) if isinstance(owner, Obj) else owner.cls
        if cls is None or not _may_change(cls):
            return
        place = self.objects.class_value(cls, path_of_class(owner)).path
        guard = ObjectGuard(place, "attribute", (name, False))
        if place and guard not in self.shared.object_guards:
            self.shared.object_guards.append(guard)

    def _unguarded(self, target: Any, name: str) -> Value:
        """An attribute of something to which no path leads, or which does not change."""
        value = getattr(target, name)
        package = (getattr(target, "__module__", None) or "").partition(".")[0]
        own = package == __name__.partition(".")[0]
        code = isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type))
        fixed = isinstance(target, _IMMUTABLE) or is_constant_module(target) or _is_library(target)
        if not (own or code or fixed):
            self.shared.loose = True
        return constant(value)

    def _bound_attribute(self, value: Value, name: str, node: core.Node) -> Value:
        if isinstance(value, Undefined):
            raise self.places.located(AttributeError(f"there is no attribute {name!r} yet"), node)
        return value

    def guard_class(
        self, owner: Obj | InstanceVal | TupleVal, function: types.FunctionType, *names: str
    ) -> None:
        """A function that was found in the class of an object may be replaced there."""
        if isinstance(owner, Obj):
            self._guard_function(path_of_class(owner), function, names)
        else:
            self.guard_method(owner, owner.cls, owner.cls, function, *names)

    def guard_method(
        self, owner: Value, cls: type, definer: type, function: PyObject, *names: str
    ) -> None:
        """The same for one that a class, or one of those it is derived from, defines."""
        place = self.objects.class_value(cls, path_of_class(owner)).path
        if place and next((c for c in cls.__mro__ if names[0] in vars(c)), definer) is not definer:
            place = (*place, (".", "__mro__"), ("[]", cls.__mro__.index(definer)))
        self._guard_function(place, function, names)

    def _guard_function(self, place: Path, function: Any, names: Sequence[str]) -> None:
        if place and isinstance(function, types.FunctionType) and not _is_library(function):
            self.objects.lift(function, (*place, *((".", name) for name in names)))

    def special(self, owner: Value, name: str) -> Obj | None:
        """The method of a user's class for an operator."""
        if isinstance(owner, Obj):
            cls = type(owner.value)
        elif isinstance(owner, (InstanceVal, TupleVal)):
            cls = owner.cls
        else:
            return None
        found = inspect.getattr_static(cls, name, None) if cls is not None else None
        if found is None:
            self.guard_no_method(owner, name)
        if not isinstance(found, types.FunctionType) or made_by_library(found):
            return None
        self.guard_class(owner, found, name)
        return Obj(found)


def _may_change(cls: type) -> bool:
    """Whether a class is written in Python by a user, who may add to it."""
    module = (cls.__module__ or "").partition(".")[0]
    ours = module in (_PACKAGE, "s2s") or _is_library(cls) or module in sys.stdlib_module_names
    return bool(cls.__flags__ & _HEAP_TYPE) and not ours


def _makes(target: Any, name: str) -> bool:
    """Whether `__getattr__` makes an attribute that is not there; it may fail as it likes."""
    asked = isinstance(target, types.ModuleType) or hasattr(type(target), "__getattr__")
    try:
        return asked and hasattr(target, name)
    except Exception:
        return False


def made_by_library(function: types.FunctionType) -> bool:
    """Methods of enumerations and the like, and those that dataclasses write themselves."""
    module = (function.__module__ or "").partition(".")[0]
    written = function.__code__.co_filename == "<string>"
    return written or module in sys.stdlib_module_names or module in ("numpy", "scipy", "numba")
