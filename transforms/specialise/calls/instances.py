"""Instances made in the program: split into their attributes, put together in results."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from typing import Any

from ...frontend.pytree import refuse_foreign
from ...ir.errors import UnsupportedError
from ...ir.record import record
from ...syntax import core
from ..heap.arrays import Arrays
from ..outside.object_attributes import ObjectAttributes
from ..places import Places
from ..session import Part
from ..values import UNDEFINED, Args, Kwargs, Obj, PyObject, TupleVal, Value, constant


@record(eq=False)
class Instances(Part):
    """Instances of classes that are made while specialising."""

    places: Places
    arrays: Arrays
    object_attributes: ObjectAttributes

    def construct(self, cls: PyObject, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if hasattr(cls, "_fields") and tuple in cls.__mro__:
            return self._namedtuple(cls, args, kwargs, node)
        if dataclasses.is_dataclass(cls):
            return self._dataclass(cls, args, kwargs, node)
        module = (cls.__module__ or "").split(".")[0]
        if module == "numba" or "jitclass" in str(type(cls)):
            try:
                refuse_foreign(cls)
            except UnsupportedError as error:
                raise self.places.refusal(node, error.message, error.advice) from None
            return self.places.refuse(node, f"{cls.__module__}.{cls.__name__} is not supported")
        if hasattr(cls, "_s2s_variable"):
            return self.places.refuse(
                node,
                f"a {cls.__name__} is not created in compiled code",
                "create it before the first call",
            )
        if (cls.__module__ or "").partition(".")[0] in ("itertools", "collections"):
            text = f"{cls.__module__}.{cls.__name__} is not supported"
            return self.places.refuse(node, text, "use lists, dicts and plain loops")
        if not _is_plain(cls):
            return self.places.refuse(
                node,
                f"creating a {cls.__name__} here is not supported",
                "create it outside, or use a dataclass",
            )
        made = self.arrays.new_instance(cls, (), ())
        init = inspect.getattr_static(cls, "__init__")
        if isinstance(init, types.FunctionType):
            self.object_attributes.guard_class(made, init, "__init__")
            self.evaluator.call_function(Obj(init), (made, *args), kwargs, node)
        elif args or kwargs:
            raise self.places.located(TypeError(f"{cls.__name__}() takes no arguments"), node)
        return made

    def _namedtuple(self, cls: Any, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        defaults = {k: constant(v) for k, v in cls._field_defaults.items()}
        values = {**defaults, **dict(zip(cls._fields, args)), **kwargs}
        if len(args) > len(cls._fields) or set(values) != set(cls._fields):
            raise self.places.located(
                TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}"), node
            )
        return TupleVal(tuple(values[f] for f in cls._fields), cls)

    def _dataclass(self, cls: Any, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        try:
            bound = inspect.signature(cls).bind(*args, **kwargs).arguments
        except TypeError as error:
            raise self.places.located(TypeError(str(error)), node) from None
        fields = dataclasses.fields(cls)
        if len(bound.keys() - {f.name for f in fields}) > 0:
            self.places.refuse(
                node, f"{cls.__name__} has arguments that are no fields", "use fields"
            )
        values = {
            f.name: bound[f.name] if f.name in bound else self._default_of(f, node) for f in fields
        }
        known = {k: v for k, v in values.items() if v is not UNDEFINED}
        made = self.arrays.new_instance(cls, tuple(known), tuple(known.values()))
        after = inspect.getattr_static(cls, "__post_init__", None)
        if after is not None:
            self.object_attributes.guard_class(made, after, "__post_init__")
            self.evaluator.call_function(Obj(after), (made,), {}, node)
        return made

    def _default_of(self, field: dataclasses.Field[Any], node: core.Node) -> Value:
        if field.default is not dataclasses.MISSING:
            return constant(field.default)
        if field.default_factory is not dataclasses.MISSING:
            return self.evaluator.call(Obj(field.default_factory), (), {}, node)
        return UNDEFINED  # it is for __post_init__ to set


def _is_plain(cls: Any) -> bool:
    """Whether instances are made and attributes are set in the ordinary way."""
    module = (cls.__module__ or "").partition(".")[0]
    own = module not in sys.stdlib_module_names and module not in ("numpy", "scipy", "numba")
    ours = any((c.__module__ or "").partition(".")[0] == "s2s" for c in cls.__mro__)
    return (
        own
        and (not ours or hasattr(cls, "_s2s_plain"))
        and cls.__new__ is object.__new__
        and (cls.__setattr__ is object.__setattr__ or hasattr(cls.__setattr__, "_s2s_plain"))
        and not hasattr(cls, "__getattr__")
    )
