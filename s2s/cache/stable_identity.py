"""What things are, in a way that another process can compare.

A function is its file and code, a class its name and the files of it and its bases.  An object is
its class, and which of the others it is: what it holds is asked for by paths, one by one.
"""

from __future__ import annotations

import ast
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
# What a class that is written in Python has in it, and what one that is not has as well.
_OF_PYTHON = ("__dict__", "__weakref__", "__doc__", "__module__", "__slots__")
_FOREIGN = (
    types.WrapperDescriptorType, types.MethodDescriptorType, types.BuiltinFunctionType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType,
)  # fmt: skip


class Unstorable(Exception):
    """Something that means nothing in another process."""


def kind_of(known: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of what `meant` gives: what it is, but not which."""
    return known[:2] if known[0] in ("object", "list", "dict") else known


class Met:
    """Objects in the order in which they were met, by which it is told who is whom."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []

    def number(self, value: Any) -> int:
        self.alive.append(value)
        return self.numbers.setdefault(id(value), len(self.numbers))


def meant(guard: ObjectGuard, met: Met) -> Any:
    """What a guard expects."""
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
    """Where a function or class of a library is found; ufuncs do not know it themselves."""
    name = getattr(value, "__name__", "")
    for module in (getattr(value, "__module__", None), "numpy", "scipy.special"):
        if is_constant_module(sys.modules.get(module or "")):
            if getattr(sys.modules[module or ""], name, None) is value:
                return module or "", name
    return None


def is_of_python(cls: type) -> bool:
    """Whether a class is written in Python: what its objects hold is then told by paths alone."""
    bases = (b for b in cls.__mro__ if b not in (object, threading.local))
    return not any(isinstance(v, _FOREIGN) for base in bases for v in _own(base))


def _own(cls: type) -> list[Any]:
    return [v for name, v in vars(cls).items() if name not in _OF_PYTHON and name != "__hash__"]


def check_plain(value: Any) -> None:
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
    """What a plain function is, in a way that another process can compare."""
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
    made = getattr(function, "_s2s_source", None)  # a function made from part of another
    text = "" if made is None else store.digest(ast.dump(made.node, include_attributes=True))
    return (*where, file_hash(code.co_filename), _code_hash(code), text, repr(given))


def _code_hash(code: types.CodeType) -> str:
    constants = [
        _code_hash(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return store.digest(code.co_code, repr(constants), repr(names))


def class_key(cls: type) -> tuple[Any, ...]:
    """A class by name and by the files of it and its bases, whose methods may be inlined."""
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
