"""The public names of a module: what `dir` lists, and names that are imported on first access.

A public module ends its imports with

    __all__ = ["Model", "Sequential"]
    __dir__ = listing(__name__)

so that `dir`, tab completion and `from module import *` agree.  Helpers, imported modules and
subpackages that are no part of the interface stay reachable, but are not listed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def listing(module: str) -> Callable[[], list[str]]:
    """The `__dir__` of a module: the names in its `__all__`, sorted."""

    def __dir__() -> list[str]:
        return sorted(sys.modules[module].__all__)

    return __dir__


def lazy_names(
    module: str, names: Mapping[str, str], submodules: Sequence[str] = ()
) -> Callable[[str], Any]:
    """The `__getattr__` of a package.  `names` maps a name to the module that defines it, relative
    to the package.  That module, or the one in `submodules`, is imported on first access."""

    def __getattr__(name: str) -> Any:
        if name in names:
            return getattr(importlib.import_module(names[name], module), name)
        if name in submodules:
            return importlib.import_module(f".{name}", module)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__
