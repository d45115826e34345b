"""Functions of libraries and their paths."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from ...rules.library import LIBRARY


def _path_of(value: Any) -> str:
    """`numpy.maximum.accumulate` for a method of a ufunc, `scipy.stats.norm.pdf` for one of a
    distribution, "" for other objects."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"numpy.{owner.__name__}.{value.__name__}"
    if type(owner).__module__.startswith("scipy.stats"):
        name = getattr(owner, "name", type(owner).__name__.removesuffix("_gen"))
        return f"scipy.stats.{name}.{value.__name__}"
    return ""


@functools.lru_cache(maxsize=1)
def _modules() -> tuple[str, ...]:
    return tuple(sorted({path.rpartition(".")[0] for path in LIBRARY}))


def library_function(value: Any) -> Any:
    """The program that stands for a library's function, if there is one.  A function of a module
    that has not been imported cannot have been called."""
    path = _path_of(value)
    if path:
        return LIBRARY.get(path)
    name = getattr(value, "__name__", "")
    for module in _modules():
        program = LIBRARY.get(f"{module}.{name}")
        if program is not None and getattr(sys.modules.get(module), name, None) is value:
            return program
    return None


# Where users know functions from, whose own modules are private.
_PUBLIC = (
    "numpy numpy.linalg numpy.fft math scipy.special scipy.linalg scipy.signal scipy.integrate"
    " scipy.ndimage scipy.stats scipy.optimize"
).split()


def path_of(value: Any) -> str:
    """`numpy.ptp`, as users know it, for a function of a library; "" for others."""
    name = getattr(value, "__name__", "")
    if _path_of(value):
        return _path_of(value)
    for module in (*_PUBLIC, *_modules()):
        if name and getattr(sys.modules.get(module), name, None) is value:
            return name if module == "builtins" else f"{module}.{name}"
    return ""
