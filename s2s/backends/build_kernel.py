"""From the text of a kernel to machine code, by way of the cache.

The text becomes a module whose name holds its hash, and what Numba makes of it is kept
(`s2s.codegen.numba_bridge.numba_cache`).
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
from ..codegen.gemm_library import gemm_library
from ..codegen.numba_bridge.numba_entry import (
    ARRAY,
    BODY,
    CALL,
    CALL_WHOLE,
    CHECK,
    PREFIX,
    Entry,
    entry_text,
)
from ..codegen.options import BY_NUMBA, OPTIONS, WRAPPED, spelled
from ..errors import CacheError, internal
from ..runtime import integer_powers, locks


def build(lowered: str, name: str, signature: tuple[Any, ...], entry: Entry) -> Any:
    """The Numba dispatcher of a kernel for one signature.  It takes the parameters and returns all
    results.  Before it does anything it raises `Overlap` if a written array may overlap with
    another, and `Misfit` if a guard on sizes does not hold."""
    offer(lowered)
    text = lowered + entry_text(lowered, name, entry)
    module_name = _module_name(text, repr((signature, entry)))
    if module_name not in _built:
        _built[module_name] = _build(module_name, text, name, signature, entry)
    return _built[module_name]


def build_whole(lowered: str, name: str, signature: tuple[Any, ...] | None) -> Any:
    """The lowered text compiled by plain `numba.njit`: for one signature, or for any if it is
    None.  It takes the kernel's buffers as arguments."""
    tell_numba(lowered)
    module_name = _module_name(lowered, str(signature))
    if module_name not in _built:
        kernel = _whole(load(module_name, lowered), name)
        if signature is not None:
            with _failing_as_internal():
                kernel.compile(signature)
            kernel.disable_compile()
        _built[module_name] = kernel
    return _built[module_name]


def source(lowered: str, entry: str, kinds: tuple[Any, ...]) -> Any:
    """A kernel to be compiled for arguments of certain types (`codegen.value_types`)."""
    from ..codegen.kernel_module import Source
    from ..codegen.syntax_helpers import named

    module = types.ModuleType(f"{PREFIX}{entry}")
    tree = ast.parse(lowered)
    function = named(tree, entry)
    tree.body.remove(function)  # which nothing else calls
    exec(compile(tree, module.__name__, "exec"), vars(module))

    def prepare() -> None:
        tell_numba(lowered)
        jit_helpers(module, entry)

    if "rt.prange(" in lowered:
        _offer_threads()
    return Source(function, vars(module), kinds, prepare, OPTIONS)


def tell_numba(lowered: str) -> None:
    """Registers with Numba what lowered code calls."""
    offer(lowered)
    from ..kernels_numba import scalar  # noqa: F401

    if "rt.fft." in lowered:
        from ..kernels_numba import fft  # noqa: F401
    if "rt.linalg." in lowered:
        from ..kernels_numba import linalg  # noqa: F401
    if "rt.draws." in lowered:
        from ..kernels_numba import random  # noqa: F401
    quieten()


def offer(lowered: str) -> None:
    """Tells LLVM of the functions that machine code of lowered code calls."""
    locks.hold_compiler_lock()
    if "rt.prange(" in lowered:
        _offer_threads()
    if "**" in lowered or "pow" in lowered:
        integer_powers.offer()
    gemm_library.offer(lowered)


def _offer_threads() -> None:
    import llvmlite.binding as llvm

    from ..runtime import thread_pool

    llvm.add_symbol(thread_pool.NAME, thread_pool.address())


# Kernels are deduplicated by the hash of their text, which is in the name of their module.
_built: dict[str, Any] = {}


@contextmanager
def _failing_as_internal() -> Iterator[None]:
    try:
        yield
    except CacheError:
        raise
    except Exception as error:
        raise internal("compiling generated code with Numba", error) from error


def _build(module_name: str, text: str, name: str, signature: tuple[Any, ...], entry: Entry) -> Any:
    from numba.core.types import Array, Boolean, Number

    from ..codegen.numba_bridge.numba_cache import keep_code
    from ..codegen.numba_bridge.numba_target import dispatcher

    module = load(module_name, text)
    alone = all(isinstance(t, (Array, Number, Boolean)) for t in signature)

    def empty(call: str, library: bool) -> Any:
        function = getattr(module, call)
        return keep_code(dispatcher(function, WRAPPED, library), function)

    with _failing_as_internal():
        kernels = (empty(CALL, not alone), empty(CALL_WHOLE, True))
        kept = (k for k in kernels if k.load(signature))
        kernel = next(kept, None) or _compiled(module, text, name, signature, entry, empty, alone)
    kernel.disable_compile()
    return kernel


def _compiled(
    module: types.ModuleType,
    text: str,
    name: str,
    signature: tuple[Any, ...],
    entry: Entry,
    empty: Callable[[str, bool], Any],
    alone: bool,
) -> Any:
    """The first of these that the text allows: all of it our own machine code in a Numba function,
    if it may stand `alone`, our own with calls of Numba's functions, or all of it Numba's."""
    import numba

    from ..codegen.kernel_module import pays
    from ..codegen.numba_bridge import numba_intrinsic
    from ..codegen.numba_bridge.numba_target import KernelDispatcher, compiling
    from ..codegen.syntax_helpers import named
    from ..codegen.type_inference import NeedsNumba, Unsupported

    reduce_strength = pays(named(ast.parse(text), name))
    setattr(module, CHECK, numba_intrinsic.checks(entry))
    for i in entry.tabled:
        setattr(module, f"{ARRAY}_{i}", numba_intrinsic.from_table(entry, i))

    def tried(kernel: Any, body: Any) -> Any:
        setattr(module, BODY, body)
        try:
            with compiling(reduce_strength):
                kernel.compile(signature)
        except Unsupported as error:
            return error
        except Exception as error:
            if type(kernel) is not KernelDispatcher:
                raise
            return NeedsNumba(error)  # for something that its target does not know
        return kernel

    def refuse() -> None:
        raise NeedsNumba

    def prepare() -> None:
        tell_numba(text)
        jit_helpers(module, name)

    made: Any = NeedsNumba()
    if alone:
        made = tried(
            empty(CALL, False), numba_intrinsic.body(text, name, vars(module), entry, refuse)
        )
    if isinstance(made, NeedsNumba):
        made = tried(
            empty(CALL, True), numba_intrinsic.body(text, name, vars(module), entry, prepare)
        )
    if isinstance(made, Unsupported):
        prepare()
        made = tried(empty(CALL_WHOLE, True), numba.njit(getattr(module, name), **BY_NUMBA))
    if isinstance(made, Exception):
        raise made
    return made


def _whole(module: types.ModuleType, entry: str) -> Any:
    import numba

    from ..codegen.numba_bridge.numba_cache import cached

    jit_helpers(module, entry)
    return cached(numba.njit(**BY_NUMBA))(getattr(module, entry))


def _module_name(lowered: str, signature: str) -> str:
    """The name of a kernel's module, which says all that its machine code depends on."""
    data = lowered.encode()
    whose = gemm_library.choice() if "rt.gemm(" in lowered else ""
    key = store.digest(store.platform_key(), spelled(BY_NUMBA), signature, whose, data)
    return f"{PREFIX}{key}"


def load(name: str, text: str) -> types.ModuleType:
    """The module of a kernel.  Numba finds it by name when it loads machine code."""
    module = types.ModuleType(name)
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    sys.modules[name] = module
    exec(compile(text, file, "exec"), vars(module))
    return module


def jit_helpers(module: types.ModuleType, entry: str) -> None:
    """Compiles the functions the entry calls as part of it: only the entry is cached."""
    import numba

    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and name not in (entry, CALL, CALL_WHOLE):
            if value.__module__ == module.__name__:
                setattr(module, name, numba.njit(value, **BY_NUMBA))


def quieten() -> None:
    """Numba's advice on performance is for people who write the code it compiles."""
    from numba.core.errors import NumbaWarning

    warnings.filterwarnings("ignore", category=NumbaWarning, module=rf".*{PREFIX}")
