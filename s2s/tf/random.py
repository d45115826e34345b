"""`tf.random`: numbers drawn when Python runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor

_generator = np.random.default_rng()


def set_seed(seed: int) -> None:
    global _generator
    _generator = np.random.default_rng(seed)


def normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = np.float32) -> Any:
    return _generator.normal(mean, stddev, shape).astype(dtype).view(Tensor)


def uniform(shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = np.float32) -> Any:
    return _generator.uniform(minval, maxval, shape).astype(dtype).view(Tensor)
