"""The three ways to run a specialisation.

numba    the lowered text, compiled to machine code
loops    the same text under CPython: slow, but no compiler can be blamed
python   the readable NumPy-level text under CPython: a debugger steps through it

A kernel takes the parameters, the seed (or None) and the buffers for the results that have
the shape of a parameter, and returns the remaining results in order.
"""

from __future__ import annotations

import linecache
import os
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import collector, linking
from .doors import Door, door_of
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
from .transforms.structure import ArraySpec, RecordSpec, RngSpec, ScalarSpec, Spec

if TYPE_CHECKING:
    from .transforms.pipeline import Compiled

BACKENDS = ("numba", "loops", "python")

Kernel = Callable[[tuple[Any, ...], Any, Sequence[Any]], Sequence[Any]]


# Looking a variable up in os.environ takes longer than a small kernel; in its raw form not.
environment: Any = getattr(os.environ, "_data", os.environ) if os.name == "posix" else os.environ
VARIABLE: Any = "S2S_BACKEND" if environment is os.environ else b"S2S_BACKEND"


def choose_backend(chosen: str | None) -> str:
    """What was asked for in the program, or outside of it, or the compiler."""
    if chosen is not None:
        return chosen
    if VARIABLE not in environment:
        return "numba"
    name = os.environ.get("S2S_BACKEND") or "numba"
    if name not in BACKENDS:
        raise ValueError_(
            f"S2S_BACKEND={name}: there is no such backend", advice=f"choose from {BACKENDS}"
        )
    return name


def make(backend: str, compiled: Compiled, seed: Any, params: tuple[Any, ...]) -> Kernel:
    """The kernel; `params` are examples of what it will be given."""
    if backend == "numba":
        return numba_kernel(compiled, seed, params)
    return loops_kernel(compiled) if backend == "loops" else python_kernel(compiled)


# ---------------------------------------------------------------- numba


def numba_kernel(compiled: Compiled, seed: Any, params: tuple[Any, ...]) -> Kernel:
    from .compile import build, build_door

    door = door_of(compiled, seed)
    text, entry, written = compiled.lowered, compiled.entry, compiled.written
    with Progress(compiled.name) as progress, collector.paused():
        progress.stage("compiling with Numba")
        try:
            function = door and build_door(text, entry, written, door)
            if function is not None:
                assert door is not None
                return _through_door(function, door, compiled)
            dispatcher = build(text, entry, signature(compiled, seed, params), written)
        except InternalCompilerError:
            if "np.float16" in compiled.lowered:
                raise half_precision(compiled) from None
            raise

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        if seed is None:
            return dispatcher(*params, *buffers)
        return dispatcher(*params, seed, *buffers)

    whole = _aligned(kernel, compiled)
    whole.function, whole.door = dispatcher, None  # type: ignore[attr-defined]
    return whole


def _through_door(function: Any, door: Door, compiled: Compiled) -> Kernel:
    """What does not fit is made to."""
    outs, count = compiled.out_like, len(compiled.result_types)
    specs = [p.spec for p in compiled.params]

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        rest = buffers if seed is None else (seed, *buffers)
        found = function(*params, *rest)
        if found is linking.MISS:
            found = function(*map(fitted, specs, params), *rest)
        if found is linking.MISS:
            raise TypeError(f"{compiled.name} does not take {[*map(type, params)]}")
        results = (found,) if count == 1 else found
        return [r for i, r in enumerate(results) if i not in outs] if outs else results

    whole = _aligned(kernel, compiled)
    whole.function, whole.door = function, door  # type: ignore[attr-defined]
    return whole


def fitted(spec: Spec, value: Any) -> Any:
    """An array or number as a door wants it: of no subclass, with NumPy's own object for its
    dtype.  It shares its memory with what was given."""
    if isinstance(spec, ArraySpec):
        value = np.asarray(value)
        dtype = np.dtype(spec.dtype)
        return value if value.dtype is dtype else value.view(dtype)
    assert isinstance(spec, ScalarSpec)
    if spec.dtype == "bool":
        return bool(value)
    return _WEAK[spec.dtype](value) if spec.weak else np.dtype(spec.dtype).type(value)


_WEAK: dict[str, Callable[[Any], Any]] = {"float64": float, "complex128": complex, "int64": int}


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
    """The Numba types of a kernel's arguments."""
    import numba

    out = [numba_type(p.spec, v) for p, v in zip(compiled.params, params)]
    if seed is not None:
        out.append(numba.typeof(seed))
    for _, position in sorted(compiled.out_like.items()):
        type_ = compiled.params[position].type
        dtype = numba.from_dtype(np.dtype(type_.dtype))
        out.append(numba.types.Array(dtype, type_.ndim, "C"))
    return tuple(out)


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


def _aligned(kernel: Kernel, compiled: Compiled) -> Kernel:
    """Numba reads aligned memory only, and a kernel that writes wants its arrays apart from
    end to end; the rare arguments that are not so get copied."""
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

    return call


# ---------------------------------------------------------------- loops


def loops_kernel(compiled: Compiled) -> Kernel:
    space = run_text(compiled.lowered, f"<s2s {compiled.name}, lowered>", {})
    entry = space[compiled.entry]
    casts = [_strong(p.spec) for p in compiled.params]

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        values = [cast(p) if cast else p for cast, p in zip(casts, params)]
        with np.errstate(all="ignore"):
            return entry(*values, *(() if seed is None else (seed,)), *buffers)

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
            kinds = {"float64": Real, "complex128": complex, "bool": bool}
            casts.append(kinds.get(spec.dtype, int))
        else:
            casts.append(_strong(spec))

    def kernel(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        values = [cast(p) if cast else p for cast, p in zip(casts, params)]
        try:
            with np.errstate(all="ignore"):
                results = flat(entry(*values, *(() if seed is None else (seed,))))
        except Exception as error:
            name_place(error, space["__name__"], compiled)
            raise
        # The readable text makes its own arrays; they are handed over as the ABI wants it.
        for (position, _), buffer in zip(sorted(compiled.out_like.items()), buffers):
            buffer[...] = results[position]
        return [r for i, r in enumerate(results) if i not in compiled.out_like]

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
