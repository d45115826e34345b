"""Specialisations remembered on disk, so that a second process need not translate anything.

A record holds what the compiler made, under a key of everything that decides what it makes:
the function's file and code, the types of the arguments, what was asked, and the versions of
all that takes part.  Functions it was built from are identified by file and code as well, and
looked up anew.  What depends on the identity of any other object is not remembered.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import sys
import types
from collections.abc import Iterator
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

import numpy as np

from . import cache
from ._version import __version__
from .guards import Reach
from .transforms.derived import Derived
from .transforms.pipeline_types import ObjectGuard
from .transforms.structure import Fixed, Path, Spec, TreeSpec, describe, spec_leaves

if TYPE_CHECKING:
    from .dispatch import Specialiser

RECORDS = 8
_PLAIN = (int, float, bool, str, bytes, type(None), np.dtype, type(Ellipsis))


class Unstorable(Exception):
    """Something that means nothing in another process."""


def recall(
    specialiser: Specialiser, specs: dict[str, Spec], args: tuple[Any, ...]
) -> Iterator[Any]:
    """What was compiled for such arguments before; its guards are still to be checked."""
    try:
        file = _file(specialiser, specs)
    except (Unstorable, OSError):
        return
    reach = Reach(specialiser.function, specialiser.binder.names)
    for fields, functions in cache.fetch(file) or []:
        try:
            yield _revive(fields, functions, reach, specs, args)
        except Exception:  # whatever it relied on is gone or different
            continue


def remember(specialiser: Specialiser, specs: dict[str, Spec], compiled: Any) -> None:
    """Keeps what was compiled, if it can be kept."""
    try:
        file = _file(specialiser, specs)
        record = _record(compiled)
        cache.keep(file, [record, *(cache.fetch(file) or [])][:RECORDS])
    except Exception:  # a cache is never worth an error
        return


# ---------------------------------------------------------------- records


def _record(compiled: Any) -> tuple[dict[str, Any], list[tuple[Path, Any]]]:
    fields = {
        f.name: getattr(compiled, f.name)
        for f in dataclasses.fields(compiled)
        if f.name not in ("passes", "object_guards")
    }
    guards = []
    functions: list[tuple[Path, Any]] = []
    for guard in compiled.object_guards:
        if guard.kind in ("is", "function"):
            functions.append((guard.path, identity(guard.expected)))
        else:
            _check_plain(guard.expected)
            guards.append(guard)
    fields["object_guards"] = guards
    return fields, functions


def _revive(
    fields: dict[str, Any],
    functions: list[tuple[Path, Any]],
    reach: Reach,
    specs: dict[str, Spec],
    args: tuple[Any, ...],
) -> Any:
    guards = list(fields["object_guards"])
    for path, known in functions:
        value = reach.value(args, path)
        if identity(value) != known:
            raise Unstorable(path)
        guards.append(ObjectGuard(path, "is", value))
    own = {p for n, s in specs.items() for p, _ in spec_leaves(s, (("arg", n),))}
    for param in fields["params"]:
        if param.path not in own and describe(reach.value(args, param.path)) != param.spec:
            raise Unstorable(param.path)
    return types.SimpleNamespace(**{**fields, "object_guards": guards}, passes=None)


def _check_plain(value: Any) -> None:
    if isinstance(value, (tuple, list)):
        for v in value:
            _check_plain(v)
    elif isinstance(value, type):
        _file_of_class(value)
    elif not isinstance(value, _PLAIN) and not isinstance(value, np.generic):
        raise Unstorable(value)


# ---------------------------------------------------------------- identities


def _file(specialiser: Specialiser, specs: dict[str, Spec]) -> File:
    options = specialiser.options
    key = cache.digest(
        cache.platform_key(),
        compiler_key(),
        repr(identity(specialiser.function, defaults=False)),
        repr([(name, _spec_text(spec)) for name, spec in specs.items()]),
        repr((specialiser.mode, specialiser.wrt, options.has_aux, options.static)),
        repr((options.boundscheck, specialiser.decorated(), specialiser.vectorized)),
    )
    return cache.directory() / f"specialisation_{key}"


@functools.cache
def compiler_key() -> str:
    """Changes with the compiler, also while it is being worked on."""
    folder = File(__file__).parent / "transforms"
    files = sorted(folder.resolve().rglob("*.py"))
    stamps = [(f.name, f.stat().st_mtime_ns, f.stat().st_size) for f in files]
    scipy = getattr(sys.modules.get("scipy"), "__version__", "")
    return cache.digest(__version__, repr(stamps), scipy)


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
            _check_plain(value)
    code = function.__code__
    where = (function.__module__, function.__qualname__, code.co_firstlineno)
    made = getattr(function, "_s2s_source", None)  # a function made from part of another
    text = "" if made is None else cache.digest(ast.dump(made.node, include_attributes=True))
    return (*where, _file_hash(code.co_filename), _code_hash(code), text, repr(given))


def _code_hash(code: types.CodeType) -> str:
    constants = [
        _code_hash(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return cache.digest(code.co_code, repr(constants), repr(names))


def _file_hash(name: str) -> str:
    status = File(name).stat()
    return _hash_of(name, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=256)
def _hash_of(name: str, mtime: int, size: int) -> str:
    return cache.digest(File(name).read_bytes())


def _spec_text(spec: Spec) -> Any:
    if isinstance(spec, Fixed):
        _check_plain(spec.value)
        return ("fixed", type(spec.value).__name__, repr(spec.value))
    if isinstance(spec, TreeSpec):
        children = [_spec_text(c) for c in spec.children]
        for key in spec.keys:
            _check_plain(key)
        return (spec.kind, _file_of_class(spec.cls), repr(spec.keys), children)
    return repr(spec)


def _file_of_class(cls: type) -> tuple[Any, ...]:
    """A class by name and by the files of it and its bases, whose methods may be inlined."""
    found: list[Any] = [cls.__module__, cls.__qualname__]
    for base in cls.__mro__:
        module = sys.modules.get(base.__module__)
        file = getattr(module, "__file__", None)
        if file is not None and not file.endswith((".so", ".pyd")):
            found.append(_file_hash(file))
        elif base.__module__ == "__main__":
            raise Unstorable(cls)
    return tuple(found)
