"""Cache of functions that Numba compiled, in the cache directory of s2s.

Numba's own `cache=True` writes beside the source file, which fails in a read-only installation, and
it checks neither digest nor owner of its files.  Numba's dispatchers load and save machine code
through a `_Cache`; the one here stores it as entries of `s2s.cache.store`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python as _nrt  # type: ignore[attr-defined]
from numba.core.serialize import dumps

from ...cache import store
from ...cache.source_key import platform_key
from ...runtime import block_pool
from .numba_target import environments


def cached(compile: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that compiles as `compile` does (`njit(...)`) and caches the machine code."""

    return lambda function: cache_code(compile(function), function)


def cache_code(dispatcher: Any, function: Any) -> Any:
    """The dispatcher of a function, with its machine code cached from now on."""
    if hasattr(dispatcher, "_cache"):  # it is the plain function under NUMBA_DISABLE_JIT
        dispatcher._cache = EntryCache(function)
    return dispatcher


class EntryCache(_Cache):
    """The cached machine code of one function: an entry for each signature."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.enabled = True

    @property
    def cache_path(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return str(store.directory())

    def enable(self) -> None:
        self.enabled = True

    def disable(self) -> None:
        self.enabled = False

    def flush(self) -> None:
        """Called before a function is recompiled.  Entries need no invalidation: their names are
        hashes of all that they depend on."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self.enabled:
            return None
        kept = store.read_entry(self._entry(sig, target_context.codegen()))
        if kept is None:
            return None
        symbols, data = kept
        if not _are_resolved(symbols):
            context: Any = cpu_target.target_context
            context.refresh()
            if not _are_resolved(symbols):  # loading it would abort the process
                return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception:  # it refers to something that does not exist: recompile
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        # Not cached, since other processes cannot use it: code with lifted loops, with addresses of
        # this process, or with functions that use their Numba environments.
        library = data.library
        foreign = {*environments(library._final_module)} - {data.fndesc.env_name}
        text = str(library._final_module) if foreign else ""
        alone = not any(text.count(name) > 1 for name in foreign)
        if self.enabled and alone and not data.lifted and not library.has_dynamic_globals:
            kept = _external_symbols(data.library), dumps(data._reduce())
            store.write_entry(self._entry(sig, data.codegen), kept)

    def _entry(self, sig: Any, codegen: Any) -> Path:
        function = self.function
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        key = store.digest(
            platform_key(),
            f"{function.__module__}.{function.__qualname__}",
            repr((sig, codegen.magic_tuple())),
            function.__code__.co_code,
            dumps(cells) if cells else b"",
        )
        return store.directory() / f"numba_{key}"


def _external_symbols(library: Any) -> list[str]:
    """The undefined symbols of a code library."""
    functions = library._final_module.functions
    return [f.name for f in functions if f.is_declaration and not f.name.startswith("llvm.")]


def _are_resolved(symbols: list[str]) -> bool:
    """True if LLVM can resolve all symbols.  Numba registers those of its runtime when it prepares
    to compile, which takes half a second; so they are registered here."""
    if _nrt.c_helpers and not llvm.address_of_symbol("NRT_Free"):
        for name, address in _nrt.c_helpers.items():
            llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    if block_pool.ALLOCATE in symbols:
        block_pool.register_symbols()
    return all(llvm.address_of_symbol(s) for s in symbols)
