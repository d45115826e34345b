"""Builtin functions of Python: `range`, `len`, `zip`, `sum`, `print` and others."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...frontend.kernel_interface import ObjectGuard
from ...ir.builder import Sym
from ...ir.record import record
from ...syntax import core
from ..dispatch import builtin
from ..frames import Frames
from ..heap.arrays import Arrays
from ..operations.attributes import Attributes
from ..operations.stores import Stores
from ..operations.streams import Streams
from ..operations.truth import Truth
from ..outside.object_attributes import ObjectAttributes
from ..outside.objects import Objects, path_of_class
from ..places import Places
from ..session import Part
from ..surface.indexing import Indexing
from ..values import (
    UNDEFINED,
    Args,
    Bound,
    Closure,
    DictVal,
    Growing,
    InstanceVal,
    IterVal,
    Kwargs,
    ListVal,
    Num,
    Obj,
    Partial,
    RangeVal,
    Rec,
    Ref,
    SliceVal,
    Super,
    TupleVal,
    Value,
    class_of,
    constant,
    kind_text,
)


@record(eq=False)
class PythonCalls(Part):
    """Builtin functions."""

    places: Places
    arrays: Arrays
    objects: Objects
    object_attributes: ObjectAttributes
    indexing: Indexing
    attributes: Attributes
    streams: Streams
    truth: Truth
    frames: Frames
    stores: Stores

    @builtin(range)
    def call_range(self, args: Args, kwargs: Kwargs, node: core.Node) -> RangeVal:
        bounds = [self.indexing.integer(a, node) for a in args]
        zero, one = constant(0), constant(1)
        if len(bounds) == 1:
            bounds = [zero, bounds[0], one]
        elif len(bounds) == 2:
            bounds = [*bounds, one]
        if len(bounds) != 3:
            raise self.places.located(TypeError("range expected 1 to 3 arguments"), node)
        step = bounds[2]
        if step.known is not None and step.known[0] == 0:
            raise self.places.located(ValueError("range() arg 3 must not be zero"), node)
        if step.known is None:
            self.b.check(
                Sym(self.b, step.operand) != 0, "ValueError", "range() arg 3 must not be zero"
            )
        return RangeVal(bounds[0], bounds[1], bounds[2])

    @builtin(super)
    def call_super(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """Without arguments, `super()` refers to the class in which the function is defined, and to
        the function's first argument."""
        if len(args) == 2 and isinstance(args[0], Obj):
            return Super(args[1], args[0].value)
        function, params = self.places.frame.function, self.places.frame.node.params
        named = [*params.positional_only, *params.plain]
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        if args or not named or "__class__" not in cells:
            raise self.places.located(RuntimeError("super(): no arguments"), node)
        return Super(self.frames.lookup(named[0].name, node), cells["__class__"].cell_contents)

    @builtin(dataclasses.replace)
    def call_replace(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """`dataclasses.replace`."""
        old = args[0]
        if not isinstance(old, InstanceVal) or hasattr(old.cls, "__post_init__"):
            return NotImplemented
        content = self.state.heap[old.cell]
        unknown = next((k for k in kwargs if k not in content.keys), None)
        if unknown is not None:
            text = f"{old.cls.__name__}.__init__() got an unexpected keyword argument {unknown!r}"
            raise self.places.located(TypeError(text), node)
        values = (kwargs[k] if k in kwargs else v for k, v in zip(content.keys, content.values))
        return self.arrays.new_instance(old.cls, content.keys, tuple(values))

    @builtin(len)
    def call_len(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        (value,) = args
        if isinstance(value, Ref):
            array = self.arrays.sym(value)
            if array.ndim == 0:
                raise self.places.located(TypeError("len() of unsized object"), node)
            return self.arrays.size(array, 0)
        if isinstance(value, Rec):
            return self.indexing.record_length(value)
        if isinstance(value, ListVal) and isinstance(self.state.heap[value.cell], Growing):
            return self.arrays.wrap(self.b.emit("list_len", self.state.heap[value.cell].operand))
        if isinstance(value, RangeVal):
            return self.streams.range_count(value)
        special = self.evaluator.call_special(value, "__len__", (), node)
        if special is not None:
            return special
        if isinstance(value, IterVal):
            text = f"object of type {value.cls.__name__!r} has no len()"
            raise self.places.located(TypeError(text), node)
        if isinstance(value, (ListVal, DictVal)):
            self.arrays.usable(self.state.heap[value.cell], node)
        items = self.objects.static_items(value)
        if items is None and isinstance(value, (ListVal, DictVal)):
            self.places.refuse(node, f"the length of {kind_text(value)} that differs between paths")
        if items is None:
            raise self.places.located(TypeError(f"{kind_text(value)} has no len()"), node)
        return constant(len(items))

    @builtin(slice)
    def call_slice(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        parts = [None if isinstance(a, Obj) and a.value is None else a for a in args]
        parts = [None, parts[0], None] if len(parts) == 1 else [*parts, None][:3]
        return SliceVal(*parts)

    @builtin(isinstance)
    def call_isinstance(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        value, classes = args
        wanted = self.arrays.static(classes, node, "the class")
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        with self.places.python_errors(node):
            self.arrays.require_one_kind(value, node, "the type")
            return constant(any(issubclass(class_of(value), c) for c in wanted))

    @builtin(issubclass)
    def call_issubclass(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        cls, classes = self.arrays.static(args[0], node, "the class"), args[1]
        wanted = self.arrays.static(classes, node, "the class")
        with self.places.python_errors(node):
            return constant(issubclass(cls, wanted))

    @builtin(type)
    def call_type(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        self.arrays.require_one_kind(args[0], node, "the type")
        return self.objects.class_value(class_of(args[0]), path_of_class(args[0]))

    @builtin(dataclasses.is_dataclass)
    def call_is_dataclass(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        return constant(dataclasses.is_dataclass(class_of(args[0])))

    @builtin(dataclasses.fields)
    def call_fields(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        return TupleVal(tuple(Obj(f) for f in dataclasses.fields(class_of(args[0]))))

    @builtin(callable)
    def call_callable(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        value = args[0]
        return constant(
            isinstance(value, (Closure, Bound, Partial))
            or (isinstance(value, Obj) and callable(value.value))
            or (isinstance(value, InstanceVal) and hasattr(value.cls, "__call__"))  # noqa: B004
        )

    @builtin(hasattr)
    def call_hasattr(self, args: Args, kwargs: Kwargs, node: core.Node) -> Num:
        owner, name = args[0], self.arrays.static(args[1], node, "the attribute's name")
        if isinstance(owner, InstanceVal):
            keys = self.state.heap[owner.cell].keys
            return constant(name in keys or hasattr(owner.cls, name))
        if isinstance(owner, Obj):
            written = self.object_attributes.written_attribute(owner, name)
            if written is not None:
                return constant(written is not UNDEFINED)
            has = hasattr(owner.value, name)
            if owner.path:
                self.shared.object_guards.append(ObjectGuard(owner.path, "attribute", (name, has)))
            return constant(has)
        return constant(hasattr(class_of(owner), name))

    @builtin(getattr)
    def call_getattr(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        name = self.arrays.static(args[1], node, "the attribute's name")
        if len(args) > 2 and self.call_hasattr(args[:2], {}, node).known == (False,):
            return args[2]
        return self.attributes.attribute(args[0], name, node)

    @builtin(setattr)
    def call_setattr(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        owner, name, value = args
        text = self.arrays.static(name, node, "the attribute's name")
        self.stores.store_attribute(owner, text, value, node)
        return Obj(None)

    @builtin(delattr)
    def call_delattr(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        owner, name = args
        text = self.arrays.static(name, node, "the attribute's name")
        self.stores.delete_attribute(owner, text, node)
        return Obj(None)

    @builtin(int)
    def call_int(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        return self._converted(int, args, node)

    @builtin(float)
    def call_float(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        return self._converted(float, args, node)

    def _converted(self, kind: Any, args: Args, node: core.Node) -> Value:
        """`int` or `float` of one number or text that is known."""
        if (
            len(args) == 1
            and isinstance(args[0], Obj)
            and isinstance(args[0].value, (str, bytes, int))
        ):
            known = args[0].value
        elif len(args) == 1 and isinstance(args[0], Num) and args[0].known is not None:
            known = args[0].known[0]
        else:
            return NotImplemented
        with self.places.python_errors(node):
            return constant(kind(known))

    @builtin(bool)
    def call_bool(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        return self.arrays.python_bool(self.truth.truth(args[0], node)) if args else constant(False)
