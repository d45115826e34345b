"""Lowered source to machine code through Numba, with caching.

The source becomes a Python module whose name contains its hash.  The machine code that Numba
generates is stored on disk (`s2s.codegen.numba_bridge.numba_cache`).
"""

from __future__ import annotations

import ast
import linecache
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..cache import store
from ..cache.source_key import platform_key
from ..codegen.gemm_library import gemm_library
from ..codegen.numba_bridge.numba_entry import (
    ARRAY,
    BODY,
    CALL,
    CALL_LOWERED,
    CHECK,
    PREFIX,
    Entry,
    entry_text,
)
from ..codegen.options import NUMBA_OPTIONS, OPTIONS, WRAPPER_OPTIONS, canonical_options
from ..errors import CacheError, internal
from ..runtime import integer_powers, locks


def build(
    lowered: str,
    name: str,
    signature: tuple[Any, ...],
    entry: Entry,
    borrowed: tuple[Any, ...] | None = None,
) -> Any:
    """The Numba dispatcher of a kernel for one signature.  It takes the parameters and returns all
    results.  Before any other effect it raises `Overlap` if a written array may overlap with
    another, and `SizeGuardFailed` if a guard on sizes does not hold.  `borrowed` is the same
    signature in types of `borrowed_arguments.py`, which the dispatcher has if the kernel allows
    it."""
    add_llvm_symbols(lowered)
    text = lowered + entry_text(lowered, name, entry)
    borrowed = borrowed or signature
    module_name = _module_name(text, repr((signature, borrowed, entry)))
    if module_name not in _built:
        _built[module_name] = _build(module_name, text, name, signature, borrowed, entry)
    return _built[module_name]


def build_njit(lowered: str, name: str, signature: tuple[Any, ...] | None) -> Any:
    """The lowered source compiled by plain `numba.njit`: for one signature, or lazily for any if it
    is None.  The dispatcher takes the kernel's buffers as arguments."""
    register_runtime_functions(lowered)
    module_name = _module_name(lowered, str(signature))
    if module_name not in _built:
        kernel = _whole(load(module_name, lowered), name)
        if signature is not None:
            with _as_internal_error():
                kernel.compile(signature)
            kernel.disable_compile()
        _built[module_name] = kernel
    return _built[module_name]


def source(lowered: str, entry: str, kinds: tuple[Any, ...]) -> Any:
    """The input of `s2s.codegen` for a kernel with arguments of the types `kinds`
    (`codegen.value_types`)."""
    from ..codegen.kernel_module import Source
    from ..codegen.syntax_helpers import named

    module = types.ModuleType(f"{PREFIX}{entry}")
    tree = ast.parse(lowered)
    function = named(tree, entry)
    tree.body.remove(function)  # no helper calls it
    exec(compile(tree, module.__name__, "exec"), vars(module))

    def prepare() -> None:
        register_runtime_functions(lowered)
        jit_helpers(module, entry)

    if "rt.prange(" in lowered:
        _add_thread_pool_symbol()
    return Source(function, vars(module), kinds, prepare, OPTIONS)


def register_runtime_functions(lowered: str) -> None:
    """Register the run-time functions that lowered code calls with Numba."""
    add_llvm_symbols(lowered)
    from ..kernels_numba import scalar  # noqa: F401

    if "rt.fft." in lowered:
        from ..kernels_numba import fft  # noqa: F401
    if "rt.linalg." in lowered:
        from ..kernels_numba import linalg  # noqa: F401
    if "rt.draws." in lowered:
        from ..kernels_numba import random  # noqa: F401
    suppress_numba_warnings()


def add_llvm_symbols(lowered: str) -> None:
    """Add the symbols that the machine code of lowered code calls to LLVM."""
    locks.hold_compiler_lock()
    if "rt.prange(" in lowered:
        _add_thread_pool_symbol()
    if "**" in lowered or "pow" in lowered:
        integer_powers.register_symbols()
    gemm_library.register_symbols(lowered)


def _add_thread_pool_symbol() -> None:
    import llvmlite.binding as llvm

    from ..runtime import thread_pool

    llvm.add_symbol(thread_pool.NAME, thread_pool.address())


# Kernels by module name, which contains the hash of the source: equal kernels are compiled once.
_built: dict[str, Any] = {}


@contextmanager
def _as_internal_error() -> Iterator[None]:
    try:
        yield
    except CacheError:
        raise
    except Exception as error:
        raise internal("compiling generated code with Numba", error) from error


def _build(
    module_name: str,
    text: str,
    name: str,
    signature: tuple[Any, ...],
    borrowed: tuple[Any, ...],
    entry: Entry,
) -> Any:
    from numba.core.types import Array, Boolean, Number

    from ..codegen.numba_bridge.numba_cache import cache_code
    from ..codegen.numba_bridge.numba_target import dispatcher

    module = load(module_name, text)
    alone = all(isinstance(t, (Array, Number, Boolean)) for t in signature)

    def empty(call: str, library: bool, nogil: bool = True) -> Any:
        function, options = getattr(module, call), {**WRAPPER_OPTIONS, "nogil": nogil}
        return cache_code(dispatcher(function, options, library), function)

    with _as_internal_error():
        variants = [(CALL, not alone, signature), (CALL_LOWERED, True, signature)]
        if alone and borrowed != signature:
            variants.insert(0, (CALL, False, borrowed))
        kernels = ((empty(call, library), types) for call, library, types in variants)
        kernel = next((kernel for kernel, types in kernels if kernel.load(types)), None)
        if kernel is None:
            kernel = _compiled(module, text, name, signature, borrowed, entry, empty, alone)
    kernel.disable_compile()
    return kernel


def _compiled(
    module: types.ModuleType,
    text: str,
    name: str,
    signature: tuple[Any, ...],
    borrowed: tuple[Any, ...],
    entry: Entry,
    empty: Callable[..., Any],
    alone: bool,
) -> Any:
    """Compile with the first variant that the source allows: code generated by s2s inside a Numba
    function whose target has none of Numba's functions, with borrowed arguments or Numba's own; the
    same with calls of Numba's functions; or the whole kernel compiled by Numba."""
    import numba

    from ..codegen.kernel_module import is_brief, is_lsr_profitable
    from ..codegen.numba_bridge import numba_intrinsic
    from ..codegen.numba_bridge.numba_target import KernelDispatcher, compiling
    from ..codegen.syntax_helpers import named
    from ..codegen.type_inference import NeedsNumba, ReturnsArgument, Unsupported
    from ..codegen.type_lowering import of_numba

    function = named(ast.parse(text), name)
    reduce_strength = is_lsr_profitable(function)
    nogil = not is_brief(function, map(of_numba, signature))
    setattr(module, CHECK, numba_intrinsic.checks(entry))
    for i in entry.tabled:
        setattr(module, f"{ARRAY}_{i}", numba_intrinsic.from_table(entry, i))

    def try_compile(kernel: Any, signature: tuple[Any, ...], body: Any) -> Any:
        setattr(module, BODY, body)
        try:
            with compiling(reduce_strength):
                kernel.compile(signature)
        except (Unsupported, ReturnsArgument) as error:
            return error
        except Exception as error:
            if type(kernel) is not KernelDispatcher:
                raise
            return NeedsNumba(error)  # the target of KernelDispatcher lacks something
        return kernel

    def refuse() -> None:
        raise NeedsNumba

    def prepare() -> None:
        register_runtime_functions(text)
        jit_helpers(module, name)

    def inside(library: bool, signature: tuple[Any, ...]) -> Any:
        body = numba_intrinsic.body(text, name, vars(module), entry, prepare if library else refuse)
        return try_compile(empty(CALL, library, nogil), signature, body)

    made: Any = ReturnsArgument() if alone else NeedsNumba()
    if alone and borrowed != signature:
        made = inside(False, borrowed)
    if isinstance(made, ReturnsArgument):
        made = inside(False, signature)
    if isinstance(made, NeedsNumba):
        made = inside(True, signature)
    if isinstance(made, Unsupported):
        prepare()
        made = try_compile(
            empty(CALL_LOWERED, True), signature,
            numba.njit(getattr(module, name), **NUMBA_OPTIONS),
        )  # fmt: skip
    if isinstance(made, Exception):
        raise made
    return made


def _whole(module: types.ModuleType, entry: str) -> Any:
    import numba

    from ..codegen.numba_bridge.numba_cache import cached

    jit_helpers(module, entry)
    return cached(numba.njit(**NUMBA_OPTIONS))(getattr(module, entry))


def _module_name(lowered: str, signature: str) -> str:
    """The name of a kernel's module: a hash of everything its machine code depends on."""
    data = lowered.encode()
    whose = gemm_library.choice() if "rt.gemm(" in lowered else ""
    key = store.digest(platform_key(), canonical_options(NUMBA_OPTIONS), signature, whose, data)
    return f"{PREFIX}{key}"


def load(name: str, text: str) -> types.ModuleType:
    """Execute the source of a kernel as a module.  It is registered in `sys.modules`, where Numba
    looks it up by name when it loads machine code from the cache."""
    module = types.ModuleType(name)
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    sys.modules[name] = module
    exec(compile(text, file, "exec"), vars(module))
    return module


def jit_helpers(module: types.ModuleType, entry: str) -> None:
    """Make the helper functions of a module Numba functions, compiled as part of the entry: only
    the entry is cached."""
    import numba

    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and name not in (entry, CALL, CALL_LOWERED):
            if value.__module__ == module.__name__:
                setattr(module, name, numba.njit(value, **NUMBA_OPTIONS))


def suppress_numba_warnings() -> None:
    """Suppress Numba's performance warnings for generated code: users cannot act on them."""
    from numba.core.errors import NumbaWarning

    warnings.filterwarnings("ignore", category=NumbaWarning, module=rf".*{PREFIX}")
