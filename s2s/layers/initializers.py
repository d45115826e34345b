"""Weight initializers.  Names and distributions are those of Keras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..public_names import listing

__all__ = [
    "get", "glorot_uniform", "he_normal", "ones", "orthogonal", "set_seed", "uniform", "zeros",
]  # fmt: skip
__dir__ = listing(__name__)

Initializer = Callable[[tuple[int, ...], Any], Any]

_generator = np.random.default_rng()
_seeds = np.random.default_rng()


def set_seed(seed: int | None) -> None:
    """Seed the creation of weights and the random generators of layers that are made from now on,
    so that every run gives the same values."""
    global _generator, _seeds
    _generator, _seeds = np.random.default_rng(seed), np.random.default_rng(seed)


def generator(seed: int | None) -> np.random.Generator:
    """A random generator for one layer; without a seed, it is derived from `set_seed`."""
    return np.random.default_rng(_seeds.integers(2**62) if seed is None else seed)


def zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    return np.zeros(shape, dtype)


def ones(shape: tuple[int, ...], dtype: Any) -> Any:
    return np.ones(shape, dtype)


def glorot_uniform(shape: tuple[int, ...], dtype: Any) -> Any:
    fan_in, fan_out = _fans(shape)
    limit = np.sqrt(6.0 / (fan_in + fan_out))
    return _generator.uniform(-limit, limit, shape).astype(dtype)


def he_normal(shape: tuple[int, ...], dtype: Any) -> Any:
    """A normal distribution truncated at two standard deviations."""
    scale = np.sqrt(2.0 / _fans(shape)[0]) / 0.87962566103423978
    drawn = _generator.normal(size=shape)
    while np.any(np.abs(drawn) > 2.0):
        outside = np.abs(drawn) > 2.0
        drawn[outside] = _generator.normal(size=int(outside.sum()))
    return (scale * drawn).astype(dtype)


def uniform(shape: tuple[int, ...], dtype: Any) -> Any:
    return _generator.uniform(-0.05, 0.05, shape).astype(dtype)


def orthogonal(shape: tuple[int, ...], dtype: Any) -> Any:
    """A matrix with orthonormal rows or columns."""
    rows, columns = shape[0], int(np.prod(shape[1:]))
    q, r = np.linalg.qr(_generator.normal(size=(max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))
    return (q if rows >= columns else q.T).reshape(shape).astype(dtype)


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Fan-in and fan-out of a weight."""
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    field = int(np.prod(shape[:-2]))
    return field * shape[-2], field * shape[-1]


NAMES: dict[str, Initializer] = {
    "zeros": zeros,
    "ones": ones,
    "glorot_uniform": glorot_uniform,
    "he_normal": he_normal,
    "uniform": uniform,
    "orthogonal": orthogonal,
}


def get(which: str | Initializer) -> Initializer:
    """The initializer of that name; a callable is returned as it is."""
    if callable(which):
        return which
    if which not in NAMES:
        raise ValueError(f"there is no initializer {which!r}; choose from {', '.join(NAMES)}")
    return NAMES[which]
