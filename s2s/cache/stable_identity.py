"""Process-independent keys of functions, classes and objects, which another process can compare.

The key of a function is its file and code; that of a class is its name and the files of it and its
bases.  The key of an object is its class, and its number among the objects of a record: its
contents are covered by separate guards, one per access path.
"""

from __future__ import annotations

import enum
import functools
import sys
import threading
import types
from pathlib import Path as File
from typing import Any

import numpy as np

from ..transforms.frontend.derivative_spec import Derived
from ..transforms.frontend.kernel_interface import ObjectGuard
from ..transforms.frontend.pytree import is_constant_module
from . import store

_PLAIN = (int, float, bool, complex, str, bytes, type(None), np.dtype, type(Ellipsis))
# Attributes that every class has.  `_C_DESCRIPTORS`: types of attributes found only in classes that
# are implemented in C, or derive from one.
_COMMON_ATTRIBUTES = ("__dict__", "__weakref__", "__doc__", "__module__", "__slots__")
_C_DESCRIPTORS = (
    types.WrapperDescriptorType, types.MethodDescriptorType, types.BuiltinFunctionType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType,
)  # fmt: skip


class Unstorable(Exception):
    """Raised for a value that another process cannot identify, or that does not match there."""


def key_kind(known: tuple[Any, ...]) -> tuple[Any, ...]:
    """The part of a key returned by `stable_key` that identifies the class, without the object's
    number."""
    return known[:2] if known[0] in ("object", "list", "dict") else known


class ObjectNumbering:
    """Numbers objects in the order of their first occurrence, so that aliasing can be compared
    between processes.  It keeps the objects alive, so that ids are not reused."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []

    def number(self, value: Any) -> int:
        self.alive.append(value)
        return self.numbers.setdefault(id(value), len(self.numbers))


def stable_key(guard: ObjectGuard, met: ObjectNumbering) -> Any:
    """The process-independent key of what a guard expects."""
    value = guard.expected
    if guard.kind == "function":
        return identity(value)
    if guard.kind != "is":
        check_plain(value)
        return value
    named = _name_in_library(value)
    if named is not None:
        return ("library", *named)
    if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
        return ("module", value.__name__)
    if isinstance(value, type):
        return ("class", class_key(value))
    if type(value) in (list, dict):
        return (type(value).__name__, (), met.number(value))
    if isinstance(value, types.FunctionType) or hasattr(value, "_derivation"):
        return identity(value)
    if isinstance(value, enum.Enum):
        return ("enum", class_key(type(value)), value.name)
    if not is_of_python(type(value)):
        raise Unstorable(value)
    return ("object", class_key(type(value)), met.number(value))


def _name_in_library(value: Any) -> tuple[str, str] | None:
    """Module and name of a function or class of a library; NumPy and SciPy are searched, since
    ufuncs have no `__module__`."""
    name = getattr(value, "__name__", "")
    for module in (getattr(value, "__module__", None), "numpy", "scipy.special"):
        if is_constant_module(sys.modules.get(module or "")):
            if getattr(sys.modules[module or ""], name, None) is value:
                return module or "", name
    return None


def is_of_python(cls: type) -> bool:
    """True if a class is implemented in Python: guards on access paths then cover the whole state
    of its objects."""
    bases = (b for b in cls.__mro__ if b not in (object, threading.local))
    return not any(isinstance(v, _C_DESCRIPTORS) for base in bases for v in _own_attributes(base))


def _own_attributes(cls: type) -> list[Any]:
    return [
        v for name, v in vars(cls).items() if name not in _COMMON_ATTRIBUTES and name != "__hash__"
    ]


def check_plain(value: Any) -> None:
    """Raise `Unstorable` unless a value can be compared between processes by itself."""
    if isinstance(value, (tuple, list)):
        for v in value:
            check_plain(v)
    elif isinstance(value, slice):
        check_plain((value.start, value.stop, value.step))
    elif isinstance(value, type):
        class_key(value)
    elif isinstance(value, enum.Enum):
        raise Unstorable(value)
    elif not isinstance(value, _PLAIN) and not isinstance(value, np.generic):
        raise Unstorable(value)


# ---------------------------------------------------------------- functions and classes


def identity(function: Any, defaults: bool = True) -> tuple[Any, ...]:
    """The process-independent key of a plain function, or of an s2s object."""
    function = getattr(function, "_derivation", function)  # an s2s object
    if isinstance(function, Derived):
        how = (function.wrt, function.single, function.has_aux, function.options)
        return (function.kind, repr(how), *identity(function.function, defaults))
    if not isinstance(function, types.FunctionType):
        raise Unstorable(function)
    given = (function.__defaults__, function.__kwdefaults__) if defaults else ()
    for value in (function.__defaults__ or (), *(function.__kwdefaults__ or {}).values()):
        if defaults:
            check_plain(value)
    code = function.__code__
    where = (function.__module__, function.__qualname__, code.co_firstlineno)
    made = getattr(function, "_s2s_source", None)  # a function generated from part of another
    text = "" if made is None else store.digest(repr(made.node))
    return (*where, file_hash(code.co_filename), _code_hash(code), text, repr(given))


def _code_hash(code: types.CodeType) -> str:
    constants = [
        _code_hash(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return store.digest(code.co_code, repr(constants), repr(names))


def class_key(cls: type) -> tuple[Any, ...]:
    """The process-independent key of a class: its name, and the hashes of the files of it and its
    bases, whose methods may be inlined."""
    found: list[Any] = [cls.__module__, cls.__qualname__]
    for base in cls.__mro__:
        module = sys.modules.get(base.__module__)
        file = getattr(module, "__file__", None)
        if file is not None and not file.endswith((".so", ".pyd")):
            found.append(file_hash(file))
        elif base.__module__ == "__main__":
            raise Unstorable(cls)
    return tuple(found)


def file_hash(name: str) -> str:
    status = File(name).stat()
    return _hash_of(name, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=256)
def _hash_of(name: str, mtime: int, size: int) -> str:
    return store.digest(File(name).read_bytes())
