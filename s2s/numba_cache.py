"""Functions that Numba compiled, kept in the cache of s2s.

Numba's own `cache=True` writes beside the source file, which fails in a read-only installation,
and its files have neither seal nor owner checked.  A `_Cache` is what Numba's dispatchers ask for
machine code; this one keeps it as an entry of `s2s.cache`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from . import cache


def cached(compile: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that compiles as another does (`njit(...)`), and keeps the machine code."""

    def decorate(function: Any) -> Any:
        dispatcher = compile(function)
        if hasattr(dispatcher, "_cache"):  # it is the plain function under NUMBA_DISABLE_JIT
            dispatcher._cache = EntryCache(function)
        return dispatcher

    return decorate


class EntryCache(_Cache):
    """The machine code of one function: an entry for each signature."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.enabled = True

    @property
    def cache_path(self) -> str:
        return str(cache.directory())

    def enable(self) -> None:
        self.enabled = True

    def disable(self) -> None:
        self.enabled = False

    def flush(self) -> None:
        """Before a function is compiled again: entries never change, as their names say all that
        they depend on."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        if not self.enabled:
            return None
        data = cache.fetch(self._entry(sig, target_context.codegen()))
        if data is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception:  # it refers to something that is not there: it is compiled again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        # Code with lifted loops, or with addresses of this process in it, is of no use to another.
        if self.enabled and not data.lifted and not data.library.has_dynamic_globals:
            cache.keep(self._entry(sig, data.codegen), dumps(data._reduce()))

    def _entry(self, sig: Any, codegen: Any) -> Path:
        function = self.function
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        key = cache.digest(
            cache.platform_key(),
            f"{function.__module__}.{function.__qualname__}",
            repr((sig, codegen.magic_tuple())),
            function.__code__.co_code,
            dumps(cells) if cells else b"",
        )
        return cache.directory() / f"numba_{key}"
