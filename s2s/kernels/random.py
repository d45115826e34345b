"""Random draws that lowered code calls: `one_<method>(rng, …)` returns a scalar,
`fill_<method>(rng, out, …)` fills an array; `legacy_…` are the same for NumPy's legacy generator.

These use NumPy, for `backend="loops"`; `s2s.kernels_numba.random` has the compiled versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..transforms.rules.random_draws import (
    GENERATOR_METHODS,
    INTEGER_METHODS,
    LEGACY_METHODS,
    evaluate_draw,
)


def default_rng(*seed: Any) -> np.random.Generator:
    return np.random.default_rng(*(int(s) for s in seed))


def seed(*seed: Any) -> None:
    np.random.seed(*(int(s) for s in seed))


def draw_one(rng: Any, method: str, args: tuple[Any, ...]) -> Any:
    number = np.int64 if method in INTEGER_METHODS else np.float64
    return number(evaluate_draw(rng, method, args, None, number.__name__))


def draw_into(rng: Any, method: str, out: Any, args: tuple[Any, ...]) -> None:
    out[...] = evaluate_draw(rng, method, args, out.shape, out.dtype.name)


def _one(method: str) -> Callable[..., Any]:
    return lambda rng, *args: draw_one(rng, method, args)


def _fill(method: str) -> Callable[..., Any]:
    return lambda rng, out, *args: draw_into(rng, method, out, args)


def _legacy_one(method: str) -> Callable[..., Any]:
    return lambda *args: draw_one(None, method, args)


def _legacy_fill(method: str) -> Callable[..., Any]:
    return lambda out, *args: draw_into(None, method, out, args)


for _name in GENERATOR_METHODS:
    globals()[f"one_{_name}"] = _one(_name)
    globals()[f"fill_{_name}"] = _fill(_name)
for _name in LEGACY_METHODS:
    globals()[f"legacy_one_{_name}"] = _legacy_one(_name)
    globals()[f"legacy_fill_{_name}"] = _legacy_fill(_name)
