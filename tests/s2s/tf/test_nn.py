"""`tf.nn`: values from the definitions, dtypes, gradients of losses for extreme logits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2s
import s2s.tf as tf
from s2s.tf.nn import of_images
from tests.s2s.tf.tensors import same

X = np.array([-2.0, 0.0, 0.5, 7.0])


@pytest.mark.parametrize(
    "name, formula",
    [
        ("relu", lambda x: max(x, 0.0)),
        ("relu6", lambda x: min(max(x, 0.0), 6.0)),
        ("leaky_relu", lambda x: max(x, 0.2 * x)),
        ("elu", lambda x: x if x > 0 else math.expm1(x)),
        ("gelu", lambda x: x * 0.5 * math.erfc(-x / math.sqrt(2))),
        ("silu", lambda x: x / (1 + math.exp(-x))),
        ("swish", lambda x: x / (1 + math.exp(-x))),
        ("sigmoid", lambda x: 1 / (1 + math.exp(-x))),
        ("softplus", lambda x: math.log1p(math.exp(x))),
        ("softsign", lambda x: x / (1 + abs(x))),
        ("tanh", math.tanh),
    ],
)
def test_activations(name: str, formula: Any) -> None:
    want = [formula(x) for x in X]
    same(getattr(tf.nn, name)(X), want, "float64")
    same(getattr(tf.nn, name)(X.astype(np.float32)), want, "float32", rtol=1e-5)


def test_activations_of_integers() -> None:
    x = np.array([-3, 2, 9])
    same(tf.nn.relu(x), [0, 2, 9], "int64")
    same(tf.nn.relu6(x), [0, 2, 6], "int64")
    same(tf.nn.leaky_relu(x, 0.5), [-1.5, 2, 9], "float32")


# ---------------------------------------------------------------- convolution and pooling

IMAGE = np.arange(1.0, 10.0).reshape(1, 3, 3, 1)


def test_convolution() -> None:
    kernel = np.array([[1.0, 0.0], [0.0, 10.0]]).reshape(2, 2, 1, 1)
    valid = [[51.0, 62.0], [84.0, 95.0]]
    same(tf.nn.conv2d(IMAGE, kernel, 1, "VALID")[0, :, :, 0], valid)
    same(tf.nn.conv2d(IMAGE, kernel, [1, 2, 2, 1], "VALID")[0, :, :, 0], [[51.0]])
    padded = tf.nn.conv2d(IMAGE, kernel, 1, "SAME")
    same(padded[0, :, :, 0], [[51, 62, 3], [84, 95, 6], [7, 8, 9]])
    sequence = np.array([1.0, 2.0, 4.0]).reshape(1, 3, 1)
    filters = np.array([1.0, 10.0]).reshape(2, 1, 1)
    same(tf.nn.conv1d(sequence, filters, 1, "VALID")[0, :, 0], [21, 42])
    same(tf.nn.conv1d(sequence, filters, 2, "SAME")[0, :, 0], [21, 4])


def test_pooling() -> None:
    same(tf.nn.max_pool2d(IMAGE, 2, 1, "VALID")[0, :, :, 0], [[5, 6], [8, 9]])
    same(tf.nn.max_pool2d(-IMAGE, 2, 2, "SAME")[0, :, :, 0], [[-1, -3], [-7, -9]])
    same(tf.nn.avg_pool2d(IMAGE, [2, 2], [2, 2], "SAME")[0, :, :, 0], [[3, 4.5], [7.5, 9]])


def test_window_sizes() -> None:
    assert of_images(2) == of_images([2]) == of_images([2, 2]) == of_images([1, 2, 2, 1]) == (2, 2)
    assert of_images((1, 2, 3, 1)) == of_images((2, 3)) == (2, 3)


# ---------------------------------------------------------------- losses per sample

LOGITS = np.array([[1.0, -1.0, 0.5], [0.0, 2.0, -3.0]])
SHARES = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)


def test_cross_entropies() -> None:
    labels = np.array([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    want = -(labels * np.log(SHARES)).sum(1)
    same(tf.nn.softmax_cross_entropy_with_logits(labels, LOGITS), want)
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits
    same(sparse(labels=np.array([2, 0]), logits=LOGITS), -np.log(SHARES[[0, 1], [2, 0]]))
    p = 1 / (1 + np.exp(-LOGITS))
    want = -labels * np.log(p) - (1 - labels) * np.log(1 - p)
    same(tf.nn.sigmoid_cross_entropy_with_logits(labels, LOGITS), want, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_logits(dtype: str) -> None:
    z, labels = np.array([[1e4, -1e4]], dtype), np.array([[0.0, 1.0]], dtype)
    same(tf.nn.softmax_cross_entropy_with_logits(labels, z), [2e4], dtype)
    same(tf.nn.sigmoid_cross_entropy_with_logits(labels, z), [[1e4, 1e4]], dtype)

    def total(z: Any) -> Any:
        return np.sum(tf.nn.sigmoid_cross_entropy_with_logits(labels, z)) + np.sum(
            tf.nn.softmax_cross_entropy_with_logits(labels, z)
        )

    gradient = s2s.grad(total, backend="loops")(z)
    np.testing.assert_allclose(gradient, [[2.0, -2.0]])


# ---------------------------------------------------------------- the rest


def test_moments() -> None:
    mean, variance = tf.nn.moments(LOGITS, [0])
    same(mean, [0.5, 0.5, -1.25]), same(variance, [0.25, 2.25, 3.0625])
    mean, variance = tf.nn.moments(LOGITS, axes=[0, 1], keepdims=True)
    assert mean.shape == variance.shape == (1, 1)


def test_lookup_bias_and_l2_loss() -> None:
    same(tf.nn.embedding_lookup(LOGITS, [[1, 0]]), [LOGITS[::-1]])
    same(tf.nn.bias_add(LOGITS, [1.0, 2.0, 3.0]), LOGITS + [1, 2, 3])
    same(tf.nn.l2_loss(np.array([3.0, 4.0])), 12.5)
    same(tf.nn.l2_normalize(np.array([3.0, 4.0])), [0.6, 0.8])


def test_dropout() -> None:
    tf.random.set_seed(1)
    x = np.ones((200, 50), np.float32)
    got = tf.nn.dropout(x, 0.2)
    assert got.dtype == np.float32
    np.testing.assert_allclose(np.unique(got), [0.0, 1.25])
    assert abs(float(np.mean(got)) - 1.0) < 0.03  # the standard error is 0.005
    tf.random.set_seed(1)
    np.testing.assert_array_equal(tf.nn.dropout(x, 0.2), got)
