"""The replay check of tapes in plain Python accepts rounding differences, however small the loss
is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s.tf as tf
from s2s.errors import UnsupportedError
from s2s.tape.query import CHECK_REPLAY, _check_alike
from tests.scale import count


def overfit_classifier(steps: int) -> float:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 4)).astype(np.float32)
    y = np.argmax(x[:, :3], axis=1)
    x[np.arange(8), y] += 2.0
    w = tf.Variable(rng.normal(size=(4, 3)).astype(np.float32))
    b = tf.Variable(np.zeros(3, np.float32))
    loss = np.float32(np.inf)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            logits = x @ w + b
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            )
        gw, gb = tape.gradient(loss, [w, b])
        w.assign_sub(8.0 * gw)
        b.assign_sub(8.0 * gb)
    return float(loss)


def overfit_regression(steps: int) -> float:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(32, 3)).astype(np.float32)
    y = (100.0 + x @ np.array([1.0, -2.0, 3.0], np.float32)).astype(np.float32)
    w, b = tf.Variable(np.zeros(3, np.float32)), tf.Variable(0.0)
    loss = np.float32(np.inf)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.linalg.matvec(x, w) + b - y))
        gw, gb = tape.gradient(loss, [w, b])
        w.assign_sub(0.1 * gw)
        b.assign_sub(0.1 * gb)
    return float(loss)


@pytest.mark.parametrize("checked, backend", [("0", "numba"), ("0", "loops"), ("1", "numba")])
def test_training_goes_on_when_the_model_fits(checked: str, backend: str, monkeypatch: Any) -> None:
    monkeypatch.setenv(CHECK_REPLAY, checked)
    monkeypatch.setenv("S2S_BACKEND", backend)
    assert overfit_classifier(count(300, 3000)) < 1e-4
    assert overfit_regression(count(400, 4000)) < 1e-8


class Hidden:
    """An array whose memory is written through another object."""

    def __init__(self) -> None:
        self.memory = bytearray(np.array([1.0, 2.0]).tobytes())


def changed_behind_the_back() -> tuple[Any, Any, tf.Variable]:
    hidden = Hidden()
    w = tf.Variable(np.array([1.0, 2.0]))
    w._array = np.frombuffer(hidden.memory, np.float64)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(w * w)
    hidden.memory[:] = np.array([5.0, 7.0]).tobytes()
    return tape, y, w


def test_values_are_compared_when_asked_to(monkeypatch: Any) -> None:
    monkeypatch.setenv(CHECK_REPLAY, "1")
    monkeypatch.setenv("S2S_BACKEND", "loops")
    tape, y, w = changed_behind_the_back()
    with pytest.raises(UnsupportedError, match="gives another value when it is computed again"):
        tape.gradient(y, w)


def test_shape_and_dtype_are_compared_always() -> None:
    _check_alike(np.float32(1.0), np.array(2.0, np.float32))
    with pytest.raises(UnsupportedError, match=r"shape \(3,\) and dtype float64 instead of \(2,\)"):
        _check_alike(np.zeros(2), np.zeros(3))
    with pytest.raises(UnsupportedError, match="dtype float64 instead of .* float32"):
        _check_alike(np.zeros(2, np.float32), np.zeros(2))
