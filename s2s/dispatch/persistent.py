"""Persistent cache of specialisations, so that a second process need not run the compiler.

A record holds the output of the compiler.  Its key covers the function's file and code, the types
of the arguments, the options, and the versions of all packages involved.  Guards on objects are
stored with their access paths, and are checked again by the same paths on the objects of this
process (`s2s.cache.stable_identity`).  Objects that were built during compilation, such as layers
that take their width from the first input, are built again, provided that all guards on them hold.
A specialisation that depends on values which cannot be compared between processes is not stored.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import types
from collections.abc import Callable, Iterator
from pathlib import Path as File
from typing import Any, Protocol

import numpy as np

from .._version import __version__
from ..cache import store
from ..cache.source_key import platform_key, source_key, version
from ..cache.stable_identity import (
    ObjectNumbering,
    Unstorable,
    check_plain,
    class_key,
    file_hash,
    identity,
    key_kind,
    stable_key,
)
from ..call.guards import PathResolver
from ..transforms.frontend.kernel_interface import Build, ObjectGuard, Param, Readable
from ..transforms.frontend.pytree import (
    Argument,
    Fixed,
    OutTree,
    Path,
    Spec,
    TreeSpec,
    child_step,
    describe,
    rebuild,
    spec_leaves,
)
from ..transforms.ir.symbolic_dims import Dim

MAX_RECORDS = 8  # per file
# Fields of `Compiled` that are not stored, or are stored in another form.
_NOT_STORED = ("passes", "write", "object_guards", "builds", "inlined", "loose")

# Guards in a form that can be compared between processes.
Guards = list[tuple[Path, str, Any]]
# Resolves access paths.
Reached = Callable[[Path], Any]


@dataclasses.dataclass
class Record:
    """A stored specialisation.  `fields` are the fields of `Compiled`, `files` the hashes of its
    source files, `guards` all object guards.  `fixed` are the guards on objects among the
    arguments.  `builds` are pairs of the guards that held and the build that was run."""

    fields: dict[str, Any]
    files: dict[str, str]
    guards: Guards
    fixed: Guards
    builds: list[tuple[Guards, Build]]


class Recalled(types.SimpleNamespace, Readable):
    """A stored specialisation, as the compiler would return it."""


class Specialiser(Protocol):
    """The interface of the specialiser that this module uses (`s2s.dispatch.specializations`)."""

    function: Any
    binder: Any
    options: Any
    mode: Any
    wrt: Any
    parallel: Any
    vectorized: Any

    def decorated(self) -> bool: ...


def load_stored(
    specialiser: Specialiser, specs: dict[str, Spec], args: tuple[Any, ...]
) -> Iterator[Any]:
    """The stored specialisations for such arguments; the caller still has to check their
    guards."""
    try:
        file = _file(specialiser, specs)
    except (Unstorable, OSError):
        return
    reach = PathResolver(specialiser.function, specialiser.binder.names)
    records: list[Record] = store.read_entry(file) or []
    # Objects built for one record may satisfy the guards of another: try all records twice.
    for record in [*records, *(r for r in records if any(x.builds for x in records))]:
        try:
            yield _load(record, reach, specs, args)
        except Exception:  # something it depends on is gone or different
            continue


def store_specialization(specialiser: Specialiser, specs: dict[str, Spec], compiled: Any) -> None:
    """Store a specialisation, if it can be stored."""
    try:
        file = _file(specialiser, specs)
        record = _record(compiled, specs)
        store.write_entry(file, [record, *(store.read_entry(file) or [])][:MAX_RECORDS])
    except Exception:  # a failure of the cache must not be an error of the program
        return


# ---------------------------------------------------------------- records


def _record(compiled: Any, specs: dict[str, Spec]) -> Record:
    if compiled.loose:
        raise Unstorable("an object to which no path leads")
    names = [f.name for f in dataclasses.fields(compiled) if f.name not in _NOT_STORED]
    for tree in (compiled.out, *compiled.grads, *(tree for _, _, tree in compiled.changes)):
        _check_tree(tree)
    fixed = [
        ObjectGuard(path, "is", value) for path, value in _fixed(specs) if not _is_plain(value)
    ]
    return Record(
        {name: getattr(compiled, name) for name in names},
        {name: file_hash(name) for name in compiled.inlined},
        _stored_guards([*fixed, *compiled.object_guards]),
        _stored_guards(fixed),
        [(_stored_guards([*fixed, *b.guards]), _stored_build(b)) for b in compiled.builds],
    )


def _stored_guards(guards: list[ObjectGuard]) -> Guards:
    met = ObjectNumbering()
    return [(g.path, g.kind, stable_key(g, met)) for g in guards]


def _stored_build(build: Build) -> Build:
    for tree in (*build.args, *(tree for _, tree in build.named)):
        _check_tree(tree)
    if not build.args or not isinstance(build.args[0], Argument):
        raise Unstorable(build.function)
    return dataclasses.replace(build, function=identity(build.function), guards=())


def _check_tree(tree: OutTree) -> None:
    if isinstance(tree, Fixed):
        check_plain(tree.value)
    for child in getattr(tree, "children", ()) or ():
        _check_tree(child)
    for part in (getattr(tree, "first", None), getattr(tree, "second", None)):
        if part is not None:
            _check_tree(part)


def _fixed(specs: dict[str, Spec]) -> Iterator[tuple[Path, Any]]:
    """The objects among the arguments."""

    def walk(spec: Spec, path: Path) -> Iterator[tuple[Path, Any]]:
        if isinstance(spec, Fixed):
            yield path, spec.value
        elif isinstance(spec, TreeSpec):
            for key, child in zip(spec.keys, spec.children):
                yield from walk(child, (*path, child_step(spec.kind, key)))

    for name, spec in specs.items():
        yield from walk(spec, (("arg", name),))


def _is_plain(value: Any) -> bool:
    try:
        check_plain(value)
    except Unstorable:
        return False
    return not isinstance(value, type)


# ---------------------------------------------------------------- loading


def _load(
    record: Record, reach: PathResolver, specs: dict[str, Spec], args: tuple[Any, ...]
) -> Any:
    for name, known in record.files.items():
        if file_hash(name) != known:
            raise Unstorable(name)
    if record.builds and _may_match(record.guards, reach.values(args)):
        for guards, build in record.builds:
            if not _build_again(guards, build, reach.values(args)):
                break
    count, value = len(record.fixed), reach.values(args)
    found = _matching_guards(record.guards, value)[count:]
    own = {p for n, s in specs.items() for p, _ in spec_leaves(s, (("arg", n),))}
    _check_params([p for p in record.fields["params"] if p.path not in own], value)
    return Recalled(
        **record.fields, object_guards=found, builds=[], inlined=[], loose=False, passes=None
    )


def _matching_guards(guards: Guards, reached: Reached) -> list[ObjectGuard]:
    """The guards on the objects that the paths lead to in this process; raises Unstorable if one of
    them does not match."""
    met, found = ObjectNumbering(), []
    for path, kind, known in guards:
        value = reached(path)
        if kind in ("is", "function"):
            guard = ObjectGuard(path, kind, value)
            if stable_key(guard, met) != known:
                raise Unstorable(path)
        else:
            guard = ObjectGuard(path, kind, known)
            if not guard.holds(value):
                raise Unstorable(path)
        found.append(guard)
    return found


def _may_match(guards: Guards, reached: Reached) -> bool:
    """True if the functions, and the classes of objects, match as far as their paths can be
    resolved.  Checked before builds, so that no object is built for a record that does not
    match."""
    for path, kind, known in guards:
        try:
            value = reached(path)
        except Exception:  # it may belong to an object that is not built yet
            continue
        if kind in ("is", "function") and value is not None:
            if key_kind(stable_key(ObjectGuard(path, kind, value), ObjectNumbering())) != key_kind(
                known
            ):
                return False
    return True


def _check_params(params: list[Param], reached: Reached) -> None:
    for param in params:
        if describe(reached(param.path)) != param.spec:
            raise Unstorable(param.path)


def _build_again(guards: Guards, build: Build, reached: Reached) -> bool:
    """Run a build as the compiler would, if all its guards hold; whether it was run."""
    try:
        _matching_guards(guards, reached)
        _check_params([*build.params], reached)
        sizes = _sizes(build.params, reached)
        if not all(r.holds(sizes) for r in build.relations):
            return False

        def again(tree: OutTree) -> Any:
            size = lambda i: _constant_size(build.sizes[i].substitute(sizes))  # noqa: E731
            return rebuild(tree, size, reached)

        plain, by_name = [*map(again, build.args)], {k: again(v) for k, v in build.named}
        function = getattr(type(plain[0]), build.function[1].rpartition(".")[2])
        if identity(function) != build.function:
            return False
    except Exception:  # a path cannot be resolved
        return False
    function(*plain, **by_name)
    return True


def _constant_size(size: Dim) -> int:
    if not size.is_const:
        raise Unstorable(size)
    return size.const


def _sizes(params: tuple[Param, ...], reached: Reached) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for param in params:
        value = reached(param.path)
        for axis, size in enumerate(np.shape(value)):
            sizes[f"{param.name}.{axis}"] = size
        if isinstance(value, (int, np.integer)):
            sizes[param.name] = int(value)
    return sizes


# ---------------------------------------------------------------- keys


def _file(specialiser: Specialiser, specs: dict[str, Spec]) -> File:
    options = specialiser.options
    key = store.digest(
        platform_key(),
        compiler_key(),
        repr(identity(specialiser.function, defaults=False)),
        repr([(name, _spec_text(spec)) for name, spec in specs.items()]),
        repr((specialiser.mode, specialiser.wrt, options.has_aux, options.static)),
        repr((options.boundscheck, specialiser.parallel, options.tensors, options.calls)),
        options.target,
        repr((specialiser.decorated(), specialiser.vectorized)),
    )
    return store.directory() / f"specialisation_{key}"


@functools.cache
def compiler_key() -> str:
    """A hash of the sources of this package."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    compiler = os.path.join(here, "transforms")
    linked = [os.path.realpath(compiler)] if os.path.islink(compiler) else []  # in a checkout
    return store.digest(__version__, source_key(here, *linked), version("scipy"))


def _spec_text(spec: Spec) -> Any:
    if isinstance(spec, Fixed):
        if not _is_plain(spec.value):
            return ("object", type(spec.value).__module__, type(spec.value).__qualname__)
        return ("fixed", type(spec.value).__name__, repr(spec.value))
    if isinstance(spec, TreeSpec):
        children = [_spec_text(c) for c in spec.children]
        for key in spec.keys:
            check_plain(key)
        return (spec.kind, class_key(spec.cls), repr(spec.keys), children)
    return repr(spec)
