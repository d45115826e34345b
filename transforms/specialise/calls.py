"""Calls: NumPy functions become operations, the user's functions are inlined."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
import types
from typing import Any

import numpy as np

from ..build import Builder, Sym
from ..errors import S2SError, TypeError_, UnsupportedError
from ..ir import Print
from ..read import read
from ..rules import SURFACES
from ..rules.library import LIBRARY
from ..rules.registry import NeedStatic
from ..structure import refuse_foreign
from .indexing import plain_items
from .outline import Callee
from .values import (
    Bound,
    Cell,
    Closure,
    DictVal,
    EnumerateVal,
    Growing,
    InstanceVal,
    Items,
    ListVal,
    Mixin,
    Num,
    Obj,
    Partial,
    RangeVal,
    Rec,
    Ref,
    SliceVal,
    State,
    TupleVal,
    Value,
    ZipVal,
)

JOINS = ("numpy.stack", "numpy.concatenate", "numpy.vstack", "numpy.hstack")


@functools.lru_cache(maxsize=1)
def surfaces_by_function() -> dict[int, str]:
    """The path of each function that has a surface, by identity."""
    import importlib

    found: dict[int, str] = {}
    for path in SURFACES:
        if path.startswith("numpy.ndarray."):
            continue
        module, _, name = path.rpartition(".")
        try:
            value = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
        found.setdefault(id(value), path)
    return found


class Calls(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State

    def eval_Call(self, node: ast.Call) -> Value:
        callee = self.eval(node.func)
        if isinstance(callee, Obj) and callee.value is print:
            return self.call_print(node)
        args = self.elements(node.args)
        kwargs: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                kwargs[keyword.arg] = self.eval(keyword.value)
                continue
            extra = self.eval(keyword.value)
            if not isinstance(extra, DictVal):
                self.refuse(keyword.value, "`**` needs a dict whose keys are known")
            content = self.state.heap[extra.cell]
            kwargs.update(zip(content.keys, content.values))
        return self.call(callee, tuple(args), kwargs, node)

    def call(
        self, callee: Value, args: tuple[Value, ...], kwargs: dict[str, Value], node: Any
    ) -> Value:
        if isinstance(callee, Closure):
            return self.call_closure(callee, args, kwargs, node)
        if isinstance(callee, Bound):
            return self.call_method(callee.owner, callee.name, args, kwargs, node)
        if isinstance(callee, Partial):
            return self.call(
                callee.function, callee.args + args, {**dict(callee.kwargs), **kwargs}, node
            )
        if isinstance(callee, InstanceVal):
            return self.call_method(callee, "__call__", args, kwargs, node)
        if not isinstance(callee, Obj):
            raise self.refusal(node, f"{self.kind_of(callee)} is not callable", "", TypeError_)
        return self.call_object(callee, args, kwargs, node)

    def call_object(self, callee: Obj, args: Any, kwargs: Any, node: Any) -> Value:
        value = callee.value
        builtin = getattr(self, f"call_{getattr(value, '__name__', '')}", None)
        if builtin is not None and getattr(value, "__module__", "") == "builtins":
            result = builtin(args, kwargs, node)
            if result is not NotImplemented:
                return result
        path = surfaces_by_function().get(id(value))
        if path is not None:
            args, kwargs, out = self.split_out(value, args, kwargs)
            result = self.call_surface(path, args, kwargs, node)
            return result if out is None else self.write_out(result, out, node)
        if getattr(value, "__name__", "") == "prange":
            made = self.call_range(args, kwargs, node)
            return dataclasses.replace(made, parallel=True)
        if value is np.copyto or _is_add_at(value):
            return self._numpy_in_place(value, args, kwargs, node)
        result = self.call_numpy(value, args, kwargs, node)
        if result is not NotImplemented:
            return result
        if value is functools.partial:
            return Partial(args[0], tuple(args[1:]), tuple(kwargs.items()))
        if hasattr(value, "_s2s_mode"):
            return self._call_s2s(callee, args, kwargs, node)
        scalar_function = getattr(getattr(value, "_dispatcher", None), "py_func", None)
        if scalar_function is not None:
            args = self.as_declared(value, args, node)
            return self._call_vectorized(Obj(scalar_function), args, kwargs, node)
        if hasattr(value, "py_func"):
            inner = Obj(value.py_func, (*callee.path, (".", "py_func")) if callee.path else ())
            return self.call_function(inner, args, kwargs, node)
        if isinstance(value, functools.partial):
            parts = tuple(
                self.lift(v, (*callee.path, (".", "args"), ("[]", i)))
                for i, v in enumerate(value.args)
            )
            named = {
                k: self.lift(v, (*callee.path, (".", "keywords"), ("[]", k)))
                for k, v in value.keywords.items()
            }
            inner = self.lift(value.func, (*callee.path, (".", "func")))
            return self.call(inner, parts + args, {**named, **kwargs}, node)
        if type(getattr(value, "__self__", None)).__module__.startswith("numpy"):
            return self._no_rule(value, node)
        if isinstance(value, types.MethodType):
            if _is_library(value.__func__):
                return self._no_rule(value, node)
            owner = (
                self.lift(value.__self__, callee.path[:-1]) if callee.path else Obj(value.__self__)
            )
            function = Obj(value.__func__, (*callee.path, (".", "__func__")) if callee.path else ())
            return self.call_function(function, (owner, *args), kwargs, node)
        if isinstance(value, types.FunctionType):
            return self._call_python(callee, args, kwargs, node)
        if isinstance(value, type):
            return self.construct(value, args, kwargs, node)
        call = inspect.getattr_static(type(value), "__call__", None)
        if isinstance(call, types.FunctionType):
            return self.call_function(Obj(call), (callee, *args), kwargs, node)
        return self._no_rule(value, node)

    def _call_python(self, callee: Obj, args: Any, kwargs: Any, node: Any) -> Value:
        if _is_library(callee.value):
            return self._no_rule(callee.value, node)
        return self.call_function(callee, args, kwargs, node)

    def _call_vectorized(self, function: Value, args: Any, kwargs: Any, node: Any) -> Value:
        """A scalar function made a ufunc by `@vectorize`: a loop over the elements."""
        if kwargs or not all(isinstance(a, (Num, Ref)) for a in args):
            self.refuse(node, "a vectorized function takes numbers and arrays here")
        if all(isinstance(a, Num) for a in args):
            return self.call(function, tuple(args), {}, node)
        total = self.sym(args[0])
        for a in args[1:]:  # the sum has the shape all arguments are broadcast to
            total = self.b.emit("add", total, self.sym(a))
        flat = []
        for a in args:
            if isinstance(a, Num):
                flat.append(a)
                continue
            full = self.wrap(self.b.emit("copy", self.b.emit("broadcast_like", self.sym(a), total)))
            flat.append(self.call_surface("numpy.ravel", (full,), {}, node))
        size = self.wrap(
            self.b.emit("shape", self.sym(next(f for f in flat if isinstance(f, Ref))), axis=0)
        )
        zero, one = self.constant(0), self.constant(1)
        with self.b.into([]):  # one element, to learn the result's dtype
            before = self.state.copy()
            first = [self.row(f, zero, node) if isinstance(f, Ref) else f for f in flat]
            dtype = self.sym(self.call(function, tuple(first), {}, node)).dtype
            self.state = before
        out = self.wrap(self.b.emit("zeros", size.operand, dtype=dtype))
        index = ast.copy_location(ast.Name(self.fresh_name(f"k_L{node.lineno}"), ast.Store()), node)

        def body() -> bool:
            k = self.state.env.pop(index.id)
            elements = [self.row(f, k, node) if isinstance(f, Ref) else f for f in flat]
            value = self.call(function, tuple(elements), {}, node)
            self.assign_index(out, (("int", k.operand),), value, node)
            return False

        self.for_each(index, RangeVal(zero, size, one), body, None, node)
        return self.wrap(self.b.emit("reshape", self.sym(out), *total.shape))

    def _no_rule(self, value: Any, node: Any) -> Any:
        module = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
        name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
        text = f"{module}.{name}" if module and module != "builtins" else name
        if isinstance(value, np.ufunc):
            text = f"numpy.{value.__name__}"
        elif "random" in str(type(getattr(value, "__self__", None))):
            text = f"numpy.random.{value.__name__}"
        return self.refuse(
            node,
            f"{text} has no rule, so it cannot be differentiated or compiled",
            "see docs/writing-a-rule.md",
        )

    def _call_s2s(self, callee: Obj, args: Any, kwargs: Any, node: Any) -> Value:
        """A decorated function called from another: a compiled one is simply inlined."""
        value = callee.value
        if any(f.function is value.python for f in self.frames()):
            name = value.python.__name__
            return self.refuse(
                node,
                f"here {name} is its gradient, not the function itself",
                f"leave {name} undecorated and write g = s2s.grad({name})",
            )
        if value._s2s_mode == "function":
            inner = Obj(value.python, (*callee.path, (".", "python")) if callee.path else ())
            return self.call_function(inner, args, kwargs, node)
        return self.refuse(
            node,
            "a gradient taken inside a function is not supported yet",
            "take the gradient outside and pass it in",
        )

    # ---- operations

    def call_surface(self, path: str, args: Any, kwargs: Any, node: Any) -> Value:
        if path in JOINS and args and self._is_growing(args[0]):
            return self._join_list(path, args, kwargs, node)
        refs = tuple(a for a in args if isinstance(a, Ref))
        return self.wrap(self.surface_call(path, args, kwargs, node), refs)

    def _is_growing(self, value: Value) -> bool:
        return isinstance(value, ListVal) and isinstance(self.state.heap[value.cell], Growing)

    def _join_list(self, path: str, args: Any, kwargs: Any, node: Any) -> Value:
        """Joins the elements of a run-time list, whose count no surface can know."""
        axis = kwargs.get("axis") or (args[1] if len(args) > 1 else self.constant(0))
        axis = self.static(axis, node, "the axis")
        stacked = self.b.emit("list_stack", self.state.heap[args[0].cell].operand)
        if path == "numpy.vstack" and stacked.ndim == 2:
            return self.wrap(stacked)
        if path == "numpy.stack":
            moved = self.constant(0), self.constant(axis)
            return self.call_surface("numpy.moveaxis", (self.wrap(stacked), *moved), {}, node)
        if stacked.ndim < 2:
            raise self.located(ValueError("zero-dimensional arrays cannot be concatenated"), node)
        if path == "numpy.hstack":
            axis = 0 if stacked.ndim == 2 else 1
        axis += stacked.ndim - 1 if axis < 0 else 0
        # The list's axis goes right before the one it is joined to, and the two merge.
        front = [self.wrap(stacked), self.constant(0), self.constant(axis)]
        moved = self.sym(self.call_surface("numpy.moveaxis", front, {}, node))
        sizes = list(moved.shape)
        merged = [*sizes[:axis], sizes[axis] * sizes[axis + 1], *sizes[axis + 2 :]]
        return self.wrap(self.b.emit("reshape", moved, *merged))

    def surface_call(self, path: str, args: Any, kwargs: Any, node: Any) -> Any:
        with self.guarding(node, path):
            plain = [self.to_surface(a, node) for a in args]
            named = {k: self.to_surface(v, node) for k, v in kwargs.items()}
            return SURFACES[path](self.b, *plain, **named)

    def to_surface(self, value: Value, node: Any) -> Any:
        """Run-time numbers and arrays as Syms, everything static as itself."""
        if isinstance(value, Num):
            if value.known is not None and not isinstance(value.known[0], (float, np.floating)):
                return value.known[0]
            return Sym(self.b, value.operand)
        if isinstance(value, (Ref, Rec)):
            return self.sym(value)
        if isinstance(value, TupleVal):
            return tuple(self.to_surface(v, node) for v in value.values)
        if isinstance(value, ListVal):
            content = self.state.heap[value.cell]
            if isinstance(content, Growing):
                return self.b.emit("list_stack", content.operand)
            return [self.to_surface(v, node) for v in content.values]
        if isinstance(value, list):
            return [self.to_surface(v, node) for v in value]
        if isinstance(value, Obj):
            return value.value
        items = self.static_items(value)
        if items is not None:
            return [self.to_surface(v, node) for v in items]
        return self.refuse(node, f"{self.kind_of(value)} cannot be passed here")

    def guarding(self, node: ast.AST, path: str = "") -> Any:
        return _Guarding(self, node, path)

    def _numpy_in_place(self, value: Any, args: Any, kwargs: Any, node: Any) -> Value:
        if value is np.copyto and len(args) == 2 and isinstance(args[0], Ref) and not kwargs:
            with self.guarding(node):
                self.write(args[0], (), self.sym(args[1]), node)
            return Obj(None)
        if _is_add_at(value) and len(args) == 3 and isinstance(args[0], Ref) and not kwargs:
            ref, index, addend = args
            if not isinstance(addend, (Num, Ref)):
                addend = self.as_array(addend, node)
            items = self.index_items(ref, index, node)
            with self.guarding(node):
                self.write(ref, (("index", plain_items(items)),), self.sym(addend), node, add=True)
            return Obj(None)
        return self._no_rule(value, node)

    # ---- the user's functions

    def call_function(self, callee: Obj, args: Any, kwargs: Any, node: Any) -> Value:
        function = callee.value
        try:
            bound = inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise self.located(TypeError(f"{function.__name__}() {error}"), node) from None
        env = self._bound_arguments(bound, callee)
        source = self.sources.get(function)
        if source is None:
            try:
                source = self.sources[function] = read(function)
            except S2SError as error:
                raise self.refusal(node, error.message, error.advice, type(error)) from None
        # By whatever path it is reached, what it reads is read once.
        path = (
            ()
            if function is self.shared.main
            else self.shared.paths.setdefault(function, callee.path)
        )
        if self.stays_call(function):
            known = Callee(function, function, source, function, path, None)
            return self.call_outlined(known, env, node)
        return self.run_function(source, function, path, env, None, function, node)

    def _bound_arguments(self, bound: inspect.BoundArguments, callee: Obj) -> dict[str, Value]:
        env: dict[str, Value] = {}
        for name, parameter in bound.signature.parameters.items():
            if name in bound.arguments:
                value = bound.arguments[name]
                if parameter.kind is parameter.VAR_POSITIONAL:
                    value = TupleVal(tuple(value))
                elif parameter.kind is parameter.VAR_KEYWORD:
                    value = self.new_dict(tuple(value), tuple(value.values()))
            elif parameter.kind is parameter.VAR_POSITIONAL:
                value = TupleVal(())
            elif parameter.kind is parameter.VAR_KEYWORD:
                value = self.new_dict((), ())
            else:
                value = self._default(callee, name, parameter.default)
            env[name] = value
        return env

    def _default(self, callee: Obj, name: str, default: Any) -> Value:
        if isinstance(default, (bool, int, float, str, type(None))):
            return self.constant(default)
        if callee.path:
            function = callee.value
            names = list(inspect.signature(function).parameters)
            if function.__kwdefaults__ and name in function.__kwdefaults__:
                return self.lift(default, (*callee.path, (".", "__kwdefaults__"), ("[]", name)))
            code = function.__code__
            first = code.co_argcount - len(function.__defaults__ or ())
            return self.lift(
                default, (*callee.path, (".", "__defaults__"), ("[]", names.index(name) - first))
            )
        return self.constant(default)

    def call_closure(self, closure: Closure, args: Any, kwargs: Any, node: Any) -> Value:
        frame = closure.frame
        source = dataclasses.replace(frame.source, node=closure.node)
        place = source.span(closure.node)
        env = self._bind_closure(closure, args, kwargs, node)
        if self.stays_call(place):
            callee = Callee(closure, place, source, frame.function, frame.path, frame)
            return self.call_outlined(callee, env, node)
        return self.run_function(source, frame.function, frame.path, env, frame, place, node)

    def _bind_closure(
        self, closure: Closure, args: Any, kwargs: Any, node: Any
    ) -> dict[str, Value]:
        a = closure.node.args
        Parameter = inspect.Parameter
        defaults = closure.named_defaults
        parameters = []
        for group, kind in (
            (a.posonlyargs, Parameter.POSITIONAL_ONLY),
            (a.args, Parameter.POSITIONAL_OR_KEYWORD),
        ):
            for p in group:
                default = p.arg if p.arg in defaults else Parameter.empty
                parameters.append(Parameter(p.arg, kind, default=default))
        if a.vararg:
            parameters.append(Parameter(a.vararg.arg, Parameter.VAR_POSITIONAL))
        for p in a.kwonlyargs:
            default = p.arg if p.arg in defaults else Parameter.empty
            parameters.append(Parameter(p.arg, Parameter.KEYWORD_ONLY, default=default))
        if a.kwarg:
            parameters.append(Parameter(a.kwarg.arg, Parameter.VAR_KEYWORD))
        try:
            bound = inspect.Signature(parameters).bind(*args, **kwargs)
        except TypeError as error:
            raise self.located(TypeError(str(error)), node) from None
        env = {}
        for p in parameters:
            if p.name in bound.arguments:
                value = bound.arguments[p.name]
                if p.kind is p.VAR_POSITIONAL:
                    value = TupleVal(tuple(value))
                elif p.kind is p.VAR_KEYWORD:
                    value = self.new_dict(tuple(value), tuple(value.values()))
            elif p.kind is p.VAR_POSITIONAL:
                value = TupleVal(())
            elif p.kind is p.VAR_KEYWORD:
                value = self.new_dict((), ())
            elif closure.frame.owner is not self:
                value = self.captured(closure, p.name)
            else:
                value = defaults[p.name]
            env[p.name] = value
        return env

    # ---- methods

    def call_method(self, owner: Value, name: str, args: Any, kwargs: Any, node: Any) -> Value:
        if name == "__vectorized__":
            return self._call_vectorized(owner, args, kwargs, node)
        if isinstance(owner, Ref) and name == "tolist" and self.ref_type(owner).ndim == 1:
            wide = np.float64 if self.ref_type(owner).dtype.startswith("float") else np.int64
            return self.call_list(
                (self.call_method(owner, "astype", (Obj(wide),), {}, node),), {}, node
            )
        if isinstance(owner, Ref) and name == "sort":
            ordered = self.call_numpy(np.sort, (owner, *args), kwargs, node)
            with self.guarding(node):
                self.write(owner, (), self.sym(ordered), node)
            return Obj(None)
        if isinstance(owner, Ref) and f"numpy.ndarray.{name}" in LIBRARY:
            return self.call_function(
                Obj(LIBRARY[f"numpy.ndarray.{name}"]), (owner, *args), kwargs, node
            )
        if isinstance(owner, Ref) and name == "fill":
            with self.guarding(node):
                self.write(owner, (), self.sym(args[0]), node)
            return Obj(None)
        if isinstance(owner, (Ref, Num)):
            path = f"numpy.ndarray.{name}"
            if path not in SURFACES:
                return self.refuse(
                    node, f"ndarray.{name} has no rule", "see docs/writing-a-rule.md"
                )
            args, kwargs, out = self.split_out(None, args, kwargs)
            result = self.call_surface(path, (owner, *args), kwargs, node)
            return result if out is None else self.write_out(result, out, node)
        if isinstance(owner, ListVal):
            return self._list_method(owner, name, args, kwargs, node)
        if isinstance(owner, DictVal):
            return self._dict_method(owner, name, args, kwargs, node)
        if isinstance(owner, InstanceVal):
            function = inspect.getattr_static(owner.cls, name, None)
            if isinstance(function, types.FunctionType):
                return self.call_function(Obj(function), (owner, *args), kwargs, node)
        if isinstance(owner, TupleVal) and name == "_replace" and owner.cls is not None:
            values = dict(zip(owner.cls._fields, owner.values))
            return TupleVal(tuple({**values, **kwargs}.values()), owner.cls)
        if isinstance(owner, Obj) and isinstance(owner.value, str):
            plain = [self.static(a, node, "an argument of a string method") for a in args]
            return self.constant(getattr(owner.value, name)(*plain))
        return self.refuse(node, f"{self.kind_of(owner)} has no method {name!r} here")

    def _list_method(self, owner: ListVal, name: str, args: Any, kwargs: Any, node: Any) -> Value:
        cell, content = owner.cell, self.state.heap[owner.cell]
        if name in ("append", "extend", "insert", "pop", "clear", "reverse"):
            self.refuse_effect(cell, node)
            self.refuse_shared(cell, node)
        if name == "append":
            (value,) = args
            if isinstance(content, Growing):
                self.state.heap[cell] = self._append(content, value, node)
            else:
                self.state.heap[cell] = Items((*content.values, value))
            return Obj(None)
        if name == "copy" and not args:
            return self._copy_list(content)
        if isinstance(content, Growing):
            return self._growing_method(cell, content, name, args, node)
        values = list(content.values)
        if name == "extend":
            items = self.static_items(args[0])
            if items is None:
                return self.refuse(
                    node, "extending by a run-time list is not supported", "append in a loop"
                )
            values += items
        elif name == "insert":
            values.insert(self.static(args[0], node, "a position"), args[1])
        elif name == "pop":
            position = self.static(args[0], node, "a position") if args else -1
            if not values:
                raise self.located(IndexError("pop from empty list"), node)
            result = values.pop(position)
            self.state.heap[cell] = Items(tuple(values))
            return result
        elif name == "reverse":
            values.reverse()
        elif name == "clear":
            values.clear()
        else:
            return self.refuse(node, f"list.{name} is not supported")
        self.state.heap[cell] = Items(tuple(values))
        return Obj(None)

    def _copy_list(self, content: Any) -> ListVal:
        copy = self.new_list(())
        self.state.heap[copy.cell] = content
        return copy

    def _append(self, content: Growing, value: Value, node: Any) -> Growing:
        elem = content.operand.type.elem
        if not isinstance(value, (Num, Ref)):
            self.refuse(
                node,
                "a list that grows in a loop may hold numbers or arrays only",
                "keep one list per field",
            )
        item = self.sym(value)
        if item.ndim != elem.ndim:
            self.refuse(
                node,
                "a list that grows in a loop must hold elements of one rank",
                "keep one list per rank",
            )
        if isinstance(value, Ref):
            self.appended.add(value.cell)
        content = self.widened(content, item.type, node)
        elem = content.operand.type.elem
        with self.guarding(node):
            grown = self.b.emit("list_append", content.operand, item.astype(elem.dtype))
        return Growing(grown.operand)

    def _growing_method(
        self, cell: Any, content: Growing, name: str, args: Any, node: Any
    ) -> Value:
        if name == "pop" and not args:
            count = self.b.emit("list_len", content.operand)
            self.b.check(count > 0, "IndexError", "pop from empty list")
            last = self.b.emit("list_get", content.operand, count - 1)
            self.state.heap[cell] = Growing(self.b.emit("list_drop", content.operand).operand)
            return self.wrap(last)
        return self.refuse(node, f"list.{name} is not supported on a list that grows in a loop")

    def _dict_method(self, owner: DictVal, name: str, args: Any, kwargs: Any, node: Any) -> Value:
        content = self.state.heap[owner.cell]
        if name == "keys":
            return TupleVal(tuple(self.constant(k) for k in content.keys))
        if name == "values":
            return TupleVal(content.values)
        if name == "items":
            pairs = zip(content.keys, content.values)
            return TupleVal(tuple(TupleVal((self.constant(k), v)) for k, v in pairs))
        if name == "get":
            key = self.static(args[0], node, "a dict key")
            if key in content.keys:
                return content.values[content.keys.index(key)]
            return args[1] if len(args) > 1 else Obj(None)
        if name == "copy":
            return self.new_dict(content.keys, content.values)
        if name == "update":
            other = self.call_dict(args, kwargs, node)
            added = self.state.heap[other.cell]
            for key, value in zip(added.keys, added.values):
                self.store_item(owner, self.constant(key), value, node)
            return Obj(None)
        return self.refuse(node, f"dict.{name} is not supported")

    # ---- classes

    def construct(self, cls: Any, args: Any, kwargs: Any, node: Any) -> Value:
        if hasattr(cls, "_fields") and tuple in cls.__mro__:
            defaults = {k: self.constant(v) for k, v in cls._field_defaults.items()}
            values = {**defaults, **dict(zip(cls._fields, args)), **kwargs}
            if len(args) > len(cls._fields) or set(values) != set(cls._fields):
                raise self.located(
                    TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}"), node
                )
            return TupleVal(tuple(values[f] for f in cls._fields), cls)
        if _is_plain_dataclass(cls):
            fields = dataclasses.fields(cls)
            try:
                bound = inspect.signature(cls).bind(*args, **kwargs)
            except TypeError as error:
                raise self.located(TypeError(str(error)), node) from None
            values = []
            for f in fields:
                if f.name in bound.arguments:
                    values.append(bound.arguments[f.name])
                elif f.default is not dataclasses.MISSING:
                    values.append(self.constant(f.default))
                elif f.default_factory in (list, dict):
                    values.append(
                        self.new_list(()) if f.default_factory is list else self.new_dict((), ())
                    )
                else:
                    self.refuse(node, f"the default of {cls.__name__}.{f.name} is not supported")
            return self.new_instance(cls, tuple(f.name for f in fields), tuple(values))
        module = (cls.__module__ or "").split(".")[0]
        if module == "numba" or "jitclass" in str(type(cls)):
            try:
                refuse_foreign(cls)
            except UnsupportedError as error:
                raise self.refusal(node, error.message, error.advice) from None
            return self.refuse(node, f"{cls.__module__}.{cls.__name__} is not supported")
        return self.refuse(
            node,
            f"creating a {cls.__name__} here is not supported",
            "create it outside, or use a dataclass",
        )

    # ---- builtins

    def call_range(self, args: Any, kwargs: Any, node: Any) -> Any:
        numbers = [self._integer(a, node) for a in args]
        zero, one = self.constant(0), self.constant(1)
        if len(numbers) == 1:
            numbers = [zero, numbers[0], one]
        elif len(numbers) == 2:
            numbers = [*numbers, one]
        if len(numbers) != 3:
            raise self.located(TypeError("range expected 1 to 3 arguments"), node)
        step = numbers[2]
        if step.known is not None and step.known[0] == 0:
            raise self.located(ValueError("range() arg 3 must not be zero"), node)
        if step.known is None:
            self.b.check(
                Sym(self.b, step.operand) != 0, "ValueError", "range() arg 3 must not be zero"
            )
        return RangeVal(numbers[0], numbers[1], numbers[2])

    def _integer(self, value: Value, node: Any) -> Num:
        if isinstance(value, Ref) and self.ref_type(value).ndim == 0:
            value = self.index_value(value, (), node)
        if not isinstance(value, Num) or value.operand.type.dtype.startswith("float"):
            raise self.located(
                TypeError(
                    "'float' object cannot be interpreted as an integer"
                    if isinstance(value, Num)
                    else "an integer is required"
                ),
                node,
            )
        if value.operand.type.dtype != "int64":
            cast = Sym(self.b, value.operand).astype("int64").operand
            return Num(cast, value.known)
        return value

    def call_len(self, args: Any, kwargs: Any, node: Any) -> Value:
        (value,) = args
        if isinstance(value, Ref):
            array = self.sym(value)
            if array.ndim == 0:
                raise self.located(TypeError("len() of unsized object"), node)
            return self.size(array, 0)
        if isinstance(value, Rec):
            return self.wrap(self.b.emit("shape", value.operand, axis=0))
        if isinstance(value, ListVal) and isinstance(self.state.heap[value.cell], Growing):
            return self.wrap(self.b.emit("list_len", self.state.heap[value.cell].operand))
        if isinstance(value, RangeVal):
            return self.range_count(value)
        items = self.static_items(value)
        if items is None:
            raise self.located(TypeError(f"{self.kind_of(value)} has no len()"), node)
        return self.constant(len(items))

    def call_slice(self, args: Any, kwargs: Any, node: Any) -> Value:
        parts = [None if isinstance(a, Obj) and a.value is None else a for a in args]
        parts = [None, parts[0], None] if len(parts) == 1 else [*parts, None][:3]
        return SliceVal(*parts)

    def call_enumerate(self, args: Any, kwargs: Any, node: Any) -> Value:
        start = kwargs.get("start") or (args[1] if len(args) > 1 else self.constant(0))
        return EnumerateVal(args[0], start)

    def call_zip(self, args: Any, kwargs: Any, node: Any) -> Value:
        if kwargs.keys() - {"strict"}:
            self.refuse(node, "this keyword of zip is not supported")
        return ZipVal(tuple(args))

    def call_reversed(self, args: Any, kwargs: Any, node: Any) -> Value:
        (value,) = args
        if isinstance(value, RangeVal):
            return dataclasses.replace(value, reverse=not value.reverse)
        items = self.static_items(value)
        if items is not None:
            return TupleVal(tuple(items[::-1]))
        if isinstance(value, Ref):
            none = None
            flipped = (("slice", none, none, self.constant(-1).operand),)
            flipped += (("all",),) * (self.ref_type(value).ndim - 1)
            return self.index_value(value, flipped, node)
        return self.refuse(node, f"reversed of {self.kind_of(value)} is not supported")

    def call_isinstance(self, args: Any, kwargs: Any, node: Any) -> Value:
        value, classes = args
        wanted = self.static(classes, node, "the class")
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        return self.constant(any(issubclass(self.class_of(value), c) for c in wanted))

    def class_of(self, value: Value) -> type:
        if isinstance(value, Ref):
            return np.ndarray
        if isinstance(value, Num):
            type_ = value.operand.type
            if type_.dtype == "bool":
                return bool
            if type_.weak:
                return int if type_.dtype == "int64" else float
            return np.dtype(type_.dtype).type
        if isinstance(value, (InstanceVal,)):
            return value.cls
        plain = {TupleVal: tuple, ListVal: list, DictVal: dict, RangeVal: range}
        if isinstance(value, TupleVal) and value.cls is not None:
            return value.cls
        return plain.get(type(value)) or type(getattr(value, "value", None))

    def call_type(self, args: Any, kwargs: Any, node: Any) -> Value:
        return Obj(self.class_of(args[0]))

    def call_callable(self, args: Any, kwargs: Any, node: Any) -> Value:
        value = args[0]
        return self.constant(
            isinstance(value, (Closure, Bound, Partial))
            or (isinstance(value, Obj) and callable(value.value))
        )

    def call_hasattr(self, args: Any, kwargs: Any, node: Any) -> Value:
        owner, name = args[0], self.static(args[1], node, "the attribute's name")
        if isinstance(owner, InstanceVal):
            keys = self.state.heap[owner.cell].keys
            return self.constant(name in keys or hasattr(owner.cls, name))
        if isinstance(owner, Obj):
            return self.constant(hasattr(owner.value, name))
        return self.constant(hasattr(self.class_of(owner), name))

    def call_getattr(self, args: Any, kwargs: Any, node: Any) -> Value:
        name = self.static(args[1], node, "the attribute's name")
        if len(args) > 2 and not self.call_hasattr(args[:2], {}, node).known[0]:
            return args[2]
        return self.attribute(args[0], name, node)

    def call_tuple(self, args: Any, kwargs: Any, node: Any) -> Value:
        if not args:
            return TupleVal(())
        items = self.static_items(args[0])
        if items is None:
            return self.refuse(
                node, "the length of this tuple is known only at run time", "use an array"
            )
        return TupleVal(tuple(items))

    def call_list(self, args: Any, kwargs: Any, node: Any) -> Value:
        if not args:
            return self.new_list(())
        if isinstance(args[0], ListVal):
            return self._copy_list(self.state.heap[args[0].cell])
        if isinstance(args[0], Ref) and self.ref_type(args[0]).ndim == 1:
            cell = Cell()
            self.state.heap[cell] = Growing(self.b.emit("list_unstack", self.sym(args[0])).operand)
            return ListVal(cell)
        items = self.static_items(args[0])
        if items is None:
            return self.refuse(
                node, "the length of this list is known only at run time", "append in a loop"
            )
        return self.new_list(tuple(items))

    def call_dict(self, args: Any, kwargs: Any, node: Any) -> Value:
        keys: dict[Any, Value] = {}
        if args:
            if isinstance(args[0], DictVal):
                content = self.state.heap[args[0].cell]
                keys = dict(zip(content.keys, content.values))
            else:
                items = self.static_items(args[0])
                if items is None:
                    return self.refuse(node, "a dict needs keys that are known while compiling")
                for item in items:
                    k, v = self.static_items(item)
                    keys[self.static(k, node, "a dict key")] = v
        keys.update(kwargs)
        return self.new_dict(tuple(keys), tuple(keys.values()))

    def call_map(self, args: Any, kwargs: Any, node: Any) -> Value:
        function, *iterables = args
        sequences = ZipVal(tuple(iterables))
        items = self.static_items(sequences)
        if items is not None:
            return self.new_list(tuple(self.call(function, i.values, {}, node) for i in items))
        made, element = (
            self.fresh_name(f"mapped_L{node.lineno}"),
            self.fresh_name(f"element_L{node.lineno}"),
        )
        self.state.env[made] = self.new_list((), made)

        def body() -> bool:
            values = self.state.env.pop(element).values
            value = self.call(function, values, {}, node)
            self.call_method(self.state.env[made], "append", (value,), {}, node)
            return False

        target = ast.copy_location(ast.Name(element, ast.Store()), node)
        self.for_each(target, sequences, body, None, node)
        return self.usable(self.state.env.pop(made), node)

    def call_sum(self, args: Any, kwargs: Any, node: Any) -> Value:
        value, *rest = args
        start = rest[0] if rest else kwargs.get("start")
        if isinstance(value, (Ref, Num)):
            return (
                NotImplemented
                if start is None
                else self.binary(
                    "add",
                    start,
                    self.call_surface("numpy.sum", (value,), {"axis": self.constant(0)}, node),
                    node,
                )
            )
        items = self.static_items(value)
        if items is None and isinstance(value, ListVal):
            stacked = self.b.emit("list_stack", self.state.heap[value.cell].operand)
            total = self.b.emit("sum", stacked, axis=(0,), keepdims=False)
            result = self.wrap(total)
            return result if start is None else self.binary("add", start, result, node)
        if items is None:
            return NotImplemented
        total_value = start if start is not None else self.constant(0)
        for item in items:
            total_value = self.binary("add", total_value, item, node)
        return total_value

    def call_any(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._fold_bools(args[0], self.lazy_or, False, node)

    def call_all(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._fold_bools(args[0], self.lazy_and, True, node)

    def _fold_bools(self, value: Value, combine: Any, empty: bool, node: Any) -> Value:
        if isinstance(value, ListVal) and self.static_items(value) is None:
            value = self.wrap(self.b.emit("list_stack", self.state.heap[value.cell].operand))
        if isinstance(value, Ref):
            return self.call_surface("numpy.all" if empty else "numpy.any", (value,), {}, node)
        items = self.static_items(value)
        if items is None:
            return self.refuse(node, "this needs a sequence")
        total: Value = self.constant(empty)
        for item in items:
            total = combine(total, lambda item=item: item, node)
        return self.truth(total, node)

    def call_max(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._extreme("max", args, node)

    def call_min(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._extreme("min", args, node)

    def _extreme(self, name: str, args: Any, node: Any) -> Value:
        if len(args) == 1 and not isinstance(args[0], Ref):
            items = self.static_items(args[0])
            if items is None and isinstance(args[0], ListVal):
                stacked = self.wrap(
                    self.b.emit("list_stack", self.state.heap[args[0].cell].operand)
                )
                return self.call_surface(f"numpy.{name}", (stacked,), {}, node)
            if items is None:
                return NotImplemented
            args = tuple(items)
            if not args:
                raise self.located(ValueError(f"{name}() arg is an empty sequence"), node)
        if all(isinstance(a, Num) and a.known is not None for a in args):
            pick = max if name == "max" else min
            return pick(args, key=lambda a: a.known[0])
        if len(args) == 1:
            return args[0] if isinstance(args[0], Num) else NotImplemented
        return self.call_surface(f"builtins.{name}", args, {}, node)

    def call_int(self, args: Any, kwargs: Any, node: Any) -> Value:
        if args and isinstance(args[0], Num) and args[0].known is not None:
            return self.constant(int(args[0].known[0]))
        return NotImplemented

    def call_float(self, args: Any, kwargs: Any, node: Any) -> Value:
        if args and isinstance(args[0], Obj) and isinstance(args[0].value, str):
            return self.constant(float(args[0].value))
        if (
            args
            and isinstance(args[0], Num)
            and isinstance(args[0].operand.type.dtype, str)
            and args[0].known is not None
        ):
            return self.constant(float(args[0].known[0]))
        return NotImplemented

    def call_bool(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self.truth(args[0], node) if args else self.constant(False)

    def call_print(self, node: ast.Call) -> Value:
        parts = tuple(self.print_part(a) for a in node.args)
        options = {}
        for keyword in node.keywords:
            if keyword.arg not in ("sep", "end"):
                self.refuse(keyword.value, f"print({keyword.arg}=…) is not supported")
            options[keyword.arg] = self.static(self.eval(keyword.value), keyword.value, "this text")
        self.b.block.append(
            Print(parts, options.get("sep", " "), options.get("end", "\n"), self.b.origin)
        )
        return Obj(None)

    def print_part(self, node: ast.expr) -> Any:
        if isinstance(node, ast.JoinedStr):
            return tuple(self.message_parts(node))
        value = self.eval(node)
        if isinstance(value, (Num, Ref)):
            return self.sym(value).operand
        if isinstance(value, Obj):
            return str(value.value)
        return self.refuse(
            node, f"printing {self.kind_of(value)} is not supported", "print its parts"
        )

    def message_parts(self, node: ast.JoinedStr) -> list[Any]:
        """The texts and numbers of an f-string."""
        parts: list[Any] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue)
            value = self.eval(part.value)
            spec = (
                "".join(
                    str(v.value) for v in part.format_spec.values if isinstance(v, ast.Constant)
                )
                if isinstance(part.format_spec, ast.JoinedStr)
                else ""
            )
            if isinstance(value, Num) and value.known is None:
                parts.append((value.operand, spec) if spec else value.operand)
            elif isinstance(value, Ref):
                parts.append(self.sym(value).operand)
            elif isinstance(value, TupleVal) and any(
                isinstance(v, Num) and v.known is None for v in value.values
            ):
                parts.append("(")
                for i, v in enumerate(value.values):
                    parts += [", "] if i else []
                    parts.append(v.operand if isinstance(v, Num) else str(v))
                parts.append(",)" if len(value.values) == 1 else ")")
            else:
                parts.append(format(self.static(value, part, "a formatted value"), spec))
        return parts


def _is_library(function: Any) -> bool:
    module = (getattr(function, "__module__", None) or "").split(".")[0]
    libraries = ("numpy", "scipy", "numba", "pandas", "jax", "torch", "tensorflow")
    return module in libraries or module in sys.stdlib_module_names


def _is_plain_dataclass(cls: Any) -> bool:
    return dataclasses.is_dataclass(cls) and not hasattr(cls, "__post_init__")


def _is_add_at(value: Any) -> bool:
    return getattr(value, "__name__", "") == "at" and getattr(value, "__self__", None) is np.add


class _Guarding:
    """Gives errors of rules and builders their place in the user's source."""

    def __init__(self, owner: Any, node: ast.AST, path: str) -> None:
        self.owner, self.node, self.path = owner, node, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, _: Any) -> bool:
        if error is None:
            return False
        if isinstance(error, NeedStatic):
            self.owner.demand_static(Num(error.sym.operand), self.node, error.what)
        if isinstance(error, S2SError):
            if error.span is None or not error.source_line:
                raise self.owner.refusal(
                    self.node, error.message, error.advice, type(error)
                ) from None
            return False
        if isinstance(error, TypeError) and self.path and "argument" in str(error):
            message = f"{self.path}: {str(error).split(') ', 1)[-1]}"
            raise self.owner.refusal(self.node, message, "", UnsupportedError) from None
        if isinstance(error, (TypeError, ValueError, IndexError, OverflowError)) and not hasattr(
            error, "lineno"
        ):
            raise self.owner.located(error, self.node) from None
        return False
