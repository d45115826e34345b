"""Train a small convolutional network on digits, with the API of Keras, as one compiled step.

Model, loss and optimizer are ordinary objects; `@s2s.function` turns the step around the tape
into a single function: forward, adjoint, Adam. The random numbers of dropout are drawn inside it,
by a generator that the layer owns.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import s2s
from s2s import layers
from s2s.layers import initializers

model = s2s.Sequential(
    [
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPool2D(),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.MaxPool2D(),
        layers.Flatten(),
        layers.Dropout(0.3),
        layers.Dense(64, activation="relu"),
        layers.Dense(10),
    ]
)
loss_fn = s2s.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = s2s.optimizers.Adam(0.002)


@s2s.function
def step(x, y):
    with s2s.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@s2s.function
def predict(x):
    return np.argmax(model(x, training=False), axis=1)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--epochs", type=int, default=25)
    epochs = options.parse_args().epochs

    initializers.set_seed(0)
    digits: Any = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[..., None]
    order = np.random.default_rng(0).permutation(len(images))
    train, test = order[:1437], order[1437:]
    data = s2s.data.Dataset.from_tensor_slices((images[train], digits.target[train]))
    data = data.shuffle(2000, seed=1).batch(32)

    started = time.perf_counter()
    step(images[train[:32]], digits.target[train[:32]])
    print(f"first step, compilation included: {time.perf_counter() - started:.1f} s")
    started = time.perf_counter()
    bar = tqdm(range(epochs), desc="epochs", mininterval=1.0)
    mean = s2s.metrics.Mean()
    for _ in bar:
        mean.reset_state()
        for x, y in data:
            mean.update_state(step(x, y))
        bar.set_postfix(loss=f"{mean.result():.4f}")
    print(f"{optimizer.iterations} steps in {time.perf_counter() - started:.1f} s")

    guesses = predict(images[test])
    right = guesses == digits.target[test]
    print(f"never seen in training: {100 * right.mean():.1f}% of {len(test)} digits are right")
    print("digit   " + "  ".join(f"{d:4d}" for d in range(10)))
    shares = [right[digits.target[test] == d].mean() for d in range(10)]
    print("right % " + "  ".join(f"{100 * s:4.0f}" for s in shares))


if __name__ == "__main__":
    main()
