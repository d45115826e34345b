"""The host function of an emitted module, ready to be called.

The kernels are not executed here: their functions only name them in launches.  So neither Numba nor
a CUDA package is needed where compiled kernels are in the cache.
"""

from __future__ import annotations

import linecache
import types
from collections.abc import Callable
from typing import Any

from .execution import Call
from .kernel_text import kernel_texts, with_block

# The two lines of the header that import the compiler.
_IMPORTS = ("from numba import cuda", "from numba.cuda import libdevice")


class _NoCuda:
    """A replacement of the module `cuda`, whose decorator returns the kernels unchanged."""

    @staticmethod
    def jit(function: Any = None, **options: Any) -> Any:
        return function if function is not None else lambda function: function


class HostModule:
    """An emitted module for one number of threads in a block (None: as emitted)."""

    def __init__(self, lowered: str, program: Any, block: int | None = None) -> None:
        text = lowered if block is None else with_block(lowered, block)
        self.kernels = kernel_texts(text, program)
        kept = (line if line not in _IMPORTS else "" for line in text.split("\n"))
        name = "<s2s host functions>"
        module = types.ModuleType(name)
        vars(module).update(cuda=_NoCuda, libdevice=None)
        source = "\n".join(kept)
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        exec(compile(source, name, "exec"), vars(module))
        self._space = vars(module)

    def run(
        self,
        entry: str,
        device: Any,
        arguments: tuple[Any, ...],
        translate: Callable[[Exception], Exception],
    ) -> tuple[Call, tuple[Any, ...]]:
        """Call the host function: its results, and the call, whose errors are not reported yet."""
        call = Call(device, self.kernels, translate)
        return call, self._space[entry](call, *arguments)
