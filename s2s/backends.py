"""The ways to run a specialisation.

numba    a Numba dispatcher whose loop nests are an intrinsic written by `s2s.machine` (default)
njit     the lowered text, compiled by plain `numba.njit`: the reference for machine code
native   the same loop nests, entered without Numba at run time: an opt-in for short calls
loops    the lowered text under CPython: slow, but no compiler can be blamed
python   the readable NumPy-level text under CPython: a debugger steps through it

A kernel takes the parameters, the seed (or None) and, for each result that has the shape of a
parameter, a buffer or None.  It returns all results in order; whether it has used a buffer is seen
by identity.
"""

from __future__ import annotations

import linecache
import os
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import array_table, collector, linking
from .doors import Door, door_of, relations_of
from .errors import (
    InternalCompilerError,
    Overlap,
    UnsupportedError,
    ValueError_,
    internal,
    name_place,
)
from .progress import Progress
from .transforms.ir import Span
from .transforms.structure import ArraySpec, Path, RecordSpec, RngSpec, ScalarSpec, Spec

if TYPE_CHECKING:
    from .transforms.pipeline import Compiled

BACKENDS = ("numba", "njit", "native", "loops", "python")
COMPILED = ("numba", "njit", "native")  # those that make machine code
DEFAULT = "numba"

Kernel = Callable[[tuple[Any, ...], Any, Sequence[Any]], Sequence[Any]]


# Looking a variable up in os.environ takes longer than a small kernel; in its raw form not.
environment: Any = getattr(os.environ, "_data", os.environ) if os.name == "posix" else os.environ
VARIABLE: Any = "S2S_BACKEND" if environment is os.environ else b"S2S_BACKEND"


def choose_backend(chosen: str | None) -> str:
    """What was asked for in the program, or outside of it, or the compiler."""
    if chosen is not None:
        return chosen
    if VARIABLE not in environment:
        return DEFAULT
    name = os.environ.get("S2S_BACKEND") or DEFAULT
    if name not in BACKENDS:
        raise ValueError_(
            f"S2S_BACKEND={name}: there is no such backend", advice=f"choose from {BACKENDS}"
        )
    return name


def make(backend: str, compiled: Compiled, seed: Any, params: tuple[Any, ...]) -> Kernel:
    """The kernel; `params` are examples of what it will be given."""
    if backend not in COMPILED:
        return loops_kernel(compiled) if backend == "loops" else python_kernel(compiled)
    with Progress(compiled.name) as progress, collector.paused():
        try:
            if backend == "native":
                progress.stage("compiling")
                kernel = native_kernel(compiled, seed)
                if kernel is not None:
                    return kernel
            progress.stage("compiling with Numba")
            return (njit_kernel if backend == "njit" else numba_kernel)(compiled, seed, params)
        except InternalCompilerError:
            if "np.float16" in compiled.lowered:
                raise half_precision(compiled) from None
            raise


# ---------------------------------------------------------------- numba, njit


def numba_kernel(compiled: Compiled, seed: Any, params: tuple[Any, ...]) -> Kernel:
    """A Numba dispatcher around loop nests of our own."""
    import numba

    from .compile import build
    from .numba_entry import Entry

    inlined = isinstance(seed, np.generic)
    given = () if seed is None or inlined else (seed,)
    entry = Entry(
        len(params) + len(given),
        len(compiled.result_types),
        {i: _rank(compiled.params[i].type) for i in compiled.out_like.values()},
        tabled(compiled),
        seed if inlined else None,
        tuple(_buffers(compiled)),
        tuple(compiled.written),
        relations_of(compiled),
    )
    table = array_table.writer([*entry.tabled.values()])
    types = (*param_types(compiled, params), *map(numba.typeof, given))
    types = tuple(types[i] for i in entry.direct)
    if entry.tabled:
        types = (*types, numba.types.Array(numba.types.int64, 1, "C"))
    dispatcher = build(compiled.lowered, compiled.entry, types, entry)

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        whole = (*params, *given)
        if not entry.tabled:
            return dispatcher(*whole)
        arrays = table([fitted(spec, whole[i]) for i, spec in entry.tabled.items()])
        return dispatcher(*(whole[i] for i in entry.direct), arrays)

    return _aligned(kernel, compiled, dispatcher)


# With more arrays than this, all are passed in a table.
MOST_ARRAYS = 32


def _is_held(path: Path) -> bool:
    """Whether a path leads to the array of a Variable that is no argument itself."""
    *before, last = path
    return last == (".", "_array") and (len(before) > 1 or before[0][0] != "arg")


def tabled(compiled: Compiled) -> dict[int, ArraySpec]:
    """The parameters that a Numba function takes in a table: the arrays of Variables that are
    reached through objects, as they are the same in every call, and all arrays if there are
    many."""
    arrays = {i: p.spec for i, p in enumerate(compiled.params) if isinstance(p.spec, ArraySpec)}
    held = {i: spec for i, spec in arrays.items() if _is_held(compiled.params[i].path)}
    return arrays if len(arrays) - len(held) > MOST_ARRAYS else held


def njit_kernel(compiled: Compiled, seed: Any, params: tuple[Any, ...]) -> Kernel:
    """The lowered text as plain `numba.njit` compiles it."""
    from .compile import build_whole

    types = signature(compiled, seed, params)
    dispatcher = build_whole(compiled.lowered, compiled.entry, types)
    return _aligned(_with_buffers(dispatcher, compiled), compiled, dispatcher)


def _rank(type_: Any) -> tuple[int, str]:
    return type_.ndim, type_.dtype


def _with_buffers(function: Callable[..., Any], compiled: Compiled) -> Kernel:
    """A kernel from a function that takes the buffers and returns the other results."""

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        made = [
            np.empty(params[i].shape, compiled.params[i].type.dtype) if b is None else b
            for b, (_, i) in zip(buffers, _buffers(compiled))
        ]
        results = list(function(*params, *(() if seed is None else (seed,)), *made))
        for (result, _), buffer in zip(_buffers(compiled), made):
            results.insert(result, buffer)
        return results

    return kernel


def _buffers(compiled: Compiled) -> list[tuple[int, int]]:
    """(result, parameter) of the results that have the shape of a parameter."""
    return sorted(compiled.out_like.items())


def native_kernel(compiled: Compiled, seed: Any) -> Kernel | None:
    """A kernel entered through a C function of its own; None where only Numba can enter it."""
    from .compile import build_door

    door = door_of(compiled, seed)
    function = door and build_door(compiled.lowered, compiled.entry, compiled.written, door)
    if function is None:
        return None
    assert door is not None
    return _through_door(function, door, compiled)


def _through_door(function: Any, door: Door, compiled: Compiled) -> Kernel:
    """What does not fit is made to."""
    count, specs = len(compiled.result_types), [p.spec for p in compiled.params]

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        given = () if seed is None else (seed,)
        rest = given if any(b is None for b in buffers) else (*given, *buffers)
        found = function(*params, *rest)
        if found is linking.MISS:
            found = function(*map(fitted, specs, params), *rest)
        if found is linking.MISS:
            raise TypeError(f"{compiled.name} does not take {[*map(type, params)]}")
        return (found,) if count == 1 else found

    whole = _aligned(kernel, compiled, function)
    whole.door = door  # type: ignore[attr-defined]
    return whole


def fitted(spec: Spec, value: Any) -> Any:
    """An array or number as a door wants it: of no subclass, with NumPy's own object for its
    dtype.  It shares its memory with what was given."""
    if isinstance(spec, ArraySpec):
        value = np.asarray(value)
        dtype = np.dtype(spec.dtype)
        return value if value.dtype is dtype else value.view(dtype)
    assert isinstance(spec, ScalarSpec)
    return (
        _WEAK[spec.dtype](value)
        if spec.weak or spec.dtype == "bool"
        else np.dtype(spec.dtype).type(value)
    )


_WEAK: dict[str, Callable[[Any], Any]] = {
    "float64": float,
    "complex128": complex,
    "int64": int,
    "bool": bool,
}


def half_precision(compiled: Compiled) -> UnsupportedError:
    """Numba has hardly any float16 outside of graphics cards."""
    lines = enumerate(compiled.source.splitlines(), 1)
    at = next((n for n, line in lines if "float16" in line and n in compiled.places), None)
    span, text = None, ""
    if at is not None:
        file, number, *_ = compiled.places[at]
        text = linecache.getline(file, number).rstrip()
        start = len(text) - len(text.lstrip())
        span = Span(file, number, start, number, len(text))
    return UnsupportedError(
        f"{compiled.name} computes with float16, which is not compiled", span=span,
        source_line=text, advice='use np.float32, or backend="python"',
    )  # fmt: skip


def signature(compiled: Compiled, seed: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
    """The Numba types of a kernel's arguments: parameters, seed and buffers."""
    import numba

    arrays = (_rank(compiled.params[i].type) for _, i in _buffers(compiled))
    return (
        *param_types(compiled, params),
        *(() if seed is None else (numba.typeof(seed),)),
        *(numba.types.Array(numba.from_dtype(np.dtype(d)), ndim, "C") for ndim, d in arrays),
    )


def param_types(compiled: Compiled, params: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(numba_type(p.spec, v) for p, v in zip(compiled.params, params))


def numba_type(spec: Spec, example: Any) -> Any:
    import numba

    if isinstance(spec, ArraySpec):
        dtype = numba.from_dtype(np.dtype(spec.dtype))
        return numba.types.Array(dtype, spec.ndim, spec.layout, readonly=not spec.writeable)
    if isinstance(spec, ScalarSpec):
        return numba.from_dtype(np.dtype(spec.dtype))
    assert isinstance(spec, (RecordSpec, RngSpec))
    found = numba.typeof(example)
    if isinstance(found, numba.types.Array):
        return found.copy(layout="A")
    return found


def _aligned(kernel: Kernel, compiled: Compiled, function: Any) -> Kernel:
    """The kernel that calls `function`.  Numba reads aligned memory only, and a kernel that writes
    wants its arrays apart from end to end; the rare arguments that are not so get copied."""
    written = frozenset(compiled.written)

    def call(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        try:
            return kernel(params, seed, buffers)
        except TypeError:
            odd = [
                isinstance(p, np.ndarray) and p.dtype.names is None and not p.flags.aligned
                for p in params
            ]
            if not any(odd):
                raise
        except Overlap:
            odd = [isinstance(p, np.ndarray) for p in params]
        copies = tuple([p.copy() if o else p for p, o in zip(params, odd)])
        out = kernel(copies, seed, buffers)
        for i in written:
            if odd[i]:
                params[i][...] = copies[i]
        return out

    call.function, call.door = function, None  # type: ignore[attr-defined]
    return call


# ---------------------------------------------------------------- loops


def loops_kernel(compiled: Compiled) -> Kernel:
    space = run_text(compiled.lowered, f"<s2s {compiled.name}, lowered>", {})
    entry = _with_buffers(space[compiled.entry], compiled)
    casts = [_strong(p.spec) for p in compiled.params]

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        values = tuple([cast(p) if cast else p for cast, p in zip(casts, params)])
        with np.errstate(all="ignore"):
            return entry(values, seed, buffers)

    return kernel


def _strong(spec: Spec) -> Callable[[Any], Any] | None:
    """Numbers as NumPy scalars, whose arithmetic is that of compiled code."""
    return np.dtype(spec.dtype).type if isinstance(spec, ScalarSpec) else None


# ---------------------------------------------------------------- python


def python_kernel(compiled: Compiled) -> Kernel:
    from .ieee_math import Real, math

    space = run_text(compiled.source, f"<s2s {compiled.name}>", {"np": np, "math": math})
    entry = space[compiled.name]
    casts: list[Callable[[Any], Any] | None] = []
    for param in compiled.params:
        spec = param.spec
        if isinstance(spec, ScalarSpec) and spec.weak:
            casts.append({**_WEAK, "float64": Real}[spec.dtype])
        else:
            casts.append(_strong(spec))

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        values = [cast(p) if cast else p for cast, p in zip(casts, params)]
        try:
            with np.errstate(all="ignore"):
                return flat(entry(*values, *(() if seed is None else (seed,))))
        except Exception as error:
            name_place(error, space["__name__"], compiled)
            raise

    return kernel


def flat(value: Any) -> list[Any]:
    """`out, (W_bar, b_bar)` in order."""
    if type(value) is tuple:
        return [leaf for v in value for leaf in flat(v)]
    return [value]


def run_text(text: str, filename: str, space: dict[str, Any]) -> dict[str, Any]:
    """Executes generated text as a module whose source debuggers and tracebacks can show."""
    number = 1
    name = filename
    lines = text.splitlines(True)
    while linecache.getlines(name) not in ([], lines):
        number += 1
        name = f"{filename[:-1]} ({number})>"
    linecache.cache[name] = (len(text), None, lines, name)
    module = types.ModuleType(name)
    vars(module).update(space)
    try:
        exec(compile(text, name, "exec"), vars(module))
    except SyntaxError as error:
        raise internal("reading its own generated code", error) from error
    return vars(module)
