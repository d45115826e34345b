"""`tf.GradientTape`: results are tensors, in the structure of the sources."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
import s2s.tf as tf
from s2s.objects.tensor import is_immutable
from tests.s2s.tf.tensors import same


def test_gradients_are_tensors() -> None:
    w = tf.Variable([1.0, -2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * w * w)
    gradient = tape.gradient(loss, w)
    same(gradient, [3.0, 12.0], "float32")
    with pytest.raises(TypeError, match="a tensor cannot be written to"):
        gradient[0] = 0.0


def test_structures_of_sources() -> None:
    w, b = tf.Variable([1.0, -2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w) * b
    got = tape.gradient(loss, {"w": w, "rest": [b, tf.Variable(1.0)]})
    same(got["w"], [3.0, 3.0]), same(got["rest"][0], -1.0)
    assert got["rest"][1] is None


def test_jacobians() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    same(tape.jacobian(y, x), [[2.0, 0.0], [0.0, 4.0]])


def test_it_is_a_tape_of_s2s() -> None:
    assert issubclass(tf.GradientTape, s2s.GradientTape)
    plain = s2s.Variable(np.array([2.0]))
    with s2s.GradientTape() as tape:
        loss = np.sum(plain**2)
    assert not is_immutable(tape.gradient(loss, plain))


def test_in_compiled_steps() -> None:
    w: Any = tf.Variable([1.0, -2.0])

    @s2s.function(backend="loops")
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w)
        return tape.gradient(loss, w)

    np.testing.assert_array_equal(step(), [2.0, -4.0])
