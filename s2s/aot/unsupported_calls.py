"""Calls that need the Python interpreter at run time, and so are not supported in a library."""

from __future__ import annotations

from typing import Any

from .. import kernels
from ..errors import UnsupportedError
from ..kernels import random
from ..transforms.rules.random_draws import LEGACY_METHODS

ADVICE = "it needs Python or a library at run time; compute it outside, or write it out"


def error(kind: Any, place: str) -> UnsupportedError:
    """The error for a call of a function, given its Numba typing key `kind` and its source
    location."""
    key = getattr(kind, "typing_key", kind)
    module = (getattr(key, "__module__", "") or "").rpartition(".")[2].removeprefix("kernels_")
    name = name_of(key) or f"{module}.{getattr(key, '__name__', key)}"
    return UnsupportedError(f"{name} is not available ahead of time{place}", advice=ADVICE)


def name_of(function: Any) -> str | None:
    """The user-visible name of a runtime function that needs Python, or None for others."""
    return _names().get(id(function))


def _names() -> dict[int, str]:
    from ..kernels_numba.random import FOREIGN

    found: dict[Any, str] = {
        kernels.show: "print",
        random.default_rng: "np.random.default_rng",
        random.seed: "np.random.seed",
    }
    # Numba's implementation of `integers` allocates an array.
    for method in (*FOREIGN, "integers"):
        for kind in ("one", "fill"):
            found[getattr(random, f"{kind}_{method}")] = f"Generator.{method}"
    for method in LEGACY_METHODS:
        for kind in ("one", "fill"):
            found[getattr(random, f"legacy_{kind}_{method}")] = f"np.random.{method}"
    return {id(function): name for function, name in found.items()}
