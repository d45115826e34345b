"""`tf.keras.utils.set_random_seed` seeds all global generators."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import s2s.tf as tf
from s2s.layers import Dense, Dropout


def drawn() -> dict[str, Any]:
    layer = Dense(2)
    layer(np.ones((1, 3), np.float32))
    return {
        "python": random.random(),
        "numpy": float(np.random.rand()),
        "weights": layer.kernel.numpy().tolist(),
        "layers": Dropout(0.5)(np.ones(30), training=True).tolist(),
        "tf.random": tf.random.normal([2]).tolist(),
    }


def test_one_seed_for_all() -> None:
    tf.keras.utils.set_random_seed(3)
    first, second = drawn(), drawn()
    tf.keras.utils.set_random_seed(3)
    assert drawn() == first
    tf.keras.utils.set_random_seed(4)
    other = drawn()
    for name in first:
        assert first[name] != second[name] and first[name] != other[name], name
