"""`tf.keras.mixed_precision` has the policies of s2s; setting one there holds for all layers."""

from __future__ import annotations

import numpy as np
import pytest

import s2s.tf as tf
from s2s import mixed_precision, optimizers


def test_names_are_those_of_s2s() -> None:
    keras = tf.keras.mixed_precision
    assert keras.Policy is mixed_precision.Policy
    assert keras.LossScaleOptimizer is optimizers.LossScaleOptimizer
    assert keras.policy("float64") == mixed_precision.policy("float64")


def test_the_global_policy() -> None:
    try:
        tf.keras.mixed_precision.set_global_policy("float64")
        assert mixed_precision.global_policy().name == "float64"
        assert tf.keras.layers.Dense(1)(np.ones((1, 1), np.float32)).dtype == np.float64
        with pytest.warns(UserWarning, match="layers compute in float32"):
            tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
        assert tf.keras.layers.Dense(1)(np.ones((1, 1))).dtype == np.float32
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")
