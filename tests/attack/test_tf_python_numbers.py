"""`s2s.tf` functions of Python lists and numbers: TensorFlow's dtypes, float32 and int32, in plain
code and compiled."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import s2s
import s2s.tf as tf

FLOATS = {
    "exp([1.0])": [np.e],
    "exp(1.0)": np.e,
    "abs(-1.5)": 1.5,
    "sqrt(4.0)": 2.0,
    "math.rsqrt([4.0])": [0.5],
    "math.reciprocal([2.0])": [0.5],
    "sigmoid([0.0, 1.0])": [0.5, 1 / (1 + np.exp(-1.0))],
    "tanh([0.5])": [np.tanh(0.5)],
    "nn.softplus([0.5])": [np.log1p(np.exp(0.5))],
    "nn.relu([-1.0, 2.0])": [0.0, 2.0],
    "nn.leaky_relu([-1.0])": [-0.2],
    "nn.elu([1.0, -1.0])": [1.0, np.expm1(-1.0)],
    "nn.softmax([1.0, 1.0])": [0.5, 0.5],
    "nn.l2_loss([1.0, 2.0])": 2.5,
    "nn.bias_add([[1.0, 2.0]], [1.0, 2.0])": [[2.0, 4.0]],
    "nn.sigmoid_cross_entropy_with_logits([1.0], [0.0])": [np.log(2.0)],
    "math.erf([0.0])": [0.0],
    "reduce_max([1.0, 2.0])": 2.0,
    "math.reduce_std([1.0, 3.0])": 1.0,
    "reduce_logsumexp([0.0, 0.0])": np.log(2.0),
    "norm([3.0, 4.0])": 5.0,
    "add(1.0, 2.0)": 3.0,
    "add([1.0], 2.0)": [3.0],
    "add(1.0, [2])": [3.0],
    "pow(2.0, 3.0)": 8.0,
    "atan2(1.0, [1.0])": [np.pi / 4],
    "matmul([[1.0, 2.0]], [[1.0], [2.0]])": [[5.0]],
    "linalg.det([[1.0, 2.0], [3.0, 4.0]])": -2.0,
    "sort([3.0, 1.0])": [1.0, 3.0],
    "transpose([[1.0, 2.0]])": [[1.0], [2.0]],
    "tile([1.0], [2])": [1.0, 1.0],
    "pad([1.0], [[1, 0]])": [0.0, 1.0],
}
INTEGERS = {
    "abs([-1, 2])": [1, 2],
    "square([2, 3])": [4, 9],
    "nn.relu([-1, 2])": [0, 2],
    "reduce_max([1, 2])": 2,
    "add(1, 2)": 3,
    "maximum([1, 2], 2)": [2, 2],
    "pow(2, 3)": 8,
    "sort([3, 1])": [1, 3],
    "reverse([1, 2], [0])": [2, 1],
    "roll([1, 2, 3], 1, 0)": [3, 1, 2],
}
CASES = [(text, v, np.float32) for text, v in FLOATS.items()]
CASES += [(text, v, np.int32) for text, v in INTEGERS.items()]


def _function(text: str) -> Any:
    source, name = f"def f():\n    return tf.{text}\n", f"<tf {text}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"tf": tf}
    exec(compile(source, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize(("text", "value", "dtype"), CASES, ids=[c[0] for c in CASES])
def test_lists_and_scalars_have_tensorflows_dtypes(text, value, dtype):
    function = _function(text)
    for found in (function(), s2s.function(function, backend="loops")()):
        np.testing.assert_allclose(np.asarray(found), value, rtol=1e-6)
        assert np.asarray(found).dtype == dtype


def test_arrays_and_variables_keep_their_dtype():
    x = np.array([1.0, 2.0])
    assert tf.exp(x).dtype == np.float64 and tf.add(x, 1.0).dtype == np.float64
    assert tf.add([1.0, 2.0], x).dtype == np.float64
    v = tf.Variable(x.astype(np.float32))
    assert tf.maximum(v, 0.5).dtype == np.float32
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.sigmoid(v) * tf.exp([0.0, 1.0]))
    gradient = tape.gradient(y, v)
    s = 1 / (1 + np.exp(-x))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, s * (1 - s) * np.exp([0.0, 1.0]), rtol=1e-5)
