"""Calls: NumPy functions become operations, the user's functions are inlined."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...frontend.pytree import Path
from ...frontend.replacements import replacement
from ...frontend.signature import signature, why_not_read
from ...frontend.source import read
from ...ir.errors import S2SError, S2STypeError
from ...ir.nodes import Array
from ...ir.record import record
from ...rules import SURFACES
from ...rules.library.fill import copy_where
from ...rules.promotion import result_dtype
from ...syntax import core
from ..control.joins import Joins
from ..control.updates import Updates
from ..derivatives.derivative_calls import DerivativeCalls
from ..derivatives.tracing import DerivedVal
from ..dispatch import evaluates, table
from ..frames import Frames
from ..heap.arrays import Arrays
from ..operations.formatting import Formatting
from ..operations.iterators import Iterators
from ..operations.operators import Operators
from ..outline import Outlines
from ..outside.builds import Builds
from ..outside.object_attributes import ObjectAttributes
from ..outside.objects import Objects
from ..places import Places
from ..session import Part, fixed
from ..shared import Callee
from ..signatures import misfit
from ..surface.guards import Guards
from ..surface.indexing import Indexing, plain_items
from ..surface.library_calls import LibraryCalls
from ..surface.surface_calls import SurfaceCalls
from ..values import (
    Args,
    Bound,
    Closure,
    DictVal,
    InstanceVal,
    Kwargs,
    Num,
    Obj,
    Partial,
    PyObject,
    Ref,
    TupleVal,
    Value,
    constant,
    kind_text,
)
from .instances import Instances
from .kept_calls import KeptCalls
from .numpy_calls import NumpyCalls
from .python_calls import PythonCalls
from .sequence_calls import SequenceCalls
from .vectorized import Vectorized


@functools.lru_cache(maxsize=1)
def surfaces_by_function() -> dict[int, str]:
    """The path of each function that has a surface, by identity."""
    import importlib

    found: dict[int, str] = {}
    for path in SURFACES:
        if path.startswith(("numpy.ndarray.", "scipy.")):
            continue
        module, _, name = path.rpartition(".")
        try:
            value = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
        found.setdefault(id(value), path)
    return found


def surface_of(value: Any) -> str | None:
    """The path of a function's surface.  SciPy is not imported to find out."""
    path = surfaces_by_function().get(id(value))
    if path is None:
        name = getattr(value, "__name__", "")
        for module in ("scipy.special", "scipy.linalg", "scipy.fft"):
            own = getattr(sys.modules.get(module), name, None)
            if own is value and f"{module}.{name}" in SURFACES:
                return f"{module}.{name}"
    return path


# Python's own functions that run over all their arguments
ITERATING: tuple[Any, ...] = (
    all,
    any,
    enumerate,
    filter,
    list,
    map,
    max,
    min,
    reversed,
    sorted,
    sum,
    tuple,
    zip,
)


# Those that take all elements at once
CONSUMING: tuple[Any, ...] = (dict, list, max, min, sorted, sum, tuple)


@record(eq=False)
class Calls(Part):
    """Calls by what is called: a surface, a builtin function, a function of the user's."""

    sequence_calls: SequenceCalls
    places: Places
    arrays: Arrays
    joins: Joins
    updates: Updates
    objects: Objects
    object_attributes: ObjectAttributes
    builds: Builds
    guards: Guards
    indexing: Indexing
    surface_calls: SurfaceCalls
    library_calls: LibraryCalls
    operators: Operators
    iterators: Iterators
    formatting: Formatting
    frames: Frames
    outline: Outlines
    kept: KeptCalls
    derivative_calls: DerivativeCalls
    vectorized: Vectorized
    python_calls: PythonCalls
    numpy_calls: NumpyCalls
    instances: Instances
    builtins: dict[int, Callable[..., Value]] = fixed()

    def __post_init__(self) -> None:
        super().__post_init__()
        found = table("builtin", self.python_calls, self.sequence_calls)
        self.builtins = {id(function): method for function, method in found.items()}

    @evaluates(core.Call)
    def eval_Call(self, node: core.Call) -> Value:
        callee = self.evaluator.eval(node.function)
        if isinstance(callee, Obj) and callee.value is print:
            return self.formatting.call_print(node)
        args = self.evaluator.elements(node.args)
        kwargs: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.name is not None:
                kwargs[keyword.name] = self.evaluator.eval(keyword.value)
                continue
            extra = self.evaluator.eval(keyword.value)
            if not isinstance(extra, DictVal):
                self.places.refuse(keyword.value, "`**` needs a dict whose keys are known")
            content = self.state.heap[extra.cell]
            kwargs.update(zip(content.keys, content.values))
        return self.call(callee, tuple(args), kwargs, node)

    def call(self, callee: Value, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if isinstance(callee, Closure):
            return self.call_closure(callee, args, kwargs, node)
        if isinstance(callee, Bound):
            return self.evaluator.call_method(callee.owner, callee.name, args, kwargs, node)
        if isinstance(callee, Partial):
            return self.call(
                callee.function, (*callee.args, *args), {**dict(callee.kwargs), **kwargs}, node
            )
        if isinstance(callee, DerivedVal):
            return self.derivative_calls.call_derived(callee, args, kwargs, node)
        if isinstance(callee, InstanceVal):
            return self.evaluator.call_method(callee, "__call__", args, kwargs, node)
        if not isinstance(callee, Obj):
            raise self.places.refusal(
                node, f"{kind_text(callee)} is not callable", "", S2STypeError
            )
        return self.call_object(callee, args, kwargs, node)

    def call_object(self, callee: Obj, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        value = callee.value
        given = replacement(value)
        if given is not None:
            return self.call(self.objects.lift(*given), args, kwargs, node)
        builtin = self.builtins.get(id(value))
        if builtin is not None:
            self.must_fit(value, args, kwargs, node)
            if value in ITERATING:
                args = tuple(self.operators.iterated(a, node) for a in args)
            if value in CONSUMING:
                args = tuple(self.iterators.whole(a, node) for a in args)
            result = builtin(args, kwargs, node)
            if result is not NotImplemented:
                return result
        path = surface_of(value)
        if path is not None:
            self.must_fit(value, args, kwargs, node)
            args, kwargs, out = self.library_calls.split_out(value, args, kwargs, node)
            if out is not None and isinstance(value, np.ufunc) and "where" in kwargs:
                mask = kwargs.pop("where")
                result = self.surface_calls.call_surface(path, args, kwargs, node)
                result = self.surface_calls.call_surface(
                    "numpy.where", (mask, result, out), {}, node
                )
                return self.library_calls.write_out(result, out, node)
            result = self.surface_calls.call_surface(path, args, kwargs, node)
            exact = not isinstance(value, np.ufunc)
            return result if out is None else self.library_calls.write_out(result, out, node, exact)
        if getattr(value, "__name__", "") == "prange":
            self.must_fit(range, args, kwargs, node)
            made = self.python_calls.call_range(args, kwargs, node)
            return dataclasses.replace(made, parallel=True)
        if value is np.copyto or _is_add_at(value):
            return self._numpy_in_place(value, args, kwargs, node)
        result = self.numpy_calls.call_numpy(value, args, kwargs, node)
        if result is not NotImplemented:
            return result
        if value is functools.partial:
            if not args:
                text = "type 'partial' takes at least one argument"
                raise self.places.located(TypeError(text), node)
            return Partial(args[0], tuple(args[1:]), tuple(kwargs.items()))
        if value is functools.wraps:
            return Partial(Obj(functools.update_wrapper), (), (("wrapped", args[0]),))
        if hasattr(value, "_s2s_mode"):
            return self._call_s2s(callee, args, kwargs, node)
        if hasattr(value, "_s2s_transform"):
            return self.derivative_calls.make_derived(callee, args, kwargs, node)
        derived = self.derivative_calls.derived_of(callee)
        if derived is not None:
            return self.derivative_calls.call_derived(derived, args, kwargs, node)
        if reason := why_not_read(value):
            return self.places.refuse(node, *reason)
        scalar_function = getattr(getattr(value, "_dispatcher", None), "py_func", None)
        if scalar_function is not None:
            if len(args) > value.nin:
                self.places.refuse(
                    node,
                    "a vectorized function that is given an array for its result",
                    "assign the result",
                )
            args = self.library_calls.as_declared(value, args, node)
            return self.vectorized.call_vectorized(Obj(scalar_function), args, kwargs, node)
        if hasattr(value, "py_func"):
            inner = Obj(value.py_func, (*callee.path, (".", "py_func")) if callee.path else ())
            return self.call_function(inner, args, kwargs, node)
        if isinstance(value, functools._lru_cache_wrapper):
            path = (*callee.path, (".", "__wrapped__")) if callee.path else ()
            return self.call_function(Obj(value.__wrapped__, path), args, kwargs, node)
        if isinstance(value, functools.partial):
            parts = tuple(
                self.objects.lift(v, (*callee.path, (".", "args"), ("[]", i)))
                for i, v in enumerate(value.args)
            )
            named = {
                k: self.objects.lift(v, (*callee.path, (".", "keywords"), ("[]", k)))
                for k, v in value.keywords.items()
            }
            inner = self.objects.lift(value.func, (*callee.path, (".", "func")))
            return self.call(inner, (*parts, *args), {**named, **kwargs}, node)
        if type(getattr(value, "__self__", None)).__module__.startswith("numpy"):
            return self.surface_calls.no_rule(value, node)
        if isinstance(value, types.MethodType):
            if _is_library(value.__func__):
                return self.surface_calls.no_rule(value, node)
            owner, function = self._bound_method_parts(value, callee.path)
            return self.call_function(function, (owner, *args), kwargs, node)
        if isinstance(value, types.FunctionType):
            return self._call_python(callee, args, kwargs, node)
        if isinstance(value, type):
            return self.instances.construct(value, args, kwargs, node)
        call = inspect.getattr_static(type(value), "__call__", None)
        if isinstance(call, types.FunctionType):
            self.object_attributes.guard_class(callee, call, "__call__")
            return self.call_function(Obj(call), (callee, *args), kwargs, node)
        return self.surface_calls.no_rule(value, node)

    def _bound_method_parts(self, method: types.MethodType, path: Path) -> tuple[Value, Obj]:
        """The object a bound method belongs to, which need not be the one that holds it, and the
        function behind it."""
        owner, function = method.__self__, method.__func__
        if not path:
            return Obj(owner), Obj(function)
        holder, (step, name) = self.objects.known(path[:-1]), path[-1]
        at = (*path, (".", "__func__"))
        if isinstance(owner, type):
            return self.objects.class_value(owner, (*path, (".", "__self__"))), Obj(function, at)
        if isinstance(holder, Obj) and holder.value is owner and step == ".":
            if getattr(type(owner), name, None) is function:
                return holder, Obj(function, at)
        self.objects.lift(function, at)  # another function may take its place
        return self.objects.lift(owner, (*path, (".", "__self__"))), Obj(function, at)

    def _call_python(self, callee: Obj, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if _is_library(callee.value):
            return self.surface_calls.no_rule(callee.value, node)
        return self.call_function(callee, args, kwargs, node)

    def _call_s2s(self, callee: Obj, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """A decorated function called from another: a compiled one is simply inlined."""
        value = callee.value
        if any(f.function is value.python for f in self.places.frames()):
            name = value.python.__name__
            return self.places.refuse(
                node,
                f"here {name} is its gradient, not the function itself",
                f"leave {name} undecorated and write g = s2s.grad({name})",
            )
        path = (*callee.path, (".", "_derivation")) if callee.path else ()
        return self.call(Obj(value._derivation, path), args, kwargs, node)

    # ---- operations

    def must_fit(self, function: PyObject, args: Args, kwargs: Kwargs, node: core.Node) -> None:
        """Raises a TypeError, as Python does, for arguments that a function does not take."""
        problem = misfit(function, args, kwargs)
        if problem and self.joins.runtime_depth:
            raise self.places.located(TypeError(problem), node)  # if the run comes here
        if problem:
            raise self.places.refusal(
                node, problem, "call it as its documentation says", S2STypeError
            )

    def _numpy_in_place(self, value: Any, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if value is np.copyto and len(args) == 2 and isinstance(args[0], Ref) and not kwargs:
            with self.guards.guarding(node):
                self.updates.write(args[0], (), self.arrays.sym(args[1]), node)
            return Obj(None)
        if value is np.copyto and len(args) == 2 and isinstance(args[0], Ref) and "where" in kwargs:
            return self.call_function(Obj(copy_where), args, kwargs, node)
        if _is_add_at(value) and len(args) == 3 and isinstance(args[0], Ref) and not kwargs:
            ref, (_, index, addend) = args[0], args
            if not isinstance(addend, (Num, Ref)):
                addend = self.indexing.as_array(addend, node)
            items = self.indexing.index_items(ref, index, node)
            with self.guards.guarding(node):
                have, want = self.arrays.sym(addend), self.arrays.ref_type(ref).dtype
                result = result_dtype("add", (Array(want, ()), have.type))
                if not np.can_cast(result, want, "same_kind"):
                    self.places.refuse(
                        node, f"np.add.at of {have.dtype} into {want}", "convert it first"
                    )
                self.updates.write(
                    ref, (("index", plain_items(items)),), self.arrays.sym(addend), node, add=True
                )
            return Obj(None)
        return self.surface_calls.no_rule(value, node)

    # ---- the user's functions

    def call_function(self, callee: Obj, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        function = callee.value
        if hasattr(function, "_s2s_build"):
            return self.builds.build_objects(function, args, kwargs, node)
        if hasattr(function, "_s2s_look"):
            return self.builds.look(function, args, kwargs, node)
        if hasattr(function, "_s2s_instead"):
            if hasattr(function, "_s2s_tensors"):
                inner = Obj(function._s2s_instead)
                return self.arrays.as_tensor(self.call_object(inner, args, kwargs, node))
            return self.call_function(Obj(function._s2s_instead), args, kwargs, node)
        try:
            bound = signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise self.places.located(TypeError(f"{function.__name__}() {error}"), node) from None
        env = self._bound_arguments(bound, callee)
        source = self.shared.sources.get(function)
        if source is None:
            try:
                source = self.shared.sources[function] = read(function)
            except S2SError as error:
                raise self.places.refusal(node, error.message, error.advice, type(error)) from None
        # By whatever path it is reached, what it reads is read once.
        path = (
            ()
            if function is self.shared.main
            else self.shared.paths.setdefault(function, callee.path)
        )
        known = Callee(function, function, source, function, path, None)
        self.kept.must_not_recur(function)
        if self.frames.stays_call(function):
            return self.outline.call_outlined(known, env, node)
        kept = self.kept.call(known, env, node)
        if kept is not None:
            return kept
        return self.frames.run_function(source, function, path, env, None, function, node)

    def _bound_arguments(self, bound: inspect.BoundArguments, callee: Obj) -> dict[str, Value]:
        env: dict[str, Value] = {}
        for name, parameter in bound.signature.parameters.items():
            if name in bound.arguments:
                value = bound.arguments[name]
                if parameter.kind is parameter.VAR_POSITIONAL:
                    value = TupleVal(tuple(value))
                elif parameter.kind is parameter.VAR_KEYWORD:
                    value = self.arrays.new_dict(tuple(value), tuple(value.values()))
            elif parameter.kind is parameter.VAR_POSITIONAL:
                value = TupleVal(())
            elif parameter.kind is parameter.VAR_KEYWORD:
                value = self.arrays.new_dict((), ())
            else:
                value = self._default(callee, name, parameter.default)
            env[name] = value
        return env

    def _default(self, callee: Obj, name: str, default: Any) -> Value:
        function = callee.value
        plain = isinstance(default, (bool, int, float, str, type(None)))
        if callee.path and function.__kwdefaults__ and name in function.__kwdefaults__:
            place = (
                *callee.path,
                (".", "__kwdefaults__"),
                ("[]", name),
            )  # in a dict: it may change
            return self.objects.lift(default, place, static=plain)
        if plain:
            return constant(default)
        if callee.path:
            names = list(signature(function).parameters)
            code = function.__code__
            first = code.co_argcount - len(function.__defaults__ or ())
            return self.objects.lift(
                default, (*callee.path, (".", "__defaults__"), ("[]", names.index(name) - first))
            )
        return constant(default)

    def call_closure(self, closure: Closure, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        frame = closure.frame
        source = dataclasses.replace(frame.source, node=closure.node, checked=closure.node)
        place = source.span(closure.node)
        env = self._bind_closure(closure, args, kwargs, node)
        callee = Callee(closure, place, source, frame.function, frame.path, frame)
        self.kept.must_not_recur(place)
        if self.frames.stays_call(place):
            return self.outline.call_outlined(callee, env, node)
        kept = self.kept.call(callee, env, node)
        if kept is not None:
            return kept
        return self.frames.run_function(source, frame.function, frame.path, env, frame, place, node)

    def _bind_closure(
        self, closure: Closure, args: Args, kwargs: Kwargs, node: core.Node
    ) -> dict[str, Value]:
        params, Parameter = closure.node.params, inspect.Parameter
        defaults = closure.named_defaults
        star = () if params.star is None else (params.star,)
        star_star = () if params.star_star is None else (params.star_star,)
        groups = (
            (params.positional_only, Parameter.POSITIONAL_ONLY),
            (params.plain, Parameter.POSITIONAL_OR_KEYWORD),
            (star, Parameter.VAR_POSITIONAL),
            (params.keyword_only, Parameter.KEYWORD_ONLY),
            (star_star, Parameter.VAR_KEYWORD),
        )
        parameters = [
            Parameter(p.name, kind, default=p.name if p.name in defaults else Parameter.empty)
            for group, kind in groups
            for p in group
        ]
        try:
            bound = inspect.Signature(parameters).bind(*args, **kwargs)
        except TypeError as error:
            raise self.places.located(TypeError(str(error)), node) from None
        env = {}
        for p in parameters:
            if p.name in bound.arguments:
                value = bound.arguments[p.name]
                if p.kind is p.VAR_POSITIONAL:
                    value = TupleVal(tuple(value))
                elif p.kind is p.VAR_KEYWORD:
                    value = self.arrays.new_dict(tuple(value), tuple(value.values()))
            elif p.kind is p.VAR_POSITIONAL:
                value = TupleVal(())
            elif p.kind is p.VAR_KEYWORD:
                value = self.arrays.new_dict((), ())
            elif closure.frame.owner is not self.frames:
                value = self.frames.captured(closure, p.name)
            else:
                value = defaults[p.name]
            env[p.name] = value
        return env


def _is_library(function: Any) -> bool:
    module = (getattr(function, "__module__", None) or "").split(".")[0]
    libraries = ("numpy", "scipy", "numba", "pandas", "jax", "torch", "tensorflow")
    return module in libraries or module in sys.stdlib_module_names


def _is_add_at(value: Any) -> bool:
    return getattr(value, "__name__", "") == "at" and getattr(value, "__self__", None) is np.add
