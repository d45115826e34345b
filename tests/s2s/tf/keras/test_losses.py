"""`tf.keras.losses`: functions return one loss per sample, as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s.tf as tf
from s2s import losses as native
from tests.s2s.tf.tensors import same

K = tf.keras.losses
Y = np.array([[0.0, 1.0], [1.0, 0.0]])
P = np.array([[0.25, 0.75], [0.5, 0.5]])


@pytest.mark.parametrize(
    "got, want",
    [
        (lambda: K.mean_squared_error(Y, P), [0.0625, 0.25]),
        (lambda: K.mean_absolute_error(Y, P), [0.25, 0.5]),
        (lambda: K.huber(Y, P, 0.25), [0.03125, 0.25 * (0.5 - 0.125)]),
        (lambda: K.binary_crossentropy(Y, P), -np.log([0.75, 0.5])),
        (lambda: K.binary_crossentropy(Y, P * 0, from_logits=True), -np.log([0.5, 0.5])),
        (lambda: K.categorical_crossentropy(Y, P), -np.log([0.75, 0.5])),
        (lambda: K.categorical_crossentropy(Y, P, label_smoothing=1.0),
         [-0.5 * np.log(0.25 * 0.75), -np.log(0.5)]),
        (lambda: K.sparse_categorical_crossentropy(np.array([1, 0]), P), -np.log([0.75, 0.5])),
        (lambda: K.sparse_categorical_crossentropy(np.array([1, 0]), np.log(P), True),
         -np.log([0.75, 0.5])),
        (lambda: K.sparse_categorical_crossentropy(np.array([1, 0]), P, ignore_class=0),
         [-np.log(0.75), 0.0]),
        (lambda: K.hinge(Y, P), [(1.25 + 0.25) / 2, (0.5 + 1.5) / 2]),
        (lambda: K.squared_hinge(Y, P), [(1.5625 + 0.0625) / 2, (0.25 + 2.25) / 2]),
        (lambda: K.poisson(np.zeros((2, 2)), P), [0.5, 0.5]),
        (lambda: K.kl_divergence(P[:1], P[1:]), [0.25 * np.log(0.5) + 0.75 * np.log(1.5)]),
        (lambda: K.cosine_similarity(Y, P), [-0.75 / np.hypot(0.25, 0.75), -np.sqrt(0.5)]),
        (lambda: K.cosine_similarity(Y, P, axis=0),
         [-0.5 / np.hypot(0.25, 0.5), -0.75 / np.hypot(0.5, 0.75)]),
    ],
)  # fmt: skip
def test_values(got: Any, want: Any) -> None:
    same(got(), want, "float64", rtol=1e-6)


def test_short_names() -> None:
    same(K.mse(Y, P), [0.0625, 0.25]), same(K.mae(Y, P), [0.25, 0.5])
    same(K.kld(P, P), [0.0, 0.0])


def test_classes_are_those_of_s2s() -> None:
    for name in native.__all__:
        assert getattr(K, name) is getattr(native, name)


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="y_true has shape"):
        K.mse(Y, P[0])
    with pytest.raises(ValueError, match="use SparseCategoricalCrossentropy"):
        K.categorical_crossentropy(np.array([1, 0]), P)
