"""Names and the objects behind them: what is lifted to a parameter, what is baked in.

Floats and arrays reached through closures, globals or objects become parameters of the
kernel, read anew at every call.  Ints, strings and other plain values are baked in under
a guard, containers are taken apart, and everything else is looked at as a static object.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..frontend.kernel_interface import ObjectGuard, Param
from ..frontend.pytree import (
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
from ..ir.builder import const
from ..ir.errors import UnsupportedError
from ..ir.nodes import Var
from ..ir.record import field, record
from ..syntax import core
from .arrays import Arrays
from .outline import Outlines
from .places import Places
from .session import Part
from .shared import Lifted
from .values import (
    Cell,
    Conflict,
    Ended,
    Maybe,
    Num,
    Obj,
    Rec,
    Ref,
    RngVal,
    TupleVal,
    Undefined,
    Value,
    constant,
)

_IMMUTABLE = (bool, int, float, complex, str, bytes, slice, np.dtype, np.generic, type(None))


@record(eq=False)
class Objects(Part):
    """Names, and the objects reached from outside."""

    places: Places
    arrays: Arrays
    outline: Outlines
    lifted: dict[Any, Value] = field(default_factory=dict, init=False)
    # those reached, and by which path first
    containers: list[tuple[Path, Any, Value]] = field(default_factory=list, init=False)
    reached: dict[Any, list[Var]] = field(default_factory=dict, init=False)
    # attributes (object, name) and containers (object, None) that were read, by identity
    looked_up: dict[tuple[int, str | None], str] = field(default_factory=dict, init=False)
    # the name being looked up
    reading: core.Node | None = field(default=None, init=False)

    # ---- arguments

    def argument(self, spec: Spec, path: Path, value: Any) -> Value:
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
            self.evaluator.effects.from_outside(out, path)
            return out
        if isinstance(spec, Fixed):
            return self.lift(spec.value, path, guarded=True)
        return self.parameter(spec, path, value)

    def _child(self, value: Any, kind: str, key: Any) -> Any:
        if value is None:
            return None
        return getattr(value, key) if kind in ("namedtuple", "dataclass") else value[key]

    def parameter(self, spec: Spec, path: Path, value: Any) -> Value:
        name = self.b.names.fresh(path_name(path))
        var = Var(name, leaf_type(spec, name), name)
        self.b.names.keep(name)
        self.session.params.append(Param(name, path, spec, var.type))
        self.reached[Lifted(path, value)] = [var]
        # Sizes are read off the arguments at hand, where there are any.
        if isinstance(value, np.ndarray) and self.b.facts.sizes is not None:
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

    def bake(self, value: Any, path: Path) -> Value:
        """A static value: part of the specialisation, guarded."""
        self.shared.object_guards.append(ObjectGuard(path, "equals", value))
        return self.lift(value, path, guarded=True, static=True)

    # ---- everything reached otherwise

    def lift(self, value: Any, path: Path, guarded: bool = False, static: bool = False) -> Value:
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
        if isinstance(value, (np.ndarray, np.random.Generator)):
            return self._described(value, path)
        if hasattr(type(value), "_s2s_variable"):
            if not guarded:
                self.shared.object_guards.append(ObjectGuard(path, "is", value))
            return self.evaluator.tape.variable(value, path)
        if isinstance(value, (tuple, list, dict)) or (
            dataclasses.is_dataclass(value) and not isinstance(value, type)
        ):
            return self._lift_container(value, path)
        if is_constant_module(value):
            return self._lift_library(value, path)
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
        if not isinstance(value, tuple):
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
        self.evaluator.effects.from_outside(out, path)
        self.state.adopt(out.cell, self.state.heap[out.cell])
        return out

    # ---- look-up

    def lookup(self, name: str, node: core.Node) -> Value:
        self.reading = node
        value = self.find(name)
        if isinstance(value, Undefined):
            self.b.check(False, "UnboundLocalError", _unbound(name))
            raise Ended
        if value is None and isinstance(node, core.Result):
            return Obj(None)  # a function's result that no path binds
        if value is None:
            raise self.places.located(NameError(f"name {name!r} is not defined"), node)
        if isinstance(value, Conflict):
            self.places.need_unroll(
                node, value.why, "use one name for one kind of thing", peel=True
            )
        if isinstance(value, Maybe):
            if not isinstance(node, core.Result):
                self.b.check(self.b.sym(value.flag), "UnboundLocalError", _unbound(name))
            elif not node.always:
                called = self.places.frame.node.name
                message = f"{called} ended without a return, so its result is None"
                self.b.check(self.b.sym(value.flag), "TypeError", message)
            self.state.env[name] = value.value
            return value.value
        return value

    def find(self, name: str) -> Value | None:
        """The value of a name: own names, enclosing functions', closure, globals, builtins."""
        frame = self.places.frame
        if name in self.state.env:
            return self.state.env[name]
        if name in frame.locals:
            return Undefined()
        enclosing = frame.enclosing
        while enclosing is not None:
            env = enclosing.owner.places.env_of(enclosing)
            if name in env:
                own = enclosing.owner is self.evaluator
                return env[name] if own else self.outline.captured(enclosing, name)
            frame, enclosing = enclosing, enclosing.enclosing
        function, path = frame.function, frame.path
        code = function.__code__
        if name in code.co_freevars:
            index = code.co_freevars.index(name)
            try:
                value = function.__closure__[index].cell_contents
            except ValueError:
                return Undefined()
            root: Path = (*path, (".", "__closure__"), ("[]", index), (".", "cell_contents"))
            if not path:
                if function is not self.shared.main:
                    return self._unreachable(function, name, value)
                root = (("closure", name),)
            return self.lift_name(value, root)
        if name in function.__globals__:
            value = function.__globals__[name]
            root = (*path, (".", "__globals__"), ("[]", name))
            if not path:
                root = (("global", name),)
                if function.__globals__ is not self.shared.main.__globals__:
                    module = sys.modules.get(function.__module__)
                    if module is None or vars(module) is not function.__globals__:
                        return self._unreachable(function, name, value)
                    root = (("module", function.__module__), (".", name))
            return self.lift_name(value, root)
        if hasattr(builtins, name):
            self._guard_builtin(name, function)
            return Obj(getattr(builtins, name))
        return None

    def _guard_builtin(self, name: str, function: types.FunctionType) -> None:
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

    def held(self, value: Any) -> Path:
        """The path of an object to which nothing leads.  It means nothing in another process."""
        self.shared.loose = True
        return (("held", Held(value)),)

    def _unreachable(self, function: types.FunctionType, name: str, value: Any) -> Value:
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

    def lift_name(self, value: Any, path: Path) -> Value:
        if is_constant_module(value):
            return self._lift_library(value, path)
        if _is_library(value) and not _is_jitclass(value):
            return self._lift_library(value, path)
        return self.lift(value, path)

    def _lift_library(self, value: Any, path: Path) -> Value:
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
        return self.lift(cls, path or self.held(cls))

    def attribute_of(self, owner: Obj, name: str, node: core.Node) -> Value:
        """An attribute of a static object; what it yields is lifted by its path."""
        target = owner.value
        self.looked_up[id(target), name] = path_text((*owner.path, (".", name)))
        written = self.evaluator.effects.written_attribute(owner, name)
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
            # Modules and objects may make what they have when they are asked for.
            if not _makes(target, name):
                text = f"{type(target).__name__!r} object has no attribute {name!r}"
                raise self.places.located(AttributeError(text), node) from None
            made = self.evaluator.call_special(owner, "__getattr__", (constant(name),), node)
            if made is not None:
                self._guard_absence(owner, name)
                return made
        if isinstance(raw, property) and hasattr(raw.fget, "_s2s_static"):
            # What is decided by the objects alone is computed by Python, and guarded.
            return self.lift(getattr(target, name), (*owner.path, (".", name)))
        if isinstance(raw, property) and isinstance(raw.fget, types.FunctionType):
            self.guard_class(owner, raw.fget, name, "fget")
            return self.evaluator.call_function(Obj(raw.fget), (owner,), {}, node)
        if owner.path == () and not isinstance(target, types.ModuleType):
            return self._unguarded(target, name)
        getter = self.evaluator.operators.special(Obj(raw), "__get__")
        if getter is not None and not isinstance(target, type):
            definer = next(c for c in type(target).__mro__ if name in vars(c))
            place = self.class_value(definer).path
            descriptor = self.lift(raw, (*place, (".", "__dict__"), ("[]", name)))
            return self.evaluator.call_function(
                getter, (descriptor, owner, Obj(type(target))), {}, node
            )
        value = getattr(target, name)
        if isinstance(value, types.MethodType):
            place = (*owner.path, (".", name))
            if isinstance(value.__func__, types.FunctionType) and not _is_library(value):
                self.lift(value.__func__, (*place, (".", "__func__")))  # it may be replaced
            return Obj(value, place)
        if _is_library(value):
            return self._lift_library(value, (*owner.path, (".", name)))
        return self.lift(value, (*owner.path, (".", name)))

    def _guard_absence(self, owner: Obj, name: str) -> None:
        """An attribute that `__getattr__` makes may be set later, on the object or its class."""
        if not owner.path:
            return
        if hasattr(owner.value, "__dict__"):
            path = (*owner.path, (".", "__dict__"))
            self.shared.object_guards.append(ObjectGuard(path, "item", (name, False)))
        self.guard_no_method(owner, name)

    def guard_no_method(self, owner: Value, name: str) -> None:
        """A user's class that does not define a name may do so later."""
        cls = type(owner.value) if isinstance(owner, Obj) else owner.cls
        if cls is None or not _may_change(cls):
            return
        place = self.class_value(cls, path_of_class(owner)).path
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

    def guard_class(self, owner: Value, function: types.FunctionType, *names: str) -> None:
        """A function that was found in the class of an object may be replaced there."""
        if isinstance(owner, Obj):
            self._guard_function(path_of_class(owner), function, names)
        else:
            self.guard_method(owner, owner.cls, owner.cls, function, *names)

    def guard_method(
        self, owner: Value, cls: type, definer: type, function: Any, *names: str
    ) -> None:
        """The same for one that a class, or one of those it is derived from, defines."""
        place = self.class_value(cls, path_of_class(owner)).path
        if place and next((c for c in cls.__mro__ if names[0] in vars(c)), definer) is not definer:
            place = (*place, (".", "__mro__"), ("[]", cls.__mro__.index(definer)))
        self._guard_function(place, function, names)

    def _guard_function(self, place: Path, function: Any, names: Sequence[str]) -> None:
        if place and isinstance(function, types.FunctionType) and not _is_library(function):
            self.lift(function, (*place, *((".", name) for name in names)))


def path_of_class(value: Value) -> Path:
    """That of the class of an object, if one leads to it."""
    is_object = isinstance(value, Obj) and not isinstance(value.value, type)
    return (*value.path, (".", "__class__")) if is_object and value.path else ()


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


def _unbound(name: str) -> str:
    return f"cannot access local variable '{name}' where it is not associated with a value"


_PACKAGE = __name__.partition(".")[0]


def _may_change(cls: type) -> bool:
    """Whether a class is written in Python by a user, who may add to it."""
    module = (cls.__module__ or "").partition(".")[0]
    ours = module in (_PACKAGE, "s2s") or _is_library(cls) or module in sys.stdlib_module_names
    return bool(cls.__flags__ & _HEAP_TYPE) and not ours


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


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


def _makes(target: Any, name: str) -> bool:
    """Whether `__getattr__` makes an attribute that is not there; it may fail as it likes."""
    asked = isinstance(target, types.ModuleType) or hasattr(type(target), "__getattr__")
    try:
        return asked and hasattr(target, name)
    except Exception:
        return False
