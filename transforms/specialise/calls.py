"""Calls: NumPy functions become operations, the user's functions are inlined."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
import types
from typing import Any

import numpy as np

from ..frontend.pytree import Path
from ..frontend.replacements import replacement
from ..frontend.signature import signature, why_not_read
from ..frontend.source import read
from ..ir.builder import Sym
from ..ir.complex_ops import refuse_complex
from ..ir.errors import S2SError, S2STypeError, UnsupportedError
from ..ir.nodes import Array
from ..ir.op_registry import NeedStatic
from ..ir.path_kinds import dtype_kind
from ..ir.record import record
from ..rules import SURFACES
from ..rules.integer_arguments import convert_integer_arguments
from ..rules.library.fill import copy_where
from ..rules.numpy.joining import cast_operand
from ..rules.promotion import result_dtype
from ..syntax import core
from .arrays import Arrays
from .derived import Derivatives, DerivedVal
from .effects import Effects
from .expressions import Expressions
from .indexing import Indexing, plain_items
from .instances import Instances
from .iterators import Iterators
from .joins import Joins
from .numpy_calls import NumpyCalls, path_of
from .objects import Objects
from .operators import Operators
from .outline import Outlines
from .places import Places
from .session import Part
from .shared import Callee
from .signatures import misfit
from .values import (
    RANK_0,
    Bound,
    Closure,
    DictVal,
    Growing,
    InstanceVal,
    IterVal,
    ListVal,
    Num,
    Obj,
    Partial,
    RangeVal,
    Rec,
    Ref,
    RngVal,
    TupleVal,
    Value,
    ViewVal,
    constant,
    kind_text,
)

JOINS = ("numpy.stack", "numpy.concatenate", "numpy.vstack", "numpy.hstack")


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

    places: Places
    arrays: Arrays
    joins: Joins
    expressions: Expressions
    outline: Outlines
    objects: Objects
    operators: Operators
    indexing: Indexing
    iterators: Iterators
    derived: Derivatives
    effects: Effects
    instances: Instances
    numpy_calls: NumpyCalls

    def eval_Call(self, node: core.Call) -> Value:
        callee = self.expressions.eval(node.function)
        if isinstance(callee, Obj) and callee.value is print:
            return self.evaluator.python_calls.call_print(node)
        args = self.expressions.elements(node.args)
        kwargs: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.name is not None:
                kwargs[keyword.name] = self.expressions.eval(keyword.value)
                continue
            extra = self.expressions.eval(keyword.value)
            if not isinstance(extra, DictVal):
                self.places.refuse(keyword.value, "`**` needs a dict whose keys are known")
            content = self.state.heap[extra.cell]
            kwargs.update(zip(content.keys, content.values))
        return self.call(callee, tuple(args), kwargs, node)

    def call(
        self, callee: Value, args: tuple[Value, ...], kwargs: dict[str, Value], node: Any
    ) -> Value:
        if isinstance(callee, Closure):
            return self.call_closure(callee, args, kwargs, node)
        if isinstance(callee, Bound):
            return self.evaluator.call_method(callee.owner, callee.name, args, kwargs, node)
        if isinstance(callee, Partial):
            return self.call(
                callee.function, callee.args + args, {**dict(callee.kwargs), **kwargs}, node
            )
        if isinstance(callee, DerivedVal):
            return self.derived.call_derived(callee, args, kwargs, node)
        if isinstance(callee, InstanceVal):
            return self.evaluator.call_method(callee, "__call__", args, kwargs, node)
        if not isinstance(callee, Obj):
            raise self.places.refusal(
                node, f"{kind_text(callee)} is not callable", "", S2STypeError
            )
        return self.call_object(callee, args, kwargs, node)

    def call_object(self, callee: Obj, args: Any, kwargs: Any, node: Any) -> Value:
        value = callee.value
        given = replacement(value)
        if given is not None:
            return self.call(self.objects.lift(*given), args, kwargs, node)
        builtin = self.evaluator.builtin_methods.get(id(value))
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
            args, kwargs, out = self.numpy_calls.split_out(value, args, kwargs, node)
            if out is not None and isinstance(value, np.ufunc) and "where" in kwargs:
                mask = kwargs.pop("where")
                result = self.call_surface(path, args, kwargs, node)
                result = self.call_surface("numpy.where", (mask, result, out), {}, node)
                return self.numpy_calls.write_out(result, out, node)
            result = self.call_surface(path, args, kwargs, node)
            exact = not isinstance(value, np.ufunc)
            return result if out is None else self.numpy_calls.write_out(result, out, node, exact)
        if getattr(value, "__name__", "") == "prange":
            self.must_fit(range, args, kwargs, node)
            made = self.evaluator.python_calls.call_range(args, kwargs, node)
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
            return self.derived.make_derived(callee, args, kwargs, node)
        derived = self.derived.derived_of(callee)
        if derived is not None:
            return self.derived.call_derived(derived, args, kwargs, node)
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
            args = self.numpy_calls.as_declared(value, args, node)
            return self._call_vectorized(Obj(scalar_function), args, kwargs, node)
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
            return self.call(inner, parts + args, {**named, **kwargs}, node)
        if type(getattr(value, "__self__", None)).__module__.startswith("numpy"):
            return self._no_rule(value, node)
        if isinstance(value, types.MethodType):
            if _is_library(value.__func__):
                return self._no_rule(value, node)
            owner, function = self._taken_apart(value, callee.path)
            return self.call_function(function, (owner, *args), kwargs, node)
        if isinstance(value, types.FunctionType):
            return self._call_python(callee, args, kwargs, node)
        if isinstance(value, type):
            return self.instances.construct(value, args, kwargs, node)
        call = inspect.getattr_static(type(value), "__call__", None)
        if isinstance(call, types.FunctionType):
            self.objects.guard_class(callee, call, "__call__")
            return self.call_function(Obj(call), (callee, *args), kwargs, node)
        return self._no_rule(value, node)

    def _taken_apart(self, method: types.MethodType, path: Path) -> tuple[Value, Obj]:
        """The object a bound method belongs to, which need not be the one that holds it, and the
        function behind it."""
        owner, function = method.__self__, method.__func__
        if not path:
            return Obj(owner), Obj(function)
        holder, (step, name) = self.objects.lifted.get(path[:-1]), path[-1]
        at = (*path, (".", "__func__"))
        if isinstance(owner, type):
            return self.objects.class_value(owner, (*path, (".", "__self__"))), Obj(function, at)
        held_by_owner = isinstance(holder, Obj) and holder.value is owner
        if step == "." and held_by_owner and getattr(type(owner), name, None) is function:
            return holder, Obj(function, at)
        self.objects.lift(function, at)  # another function may take its place
        return self.objects.lift(owner, (*path, (".", "__self__"))), Obj(function, at)

    def _call_python(self, callee: Obj, args: Any, kwargs: Any, node: Any) -> Value:
        if _is_library(callee.value):
            return self._no_rule(callee.value, node)
        return self.call_function(callee, args, kwargs, node)

    def _call_vectorized(self, function: Value, args: Any, kwargs: Any, node: Any) -> Value:
        """A scalar function made a ufunc by `@vectorize`: a loop over the elements."""
        if kwargs or not all(isinstance(a, (Num, Ref)) for a in args):
            self.places.refuse(node, "a vectorized function takes numbers and arrays here")
        if all(isinstance(a, Num) for a in args):
            result = self.call(function, tuple(args), {}, node)
            return self.numpy_calls.of_rank_0(result)
        total = self.arrays.sym(args[0])
        for a in args[1:]:  # the sum has the shape all arguments are broadcast to
            total = self.b.emit("add", total, self.arrays.sym(a))
        flat = []
        for a in args:
            if isinstance(a, Num):
                flat.append(a)
                continue
            full = self.arrays.wrap(
                self.b.emit("copy", self.b.emit("broadcast_like", self.arrays.sym(a), total))
            )
            flat.append(self.call_surface("numpy.ravel", (full,), {}, node))
        size = self.arrays.wrap(
            self.b.emit(
                "shape", self.arrays.sym(next(f for f in flat if isinstance(f, Ref))), axis=0
            )
        )
        zero, one = constant(0), constant(1)
        with self.b.into([]):  # one element, to learn the result's dtype
            before = self.state.copy()
            first = [
                self.evaluator.statements.row(f, zero, node) if isinstance(f, Ref) else f
                for f in flat
            ]
            dtype = self.arrays.sym(self.call(function, tuple(first), {}, node)).dtype
            self.session.state = before
        out = self.arrays.wrap(self.b.emit("zeros", size.operand, dtype=dtype))
        index = core.Name(node.at, self.places.fresh_name(f"k_L{node.line}"))

        def body() -> bool:
            k = self.state.env.pop(index.id)
            elements = [
                self.evaluator.statements.row(f, k, node) if isinstance(f, Ref) else f for f in flat
            ]
            value = self.call(function, tuple(elements), {}, node)
            self.indexing.assign_index(out, (("int", k.operand),), value, node)
            return False

        self.evaluator.for_each(index, RangeVal(zero, size, one), body, None, node)
        return self.arrays.wrap(self.b.emit("reshape", self.arrays.sym(out), *total.shape))

    def _no_rule(self, value: Any, node: Any) -> Any:
        module = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
        name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
        text = f"{module}.{name}" if module and module != "builtins" else name
        known = path_of(value)
        if known:
            text = known
        elif "random" in str(type(getattr(value, "__self__", None))):
            text = f"numpy.random.{value.__name__}"
        return self.places.refuse(
            node,
            f"{text} has no rule, so it cannot be differentiated or compiled",
            "write it in NumPy, or teach it with s2s.defrule",
        )

    def _call_s2s(self, callee: Obj, args: Any, kwargs: Any, node: Any) -> Value:
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

    def must_fit(self, function: Any, args: Any, kwargs: Any, node: Any) -> None:
        """Raises a TypeError, as Python does, for arguments that a function does not take."""
        problem = misfit(function, args, kwargs)
        if problem and self.joins.runtime_depth:
            raise self.places.located(TypeError(problem), node)  # if the run comes here
        if problem:
            raise self.places.refusal(
                node, problem, "call it as its documentation says", S2STypeError
            )

    def call_surface(self, path: str, args: Any, kwargs: Any, node: Any) -> Value:
        if path in JOINS and args and self._is_growing(args[0]):
            return self._join_list(path, args, kwargs, node)
        refs = tuple(a for a in (*args, *kwargs.values()) if isinstance(a, Ref))
        result = self.arrays.wrap(self.surface_call(path, args, kwargs, node), refs)
        return self.numpy_calls.of_rank_0(result) if path in RANK_0 else result

    def _is_growing(self, value: Value) -> bool:
        return isinstance(value, ListVal) and isinstance(self.state.heap[value.cell], Growing)

    def _join_list(self, path: str, args: Any, kwargs: Any, node: Any) -> Value:
        """Joins the elements of a run-time list, whose count no surface can know."""
        known = inspect.signature(SURFACES[path]).parameters
        if any(k not in known for k in kwargs) or len(args) > ("axis" in known) + 1:
            self.places.refuse(
                node, f"{path} of a run-time list with these arguments", "leave them out"
            )
        axis = kwargs.get("axis") or (args[1] if len(args) > 1 else constant(0))
        axis = self.evaluator.python_calls.integer(axis, node)
        axis = self.expressions.static(axis, node, "the axis")
        stacked = self.b.emit("list_stack", self.state.heap[args[0].cell].operand)
        told = {
            k: self.expressions.static(v, node, k)
            for k, v in kwargs.items()
            if k in ("dtype", "casting")
        }
        with self.guarding(node):
            stacked = cast_operand(stacked, told.get("dtype"), told.get("casting", "same_kind"))
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

    def surface_call(self, path: str, args: Any, kwargs: Any, node: Any) -> Any:
        with self.guarding(node, path):
            plain = [self.to_surface(a, node) for a in args]
            named = {k: self.to_surface(v, node) for k, v in kwargs.items()}
            refuse_complex(path, *plain, *named.values())
            surface = SURFACES[path]
            plain, named = convert_integer_arguments(path, surface, plain, named)
            result = surface(self.b, *plain, **named)
            if self.b.least_kinds and isinstance(result, Sym):
                given = inspect.signature(surface).bind(self.b, *plain, **named).arguments
                if given.get("dtype") is not None:
                    self.b.set_least_kind(result.operand, dtype_kind(result.type))
            return result

    def to_surface(self, value: Value, node: Any) -> Any:
        """Run-time numbers and arrays as Syms, everything static as itself."""
        if isinstance(value, Num):
            if value.known is not None and not isinstance(value.known[0], (float, np.floating)):
                return value.known[0]
            return Sym(self.b, value.operand)
        if isinstance(value, (Ref, Rec)):
            return self.arrays.sym(value)
        if isinstance(value, RngVal):
            return Sym(self.b, value.operand)
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
        items = None if isinstance(value, ViewVal) else self.expressions.static_items(value)
        if items is not None:
            return [self.to_surface(v, node) for v in items]
        advice = "make a list of it: `list(...)`" if isinstance(value, (IterVal, ViewVal)) else ""
        return self.places.refuse(node, f"{kind_text(value)} cannot be passed here", advice)

    def guarding(self, node: core.Node, path: str = "") -> Any:
        return _Guarding(self.places, node, path)

    def _numpy_in_place(self, value: Any, args: Any, kwargs: Any, node: Any) -> Value:
        if value is np.copyto and len(args) == 2 and isinstance(args[0], Ref) and not kwargs:
            with self.guarding(node):
                self.arrays.write(args[0], (), self.arrays.sym(args[1]), node)
            return Obj(None)
        if value is np.copyto and len(args) == 2 and isinstance(args[0], Ref) and "where" in kwargs:
            return self.call_function(Obj(copy_where), args, kwargs, node)
        if _is_add_at(value) and len(args) == 3 and isinstance(args[0], Ref) and not kwargs:
            ref, index, addend = args
            if not isinstance(addend, (Num, Ref)):
                addend = self.indexing.as_array(addend, node)
            items = self.indexing.index_items(ref, index, node)
            with self.guarding(node):
                have, want = self.arrays.sym(addend), self.joins.ref_type(ref).dtype
                result = result_dtype("add", (Array(want, ()), have.type))
                if not np.can_cast(result, want, "same_kind"):
                    self.places.refuse(
                        node, f"np.add.at of {have.dtype} into {want}", "convert it first"
                    )
                self.arrays.write(
                    ref, (("index", plain_items(items)),), self.arrays.sym(addend), node, add=True
                )
            return Obj(None)
        return self._no_rule(value, node)

    # ---- the user's functions

    def call_function(self, callee: Obj, args: Any, kwargs: Any, node: Any) -> Value:
        function = callee.value
        if hasattr(function, "_s2s_build"):
            return self.effects.build_objects(function, args, kwargs, node)
        if hasattr(function, "_s2s_look"):
            return self.effects.look(function, args, kwargs, node)
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
        if self.outline.stays_call(function):
            known = Callee(function, function, source, function, path, None)
            return self.outline.call_outlined(known, env, node)
        return self.evaluator.run_function(source, function, path, env, None, function, node)

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

    def call_closure(self, closure: Closure, args: Any, kwargs: Any, node: Any) -> Value:
        frame = closure.frame
        source = dataclasses.replace(frame.source, node=closure.node, checked=closure.node)
        place = source.span(closure.node)
        env = self._bind_closure(closure, args, kwargs, node)
        if self.outline.stays_call(place):
            callee = Callee(closure, place, source, frame.function, frame.path, frame)
            return self.outline.call_outlined(callee, env, node)
        return self.evaluator.run_function(
            source, frame.function, frame.path, env, frame, place, node
        )

    def _bind_closure(
        self, closure: Closure, args: Any, kwargs: Any, node: Any
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
            elif closure.frame.owner is not self.evaluator:
                value = self.outline.captured(closure, p.name)
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


class _Guarding:
    """Gives errors of rules and builders their place in the user's source."""

    def __init__(self, owner: Any, node: core.Node, path: str) -> None:
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
            message, advice = f"{self.path}: {str(error).split(') ', 1)[-1]}", ""
            unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
            if unknown:
                message = f"{self.path} with {unknown[1]}= is not supported"
                advice = f"leave out {unknown[1]}="
            raise self.owner.refusal(self.node, message, advice, UnsupportedError) from None
        if isinstance(error, (TypeError, ValueError, IndexError, OverflowError)) and not any(
            hasattr(error, name) for name in ("lineno", "source_line")
        ):
            raise self.owner.located(error, self.node) from None
        return False
