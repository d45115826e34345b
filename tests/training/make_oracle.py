"""Writes Keras's results for the layers, losses and optimizers to oracle.json.

python -m tests.training.make_oracle        (with tensorflow installed)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from .cases import (
    LAYERS,
    LOSSES,
    METRICS,
    OPTIMIZERS,
    STEPS,
    TARGET,
    WEIGHTS,
    call_options,
    flat,
    numbers,
    predictions,
)

FILE = Path(__file__).with_name("oracle.json")


def main() -> None:
    import tensorflow as tf

    found: dict[str, object] = {"tensorflow": tf.__version__}
    for name, (make, value) in LAYERS.items():
        found[f"layer {name}"] = of_layer(tf, name, make, value)
    for name, make in OPTIMIZERS.items():
        found[f"optimizer {name}"] = of_optimizer(tf, make(tf.keras))
    for name, (make, y_true, activation, reduction, weights) in LOSSES.items():
        loss_fn = make(tf.keras, reduction=reduction)
        w = tf.Variable(numbers((4, 3), 0.2).astype(np.float32))
        path = []
        for _ in range(STEPS):
            with tf.GradientTape() as tape:
                loss = loss_fn(y_true, predictions(tf, w, activation), sample_weight=weights)
            w.assign_sub(0.3 * tape.gradient(loss, w))
            path.append(flat([loss]))
        found[f"loss {name}"] = {"losses": path, "weights": flat([w])}
    for name, (make, data) in METRICS.items():
        found[f"metric {name}"] = of_metric(make(tf.keras), data)
    found["loss scale"] = of_scaled_loss(tf)
    FILE.write_text(json.dumps(rounded(found), separators=(",", ":")) + "\n")


def of_layer(tf: Any, name: str, make: Any, value: Any) -> dict[str, Any]:
    """The outputs and gradients of a layer, and its outputs during training towards 0."""
    layer = make(tf.keras)
    x = tf.Variable(value) if value.dtype == np.float32 else tf.constant(value)
    args = (x, x) if name.startswith("attention") else (x,)
    options = call_options(name)
    layer(*args, **options)
    for k, w in enumerate(layer.trainable_variables):
        w.assign(numbers(tuple(w.shape), float(k)))
    with tf.GradientTape() as tape:
        out = layer(*args, training=True, **options)
        probe = numbers(tuple(out.shape), 1.0).astype(np.float32)
        loss = tf.reduce_sum(out * probe)
    sources = [*layer.trainable_variables]
    if value.dtype == np.float32:
        sources.append(x)
    grads = tape.gradient(loss, sources)
    first = {
        "out": flat([out]),
        "gradients": flat(tf.convert_to_tensor(g) for g in grads),
        "weights": flat(layer.weights),
    }
    losses = []
    for _ in range(STEPS if layer.trainable_variables else 0):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((layer(*args, training=True, **options) - probe) ** 2)
        for w, g in zip(layer.trainable_variables, tape.gradient(loss, layer.trainable_variables)):
            w.assign_sub(0.1 * tf.convert_to_tensor(g))
        losses.append(float(loss))
    return {**first, "losses": losses, "last": flat(layer.weights)}


def of_optimizer(tf: Any, optimizer: Any) -> list[Any]:
    w = tf.Variable(numbers((3, 2)).astype(np.float32))
    b = tf.Variable(numbers((2,)).astype(np.float32))
    path = []
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((w - TARGET) ** 2) + tf.reduce_sum(b**4 - b)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
        path.append(flat([w, b]))
    return path


def of_metric(metric: Any, data: tuple[Any, ...]) -> list[float]:
    """The result of a metric after two batches of different sizes, and after a weighted one."""
    found = []
    for first, last in ((0, 3), (3, 4)):
        metric.update_state(*(d[first:last] for d in data))
        found.append(float(metric.result()))
    metric.update_state(*data, sample_weight=WEIGHTS)
    return [*found, float(metric.result())]


def of_scaled_loss(tf: Any) -> list[Any]:
    """The weights, scale and counters of an optimizer with loss scaling; some losses are
    infinite."""
    optimizer = tf.keras.optimizers.LossScaleOptimizer(
        tf.keras.optimizers.Adam(0.05), initial_scale=1024.0, dynamic_growth_steps=3
    )
    w = tf.Variable(numbers((3, 2)).astype(np.float32))
    path = []
    for k in range(STEPS):
        factor = np.float32(np.inf if k in (4, 5, 11) else 1.0)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((w - TARGET) ** 2) * factor
            scaled = optimizer.scale_loss(loss)
        optimizer.apply_gradients(zip(tape.gradient(scaled, [w]), [w]))
        path.append([flat([w]), float(optimizer.dynamic_scale), int(optimizer.iterations)])
    return path


def rounded(value: Any) -> Any:
    """The values rounded to nine digits, which determine a float32."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
