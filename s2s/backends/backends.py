"""The ways to run a specialisation.

numba    a Numba dispatcher whose loop nests are an intrinsic written by `s2s.codegen` (default)
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
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..call.backend_choice import COMPILED
from ..call.kernel_arguments import WEAK, Kernel, aligned, fitted
from ..codegen.numba_bridge import array_table
from ..codegen.size_guards import relations_of
from ..errors import InternalCompilerError, UnsupportedError, internal, name_place
from ..runtime import gc_pause
from ..runtime.compile_progress import Progress
from ..transforms.frontend.pytree import ArraySpec, RecordSpec, RngSpec, ScalarSpec, Spec
from ..transforms.ir.nodes import Span

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled


def has_native() -> bool:
    """Whether `backend="native"` knows this interpreter."""
    from . import native

    return native.is_available()


def make(backend: str, compiled: Compiled, seed: Any, params: tuple[Any, ...]) -> Kernel:
    """The kernel; `params` are examples of what it will be given."""
    if backend not in COMPILED:
        return loops_kernel(compiled) if backend == "loops" else python_kernel(compiled)
    with Progress(compiled.name) as progress, gc_pause.paused():
        try:
            if backend == "native":
                from . import native

                progress.stage("compiling")
                kernel = native.kernel(compiled, seed)
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

    from ..codegen.numba_bridge.numba_entry import Entry
    from .build_kernel import build

    inlined = isinstance(seed, np.generic)
    given = () if seed is None or inlined else (seed,)
    entry = Entry(
        len(params) + len(given),
        len(compiled.result_types),
        {i: _rank(compiled.params[i].type) for i in compiled.out_like.values()},
        array_table.tabled(compiled),
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

    return aligned(kernel, compiled, dispatcher)


def njit_kernel(compiled: Compiled, seed: Any, params: tuple[Any, ...]) -> Kernel:
    """The lowered text as plain `numba.njit` compiles it."""
    from .build_kernel import build_whole

    types = signature(compiled, seed, params)
    dispatcher = build_whole(compiled.lowered, compiled.entry, types)
    return aligned(_with_buffers(dispatcher, compiled), compiled, dispatcher)


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
    from ..runtime.ieee_math import Real, math

    space = run_text(compiled.source, f"<s2s {compiled.name}>", {"np": np, "math": math})
    entry = space[compiled.name]
    casts: list[Callable[[Any], Any] | None] = []
    for param in compiled.params:
        spec = param.spec
        if isinstance(spec, ScalarSpec) and spec.weak:
            casts.append({**WEAK, "float64": Real}[spec.dtype])
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
