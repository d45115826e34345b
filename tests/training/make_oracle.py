"""Writes Keras's numbers for the layers and optimizers to oracle.json.

python -m tests.training.make_oracle        (with tensorflow installed)
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from .cases import LAYERS, OPTIMIZERS, STEPS, TARGET, flat, numbers

FILE = Path(__file__).with_name("oracle.json")


def main() -> None:
    import tensorflow as tf

    found: dict[str, object] = {"tensorflow": tf.__version__}
    for name, (make, value) in LAYERS.items():
        layer = make(tf.keras)
        x = tf.Variable(value) if value.dtype == np.float32 else tf.constant(value)
        args = (x, x) if name == "attention" else (x,)
        layer(*args)
        for k, w in enumerate(layer.trainable_variables):
            w.assign(numbers(tuple(w.shape), float(k)))
        with tf.GradientTape() as tape:
            out = layer(*args, training=True)
            probe = numbers(tuple(out.shape), 1.0).astype(np.float32)
            loss = tf.reduce_sum(out * probe)
        sources = [*layer.trainable_variables]
        if value.dtype == np.float32:
            sources.append(x)
        grads = tape.gradient(loss, sources)
        found[name] = {
            "out": flat([out]),
            "gradients": flat(tf.convert_to_tensor(g) for g in grads),
            "weights": flat(layer.weights),
        }
    for name, make in OPTIMIZERS.items():
        optimizer = make(tf.keras)
        w = tf.Variable(numbers((3, 2)).astype(np.float32))
        b = tf.Variable(numbers((2,)).astype(np.float32))
        path = []
        for _ in range(STEPS):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((w - TARGET) ** 2) + tf.reduce_sum(b**4 - b)
            grads = tape.gradient(loss, [w, b])
            optimizer.apply_gradients(zip(grads, [w, b]))
            path.append(flat([w, b]))
        found[f"optimizer {name}"] = path
    FILE.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
