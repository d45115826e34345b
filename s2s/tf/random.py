"""`tf.random`: numbers drawn anew in each call, in compiled steps, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import tensor

_generator = np.random.default_rng()


def set_seed(seed: int) -> None:
    global _generator
    _generator = np.random.default_rng(seed)


def normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = np.float32) -> Any:
    return tensor(_generator.normal(mean, stddev, tuple(shape)).astype(dtype))


def uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = np.float32) -> Any:
    return tensor(_generator.uniform(minval, maxval, tuple(shape)).astype(dtype))
