"""Names and the objects behind them: what is lifted to a parameter, what is baked in.

Floats and arrays reached through closures, globals or objects become parameters of the
kernel, read anew at every call.  Ints, strings and other plain values are baked in under
a guard, containers are split into their items, and everything else is a static object.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import sys
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ...frontend.kernel_interface import ObjectGuard, Param
from ...frontend.pytree import (
    CONSTANT_MODULES,
    ArraySpec,
    Fixed,
    Held,
    Path,
    RecordSpec,
    RngSpec,
    ScalarSpec,
    Spec,
    TreeSpec,
    child_step,
    describe,
    follow,
    is_constant_module,
    leaf_type,
    path_name,
    path_text,
    refuse_foreign,
)
from ...ir.builder import const
from ...ir.errors import UnsupportedError
from ...ir.nodes import Array, Var
from ...ir.record import field, record
from ...syntax import core
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..shared import Captured, Lifted, LiftedVariable
from ..values import (
    Cell,
    DictVal,
    EnumerateVal,
    InstanceVal,
    Items,
    KeysVal,
    ListVal,
    Num,
    Obj,
    ProductVal,
    PyObject,
    RangeVal,
    Rec,
    Ref,
    RestVal,
    RngVal,
    TupleVal,
    Value,
    ViewVal,
    ZipVal,
    constant,
)
from ..variables import Variables


@record(eq=False)
class Objects(Part):
    """Names, and the objects reached from outside."""

    places: Places
    variables: Variables
    arrays: Arrays
    lifted: dict[Any, Value] = field(default_factory=dict, init=False)
    # those reached, and by which path first
    containers: list[tuple[Path, object, ListVal | DictVal | InstanceVal]] = field(
        default_factory=list, init=False
    )
    reached: dict[Any, list[Var]] = field(default_factory=dict, init=False)
    # attributes (object, name) and containers (object, None) that were read, by identity
    looked_up: dict[tuple[int, str | None], str] = field(default_factory=dict, init=False)
    # the name being looked up
    reading: core.Node | None = field(default=None, init=False)

    # ---- arguments

    def argument(self, spec: Spec, path: Path, value: PyObject) -> Value:
        """The value of an argument, or of a part of one; leaves become parameters."""
        if path in self.session.baked:
            return self.bake(value, path)
        if isinstance(spec, TreeSpec):
            children = tuple(
                self.argument(
                    child, (*path, child_step(spec.kind, key)), self._child(value, spec.kind, key)
                )
                for key, child in zip(spec.keys, spec.children)
            )
            if spec.kind in ("tuple", "namedtuple"):
                return TupleVal(children, spec.cls if spec.kind == "namedtuple" else None)
            if spec.kind == "list":
                out: Any = self.arrays.new_list(children, path_name(path))
            elif spec.kind == "dict":
                out = self.arrays.new_dict(spec.keys, children)
            else:
                out = self.arrays.new_instance(spec.cls, spec.keys, children)
            self.arrays.from_outside(out, path)
            return out
        if isinstance(spec, Fixed):
            return self.lift(spec.value, path, guarded=True)
        return self.parameter(spec, path, value)

    def _child(self, value: Any, kind: str, key: Any) -> Any:
        if value is None:
            return None
        return getattr(value, key) if kind in ("namedtuple", "dataclass") else value[key]

    def parameter(self, spec: Spec, path: Path, value: PyObject) -> Value:
        name = self.b.names.fresh(path_name(path))
        var = Var(name, leaf_type(spec, name), name)
        self.b.names.keep(name)
        self.session.params.append(Param(name, path, spec, var.type))
        self.reached[Lifted(path, value)] = [var]
        # Sizes are read off the arguments at hand, where there are any.
        if isinstance(spec, ArraySpec) and value is not None and self.b.facts.sizes is not None:
            for axis, size in enumerate(value.shape):
                self.b.facts.sizes[f"{name}.{axis}"] = size
        if isinstance(spec, ScalarSpec):
            if spec.dtype == "int64" and value is not None:
                self.session.given_ints[name] = int(value)
            return Num(var)
        if isinstance(spec, RecordSpec):
            return Rec(var)
        if isinstance(spec, RngSpec):
            return RngVal(var)
        assert isinstance(spec, ArraySpec)
        cell = Cell(path_text(path), var, path)
        cell.readonly = not spec.writeable
        cell.tensor = spec.tensor
        cell.contiguous = spec.layout == "C"
        self.state.adopt(cell, var)
        return Ref(cell)

    def bake(self, value: PyObject, path: Path) -> Value:
        """A static value: part of the specialisation, guarded."""
        self.shared.object_guards.append(ObjectGuard(path, "equals", value))
        return self.lift(value, path, guarded=True, static=True)

    # ---- everything reached otherwise

    def lift(
        self, value: PyObject, path: Path, guarded: bool = False, static: bool = False
    ) -> Value:
        """The value of something reached by `path` while specialising."""
        if path in self.lifted:
            return self.lifted[path]
        result = self._lift(value, path, guarded, static)
        self.lifted[path] = result
        return result

    def known(self, path: Path) -> Value | None:
        """What was lifted from a path; of what callers have lifted, the objects."""
        value = self.lifted.get(path)
        outer = self.session.outer
        while value is None and self.shared.keep and outer is not None:
            found = outer.objects.lifted.get(path)
            value, outer = found if isinstance(found, Obj) else None, outer.session.outer
        return value

    def _lift(self, value: Any, path: Path, guarded: bool, static: bool) -> Value:
        try:
            return self._lift_supported(value, path, guarded, static)
        except UnsupportedError as error:
            if error.span is not None:
                raise
            message = f"{path_text(path)}: {error.message}"
            raise self.places.refusal(self.reading, message, error.advice) from None

    def _lift_supported(self, value: Any, path: Path, guarded: bool, static: bool) -> Value:
        if isinstance(value, np.timedelta64):  # NumPy counts it among the integers
            raise UnsupportedError("np.timedelta64 is not supported", advice="pass a number")
        if isinstance(value, (bool, np.bool_, int, np.integer)):
            if path in self.session.runtime_ints and path not in self.session.baked:
                return self.parameter(describe(value), path, value)
            if not guarded:
                self.shared.object_guards.append(ObjectGuard(path, "equals", value))
            return Num(const(value), (value,))
        if value is None or isinstance(value, (str, bytes, type(Ellipsis), slice, np.dtype)):
            if not guarded:
                self.shared.object_guards.append(ObjectGuard(path, "equals", value))
            return Obj(value, path)
        if isinstance(value, (float, complex, np.floating, np.complexfloating)):
            if not static:
                return self._described(value, path)
            if not guarded:
                self.shared.object_guards.append(ObjectGuard(path, "equals", value))
            return Num(const(value), (value,))
        refuse_foreign(value)
        is_array = isinstance(value, np.ndarray) or hasattr(type(value), "_s2s_device")
        if is_array or isinstance(value, np.random.Generator):
            return self._described(value, path)
        if hasattr(type(value), "_s2s_variable"):
            if not guarded:
                self.shared.object_guards.append(ObjectGuard(path, "is", value))
            return self.variable(value, path)
        if isinstance(value, (tuple, list, dict)) or (
            dataclasses.is_dataclass(value) and not isinstance(value, type)
        ):
            return self._lift_container(value, path)
        if is_constant_module(value):
            return self.lift_library(value, path)
        if not guarded and not isinstance(value, types.ModuleType):
            kind = "function" if isinstance(value, types.FunctionType) else "is"
            self.shared.object_guards.append(ObjectGuard(path, kind, value))
        return Obj(value, path)

    def _described(self, value: Any, path: Path) -> Value:
        """A number or array as a parameter; refused where its dtype is not supported."""
        try:
            spec = describe(value)
        except TypeError as error:
            message, _, advice = f"{path_text(path)}: {error}".partition("; ")
            raise self.places.refusal(self.reading, message, advice) from None
        return self.parameter(spec, path, value)

    def _lift_container(self, value: Any, path: Path) -> Value:
        self.looked_up[id(value), None] = path_text(path)
        for other, known, lifted in self.containers:
            if known is value:  # by whatever path it is reached, it is one
                self.shared.object_guards += [ObjectGuard(p, "is", value) for p in (other, path)]
                return lifted
        out = self._lift_parts(value, path)
        if isinstance(out, (ListVal, DictVal, InstanceVal)):
            self.containers.append((path, value, out))
        return out

    def _lift_parts(self, value: Any, path: Path) -> Value:
        spec_kind, keys, values = _container(value)
        if isinstance(value, dict):
            self.shared.object_guards.append(ObjectGuard(path, "keys", tuple(value)))
        elif isinstance(value, (list, tuple)):
            self.shared.object_guards.append(ObjectGuard(path, "length", len(value)))
        else:
            self.shared.object_guards.append(ObjectGuard(path, "type", type(value)))
        children = tuple(
            self.lift(v, (*path, child_step(spec_kind, k))) for k, v in zip(keys, values)
        )
        if isinstance(value, tuple):
            return TupleVal(children, type(value) if spec_kind == "namedtuple" else None)
        out: Any
        if isinstance(value, list):
            out = self.arrays.new_list(children, path_name(path))
        elif isinstance(value, dict):
            out = self.arrays.new_dict(keys, children)
        else:
            out = self.arrays.new_instance(type(value), keys, children)
        self.arrays.from_outside(out, path)
        self.state.adopt(out.cell, self.state.heap[out.cell])
        return out

    # ---- look-up

    def guard_builtin(self, name: str, function: types.FunctionType) -> None:
        """A global of that name may hide a builtin later.  Modules of this package have none."""
        if (function.__module__ or "").partition(".")[0] == _PACKAGE:
            return
        space = function.__globals__
        module = sys.modules.get(function.__module__ or "")
        path: Path = (("namespace", ""),)
        if space is not self.shared.main.__globals__:
            if module is None or vars(module) is not space:
                path = (*self.held(function), (".", "__globals__"))
            else:
                path = (("namespace", function.__module__),)
        guard = ObjectGuard(path, "item", (name, False))
        if guard not in self.shared.object_guards:
            self.shared.object_guards.append(guard)

    def held(self, value: PyObject) -> Path:
        """The path of an object to which nothing leads.  It means nothing in another process."""
        self.shared.loose = True
        return (("held", Held(value)),)

    def unreachable(self, function: types.FunctionType, name: str, value: PyObject) -> Value:
        """A name of a function to which no path leads: what it stands for cannot be read again
        at the next call."""
        if isinstance(value, (types.FunctionType, types.ModuleType, type)):
            if name in function.__globals__:
                path = (*self.held(function), (".", "__globals__"), ("[]", name))
                return self.lift_name(value, path)
            return Obj(value)
        return self.places.refuse(
            self.reading, f"{name} belongs to a function that cannot be found again from here",
            "define the function or class at module level, or pass the value in",
        )  # fmt: skip

    def lift_name(self, value: PyObject, path: Path) -> Value:
        if is_constant_module(value):
            return self.lift_library(value, path)
        if _is_library(value) and not _is_jitclass(value):
            return self.lift_library(value, path)
        return self.lift(value, path)

    def lift_library(self, value: PyObject, path: Path) -> Value:
        """What belongs to a library does not change, but who names it may name another."""
        if path not in self.lifted:
            (root, _), *steps = path
            if steps or root not in ("module", "held"):
                self.shared.object_guards.append(ObjectGuard(path, "is", value))
            self.lifted[path] = Obj(value)
        return self.lifted[path]

    def class_value(self, cls: type, otherwise: Path = ()) -> Obj:
        """A class, with the path by which its attributes are read at each call if it has one, or
        if there is another that leads to it."""
        if _is_library(cls):
            return Obj(cls)
        known = (v for v in self.lifted.values() if isinstance(v, Obj) and v.value is cls)
        for value in known:
            return value
        path = (("module", cls.__module__), *((".", n) for n in cls.__qualname__.split(".")))
        try:
            found = follow(sys.modules[cls.__module__], path[1:])
        except (AttributeError, KeyError):
            found = None
        path = path if found is cls else otherwise
        made = self.lift(cls, path or self.held(cls))
        assert isinstance(made, Obj)
        return made

    def static_items(self, value: Value) -> list[Value] | None:
        """The elements of a sequence whose length is known; None for run-time ones."""
        if isinstance(value, TupleVal):
            return list(value.values)
        if isinstance(value, ListVal):
            content = self.state.heap[value.cell]
            return list(content.values) if isinstance(content, Items) else None
        if isinstance(value, DictVal):
            return [constant(k) for k in self.state.heap[value.cell].keys]
        if isinstance(value, ViewVal):
            return view_items(self.state.heap[value.cell], value.kind)
        if isinstance(value, KeysVal):
            return self.static_items(value.inner)
        if isinstance(value, RestVal):
            inner = self.static_items(value.inner)
            known = value.start.known if value.tracked is None else None
            return None if inner is None or known is None else inner[known[0] :]
        if isinstance(value, RangeVal):
            parts = (value.start, value.stop, value.step)
            if any(p.known is None for p in parts):
                return None
            items = list(range(*(p.known[0] for p in parts)))  # type: ignore[index]
            return [constant(k) for k in (items[::-1] if value.reverse else items)]
        if isinstance(value, EnumerateVal):
            inner = self.static_items(value.inner)
            if inner is None or value.start.known is None:
                return None
            first = value.start.known[0]
            return [TupleVal((constant(first + i), v)) for i, v in enumerate(inner)]
        if isinstance(value, ZipVal):
            inners = [self.static_items(i) for i in value.inners]
            if any(i is None for i in inners):
                return None
            return [TupleVal(tuple(vs)) for vs in zip(*inners)]  # type: ignore[arg-type]
        if isinstance(value, ProductVal) and value.array is None:
            inners = [self.static_items(i) for i in value.inners]
            if any(i is None for i in inners):
                return None
            return [TupleVal(vs) for vs in itertools.product(*inners)]  # type: ignore[arg-type]
        if isinstance(value, Obj) and isinstance(value.value, (str, bytes, list, tuple, range)):
            return [
                self.lift(v, (*value.path, ("[]", i))) if value.path else constant(v)
                for i, v in enumerate(value.value)
            ]
        return None

    def note_looked_up(self, looked_up: dict[tuple[int, str | None], str]) -> None:
        """What was read of objects and containers, with its place in the program's text."""
        self.looked_up |= looked_up

    def keep_lifted(self, wanted: Callable[[Value], bool]) -> None:
        """Forgets the values that were lifted, but for those that are wanted."""
        self.lifted = {path: value for path, value in self.lifted.items() if wanted(value)}

    def take_in(
        self, key: Hashable, taken: Captured, unpack: Callable[[list[Var]], Value]
    ) -> Value:
        """A name of a frame of the caller, which passes its numbers and arrays; `unpack` appends
        them to a list as parameters."""
        variables = self.reached[taken] = []
        self.lifted[key] = unpack(variables)
        return self.lifted[key]

    def read_at(self, node: core.Node) -> None:
        """Where the program reads what is lifted next."""
        self.reading = node

    def variable(self, value: PyObject, path: Path) -> Ref:
        """A Variable: the array in it, which tapes watch.  By whatever path it is reached, it
        is one."""
        for cell, known in self.variables.variables.items():
            if known is value:
                return Ref(cell)
        watched = ObjectGuard((*path, (".", "trainable")), "equals", value.trainable)
        self.shared.object_guards.append(watched)
        array = (*path, (".", "_array"))
        ref = self.lift(value._array, array)
        assert isinstance(ref, Ref)
        self.variables.watch(ref.cell, value)
        # A caller passes the array on, and knows that it is a Variable's.
        self.reached[LiftedVariable(path, value)] = self.reached.pop(Lifted(array, None))
        type_ = self.arrays.read(ref).type
        assert isinstance(type_, Array)
        self.variables.know_small_sizes(type_)
        return ref


def view_items(content: Any, kind: str) -> list[Value]:
    """The elements of a view of a dict."""
    keys = [constant(k) for k in content.keys]
    if kind == "items":
        return [TupleVal(pair) for pair in zip(keys, content.values)]
    return keys if kind == "keys" else list(content.values)


def path_of_class(value: Value) -> Path:
    """That of the class of an object, if one leads to it."""
    if isinstance(value, Obj) and value.path and not isinstance(value.value, type):
        return (*value.path, (".", "__class__"))
    return ()


def _container(value: Any) -> tuple[str, tuple[Any, ...], tuple[Any, ...]]:
    if isinstance(value, dict):
        return "dict", tuple(value), tuple(value.values())
    fields = getattr(value, "_fields", None)
    if isinstance(value, tuple) and fields is not None:
        return "namedtuple", tuple(fields), tuple(value)
    if isinstance(value, (tuple, list)):
        return "list", tuple(range(len(value))), tuple(value)
    names = tuple(f.name for f in dataclasses.fields(value))
    return "dataclass", names, tuple(getattr(value, n) for n in names)


_PACKAGE = __name__.partition(".")[0]


def _is_jitclass(value: Any) -> bool:
    return type(value).__name__ == "JitClassType"


def _is_library(value: Any) -> bool:
    """Functions and classes of libraries do not change under us."""
    module = getattr(value, "__module__", None)
    if isinstance(value, np.ufunc):
        return True
    if isinstance(value, functools.partial):  # its class is a library's, it is not
        return False
    return callable(value) and isinstance(module, str) and module.split(".")[0] in CONSTANT_MODULES
