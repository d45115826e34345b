"""Random draws, compiled by Numba.

Numba implements most methods of a Generator, with the same stream of numbers as NumPy.  The other
methods, and NumPy's legacy generator, whose state Numba does not share, are calls of NumPy in
object mode, which take some two microseconds more per call.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import objmode, types
from numba.extending import overload

from ..kernels import random
from ..kernels.random import draw_into, draw_one  # noqa: F401  (read by the templates)
from ..transforms.rules.random_draws import (
    GENERATOR_METHODS,
    INTEGER_METHODS,
    INTERPRETED_METHODS,
    LEGACY_METHODS,
)

_RNG = numba.typeof(np.random.default_rng())

# Methods with a `dtype` parameter.
_WITH_DTYPE = ("random", "standard_normal", "standard_exponential", "standard_gamma")

# `{rng}` is "rng, " or empty, `{args}` the parameters, `{at}` the parameters at one index.
_NATIVE_ONE = """
def one(rng, {args}):
    return rng.{method}({args})
"""
_NATIVE_FILL = """
def fill(rng, out, {args}):
{loops}out[{index}] = rng.{method}({at}{keywords})
"""
_FOREIGN_ONE = """
def one({rng}{args}):
    with objmode(value="{dtype}"):
        value = draw_one({owner}, "{method}", ({args}))
    return value
"""
_FOREIGN_FILL = """
def fill({rng}out, {args}):
    with objmode():
        draw_into({owner}, "{method}", out, ({args}))
"""


def _define(template: str, name: str, **texts: str) -> Any:
    # Executed in the globals of this module, so that cached machine code can refer to them.
    space: dict[str, Any] = {}
    exec(template.format(**texts), globals(), space)
    return space[name]


def _names(count: int) -> str:
    return "".join(f"a{k}, " for k in range(count))


def _native(method: str) -> None:
    @overload(getattr(random, f"one_{method}"), strict=False)
    def one(rng, *params):  # type: ignore[no-untyped-def]
        return _define(_NATIVE_ONE, "one", method=method, args=_names(len(params)))

    @overload(getattr(random, f"fill_{method}"), strict=False)
    def fill(rng, out, *params):  # type: ignore[no-untyped-def]
        arrays = [isinstance(p, types.Array) for p in params]
        # Array parameters have the shape of `out`.
        axes = range(out.ndim)
        loops = "".join(f"{'    ' * (k + 1)}for i{k} in range(out.shape[{k}]):\n" for k in axes)
        index = ", ".join(f"i{k}" for k in axes) or "()"
        at = "".join(f"a{k}[{index}], " if a else f"a{k}, " for k, a in enumerate(arrays))
        single = method in _WITH_DTYPE and out.dtype == types.float32
        return _define(
            _NATIVE_FILL, "fill", method=method, args=_names(len(params)), at=at, index=index,
            loops=loops + "    " * (out.ndim + 1), keywords="dtype=np.float32" if single else "",
        )  # fmt: skip


def _foreign(method: str, legacy: bool) -> None:
    prefix = "legacy_" if legacy else ""
    texts = {
        "method": method,
        "rng": "" if legacy else "rng, ",
        "owner": "None" if legacy else "rng",
        "dtype": "int64" if method in INTEGER_METHODS else "float64",
    }

    def one(*params):  # type: ignore[no-untyped-def]
        count = len(params) - (not legacy)
        return _define(_FOREIGN_ONE, "one", args=_names(count), **texts)

    def fill(*params):  # type: ignore[no-untyped-def]
        count = len(params) - 1 - (not legacy)
        return _define(_FOREIGN_FILL, "fill", args=_names(count), **texts)

    overload(getattr(random, f"{prefix}one_{method}"), strict=False)(one)
    overload(getattr(random, f"{prefix}fill_{method}"), strict=False)(fill)


for _method in GENERATOR_METHODS:
    if _method in INTERPRETED_METHODS:
        _foreign(_method, legacy=False)
    else:
        _native(_method)
for _method in LEGACY_METHODS:
    _foreign(_method, legacy=True)


@overload(random.default_rng)
def _default_rng(*seed):  # type: ignore[no-untyped-def]
    def default_rng(*seed):  # type: ignore[no-untyped-def]
        with objmode(rng=_RNG):
            rng = random.default_rng(*seed)
        return rng

    return default_rng


@overload(random.seed)
def _seed(*seed):  # type: ignore[no-untyped-def]
    def set_seed(*seed):  # type: ignore[no-untyped-def]
        with objmode():
            random.seed(*seed)

    return set_seed
