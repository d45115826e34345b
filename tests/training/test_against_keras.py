"""Layers, losses and optimizers agree with Keras's results (written by `make_oracle.py`)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import s2s
import s2s.tf as tf

from .cases import (
    LAYERS,
    LOSSES,
    METRICS,
    OPTIMIZERS,
    STEPS,
    TARGET,
    call_options,
    flat,
    numbers,
    predictions,
)
from .make_oracle import FILE, of_metric

ORACLE = json.loads(FILE.read_text())


def close(got: Any, want: Any, label: str) -> None:
    assert len(got) == len(want), label
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=3e-6, err_msg=label)


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str) -> None:
    make, value = LAYERS[name]
    layer, options = make(tf.keras), call_options(name)
    layer(value, **options)
    for k, w in enumerate(layer.trainable_variables):
        w.assign(numbers(w.shape, float(k)))
    plain = np.asarray(layer(value, training=False, **options))
    probe = numbers(plain.shape, 1.0).astype(np.float32)
    floats = value.dtype == np.float32

    @s2s.function(backend="loops")
    def run(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            if floats:
                tape.watch(x)
            out = layer(x, training=True, **options)
            loss = np.sum(out * probe)
        sources = [*layer.trainable_variables, x] if floats else layer.trainable_variables
        return out, tape.gradient(loss, sources)

    @s2s.function(backend="loops")
    def step(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.mean((layer(x, training=True, **options) - probe) ** 2)
        for w, g in zip(layer.trainable_variables, tape.gradient(loss, layer.trainable_variables)):
            w.assign_sub(0.1 * g)
        return loss

    out, gradients = run(value)
    want = ORACLE[f"layer {name}"]
    close(flat([out]), want["out"], "out")
    close(flat(gradients), want["gradients"], "gradients")
    close(flat(layer.get_weights()), want["weights"], "weights")
    close([[float(step(value))] for _ in want["losses"]], [[w] for w in want["losses"]], "losses")
    close(flat(layer.get_weights()), want["last"], "weights after the last step")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer(name: str) -> None:
    optimizer = OPTIMIZERS[name](tf.keras)
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


@pytest.mark.parametrize("name", LOSSES)
def test_loss(name: str) -> None:
    make, y_true, activation, reduction, weights = LOSSES[name]
    loss_fn = make(tf.keras, reduction=reduction)
    w = s2s.Variable(numbers((4, 3), 0.2).astype(np.float32))

    @s2s.function(backend="loops")
    def step(y: Any, weights: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, predictions(tf, w, activation), sample_weight=weights)
        w.assign_sub(0.3 * tape.gradient(loss, w))
        return loss

    want = ORACLE[f"loss {name}"]
    for losses in want["losses"]:
        close(flat([step(y_true, weights)]), losses, name)
    close(flat([w.numpy()]), want["weights"], name)


@pytest.mark.parametrize("name", METRICS)
def test_metric(name: str) -> None:
    make, data = METRICS[name]
    np.testing.assert_allclose(of_metric(make(tf.keras), data), ORACLE[f"metric {name}"], rtol=1e-6)
    metric = make(tf.keras)

    @s2s.function(backend="loops")
    def update(weights: Any, *data: Any) -> Any:
        metric.update_state(*data, sample_weight=weights)
        return metric.result()

    weights = np.ones(4)
    weights[3] = 0.0
    np.testing.assert_allclose(update(weights, *data), ORACLE[f"metric {name}"][0], rtol=1e-6)
    np.testing.assert_allclose(metric.result().numpy(), ORACLE[f"metric {name}"][0], rtol=1e-6)


@pytest.mark.parametrize("backend", ["loops", "python"])
def test_scaled_losses(backend: str) -> None:
    optimizer = s2s.optimizers.LossScaleOptimizer(
        s2s.optimizers.Adam(0.05), initial_scale=1024.0, dynamic_growth_steps=3
    )
    w = s2s.Variable(numbers((3, 2)).astype(np.float32))

    @s2s.function(backend=backend)
    def step(factor: Any) -> None:
        with s2s.GradientTape() as tape:
            loss = np.sum((w - TARGET) ** 2) * factor
            scaled = optimizer.scale_loss(loss)
        optimizer.apply_gradients(zip(tape.gradient(scaled, [w]), [w]))

    for k, (weights, scale, steps) in enumerate(ORACLE["loss scale"]):
        step(np.float32(np.inf if k in (4, 5, 11) else 1.0))
        close(flat([w.numpy()]), weights, f"step {k}")
        assert optimizer.dynamic_scale == scale and optimizer.iterations == steps
    assert sum(len(e) for e in step._specialiser("primal").entries.values()) == 1
