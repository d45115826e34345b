"""Modules that are loaded when something of them is asked for."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType


def later(name: str) -> ModuleType:
    """A module by its name; one that nobody has imported yet is loaded when it is looked at."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
