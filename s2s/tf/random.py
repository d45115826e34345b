"""`tf.random`: random tensors.  Each call draws new values, in compiled steps, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..public_names import listing
from .tensors import export

__all__ = ["normal", "uniform"]
__dir__ = listing(__name__)

_generator = np.random.default_rng()


def set_seed(seed: int) -> None:
    global _generator
    _generator = np.random.default_rng(seed)


def normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = np.float32) -> Any:
    return _generator.normal(mean, stddev, tuple(shape)).astype(dtype)


def uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = np.float32) -> Any:
    """Uniform values in [minval, maxval).  `maxval` is 1 by default for floats, and required for
    integers."""
    if np.issubdtype(dtype, np.integer):
        if maxval is None:
            raise ValueError("tf.random.uniform of integers needs maxval")
        return _generator.integers(minval, maxval, tuple(shape), dtype)
    return _generator.uniform(minval, 1 if maxval is None else maxval, tuple(shape)).astype(dtype)


export(globals())
__all__ += ["set_seed"]
