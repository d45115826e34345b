"""`tf.keras.models`: models whose inputs and results are tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import s2s
import s2s.tf as tf
from s2s.objects.tensor import is_immutable
from tests.s2s.tf.tensors import same

X = np.array([[1.0, 2.0, 3.0]], np.float32)


def test_sequential() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, kernel_initializer="ones")])
    same(model(X), [[6.0, 6.0]], "float32")
    assert isinstance(model, s2s.Sequential) and isinstance(model, tf.keras.Model)
    assert isinstance(model, tf.keras.layers.Layer)
    assert all(isinstance(w, tf.Variable) for w in model.weights)


def test_functional() -> None:
    inputs = tf.keras.Input((3,))
    model: Any = tf.keras.Model(inputs, tf.keras.layers.Rescaling(2.0)(inputs) + 1.0)
    same(model(X), 2 * X + 1)
    assert isinstance(model, tf.keras.Model) and isinstance(model, s2s.Model)
    assert type(model) is tf.keras.Model.functional_form()
    assert type(s2s.Model(inputs, inputs)) is not type(model)


def test_subclasses() -> None:
    class Twice(tf.keras.Model):
        def call(self, inputs: Any) -> Any:
            assert is_immutable(inputs)
            return np.asarray(inputs) * 2.0, {"sum": inputs.sum()}

    outputs, rest = Twice()(X)
    same(outputs, 2 * X), same(rest["sum"], 6.0)
