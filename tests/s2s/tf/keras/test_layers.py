"""`tf.keras.layers`: classes derived from those of `s2s.layers`, with tensors as results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s.tf as tf
from s2s import layers as native
from s2s.objects.tensor import is_immutable
from s2s.tf.keras.layers import version
from tests.s2s.tf.tensors import same

NAMES = [n for n in tf.keras.layers.__all__ if n not in ("Input", "Layer")]


@pytest.mark.parametrize("name", NAMES)
def test_classes(name: str) -> None:
    ours, theirs = getattr(tf.keras.layers, name), getattr(native, name)
    assert issubclass(ours, theirs) and issubclass(ours, tf.keras.layers.Layer)
    assert ours.__name__ == theirs.__name__ and ours.__module__ == "s2s.tf.keras.layers"
    assert version(theirs) is ours
    for base in theirs.__bases__:
        if issubclass(base, native.Layer):
            assert issubclass(ours, version(base))


def test_results_and_weights() -> None:
    layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
    x = np.ones((1, 3), np.float32)
    same(layer(x), [[3.0, 3.0]], "float32")
    assert isinstance(layer.kernel, tf.Variable) and layer.name == "dense"


def test_call_receives_snapshots() -> None:
    seen: list[Any] = []

    x = np.ones(2)
    layer = tf.keras.layers.Lambda(lambda inputs: seen.append(inputs) or inputs * 2.0)
    out = layer(x)
    x[:] = 5.0
    assert is_immutable(seen[0]) and seen[0].tolist() == [1.0, 1.0] and out.tolist() == [2.0, 2.0]


def test_several_inputs_and_results() -> None:
    x = np.ones((1, 2, 3), np.float32)
    same(tf.keras.layers.Add()([x, x]), 2 * x)
    outputs = tf.keras.layers.LSTM(2, return_state=True)(x)
    assert len(outputs) == 3 and all(map(is_immutable, outputs))


def test_inputs_are_those_of_the_layers() -> None:
    assert tf.keras.layers.Input is native.Input
    assert tf.keras.layers.Dense(2)(tf.keras.layers.Input((3,))).shape == (None, 2)
