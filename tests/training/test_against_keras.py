"""Layers and optimizers give Keras's numbers (`make_oracle.py` wrote them)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.tf import keras

from .cases import LAYERS, OPTIMIZERS, STEPS, TARGET, flat, numbers
from .make_oracle import FILE

ORACLE = json.loads(FILE.read_text())


def close(got: Any, want: Any, label: str) -> None:
    assert len(got) == len(want), label
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=3e-6, err_msg=label)


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str) -> None:
    make, value = LAYERS[name]
    layer = make(keras)
    layer(value)
    for k, w in enumerate(layer.trainable_variables):
        w.assign(numbers(w.shape, float(k)))
    plain = np.asarray(layer(value, training=False))
    probe = numbers(plain.shape, 1.0).astype(np.float32)
    floats = value.dtype == np.float32

    @s2s.function(backend="loops")
    def run(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            if floats:
                tape.watch(x)
            out = layer(x, training=True)
            loss = np.sum(out * probe)
        sources = [*layer.trainable_variables, x] if floats else layer.trainable_variables
        return out, tape.gradient(loss, sources)

    out, gradients = run(value)
    want = ORACLE[name]
    close(flat([out]), want["out"], "out")
    close(flat(gradients), want["gradients"], "gradients")
    close(flat(w.numpy() for w in layer.weights), want["weights"], "weights")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer(name: str) -> None:
    optimizer = OPTIMIZERS[name](keras)
    w = s2s.Variable(numbers((3, 2)).astype(np.float32))
    b = s2s.Variable(numbers((2,)).astype(np.float32))

    @s2s.function(backend="loops")
    def step() -> Any:
        with s2s.GradientTape() as tape:
            loss = np.sum((w - TARGET) ** 2) + np.sum(b**4 - b)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
        return loss

    for want in ORACLE[f"optimizer {name}"]:
        step()
        close(flat([w.numpy(), b.numpy()]), want, name)
    assert optimizer.iterations == STEPS
