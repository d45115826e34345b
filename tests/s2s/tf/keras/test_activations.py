"""`tf.keras.activations`: results are tensors; integers become floats where Keras converts them."""

from __future__ import annotations

import numpy as np
import pytest

import s2s.tf as tf
from s2s.layers import activations as native
from tests.s2s.tf.tensors import same

X = np.array([[-2.0, 0.5, 7.0]])


@pytest.mark.parametrize("name", [n for n in tf.keras.activations.__all__ if n != "get"])
def test_values_are_those_of_the_layers(name: str) -> None:
    """`tests/s2s/layers/test_activations.py` compares these with formulas."""
    same(getattr(tf.keras.activations, name)(X), native.get(name)(X), "float64")


@pytest.mark.parametrize("name", ["exponential", "tanh", "leaky_relu"])
def test_integers_become_floats(name: str) -> None:
    x = np.array([[-2, 0, 3]])
    want = native.get(name)(x.astype(np.float32))
    same(getattr(tf.keras.activations, name)(x), want, "float32")


def test_options_and_lookup() -> None:
    same(tf.keras.activations.leaky_relu(X, 0.5), [[-1.0, 0.5, 7.0]])
    assert tf.keras.activations.get("relu") is native.relu
    with pytest.raises(ValueError, match="no activation 'none'"):
        tf.keras.activations.get("none")
