"""Integrated gradients of a digits classifier: which pixels caused its decision.

The gradient of a probability with respect to the image is almost zero where the network is certain,
so it does not explain the decision. Integrated gradients are summed along the path from a blank
image to the real one; the contributions of the pixels then add up to the difference of the
probabilities.  (Sundararajan, Taly and Yan 2017.)
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import s2s
from s2s.layers import Dense, Dropout, initializers

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

initializers.set_seed(0)
model = s2s.Sequential([Dense(64, activation="relu"), Dropout(0.2), Dense(10, "softmax")])
loss_fn = s2s.losses.SparseCategoricalCrossentropy()
optimizer = s2s.optimizers.Adam(learning_rate=0.003)


@s2s.function
def train_step(images, labels):
    with s2s.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


# Images are not Variables, so they need `tape.watch`. The path from `start` to `image` is one
# batch: since the rows are independent, each row gets its own gradient.
@s2s.function
def integrated_gradients(image, start, digit, steps):
    part = (np.arange(steps) + np.float32(0.5)) / np.float32(steps)
    way = start + part[:, np.newaxis] * (image - start)
    with s2s.GradientTape() as tape:
        tape.watch(way)
        sure = model(way, training=False)[:, digit]
    return (image - start) * np.mean(tape.gradient(sure, way), axis=0)


@s2s.function
def plain_gradient(image, digit):
    with s2s.GradientTape() as tape:
        tape.watch(image)
        sure = model(image[np.newaxis], training=False)[0, digit]
    return tape.gradient(sure, image)


def train(x: Any, y: Any, epochs: int) -> None:
    samples = s2s.data.Dataset.from_tensor_slices((x, y)).shuffle(len(y), seed=0).batch(32)
    bar = tqdm(range(epochs), unit="epoch")
    for _ in bar:
        loss = np.mean([train_step(*some) for some in samples])
        bar.set_postfix(loss=f"{loss:.3f}", refresh=False)


def draw(images: Any, digits: Any, maps: list[tuple[Any, Any]], path: Path) -> None:
    """One column per image: itself, its gradient, its integrated gradient; red is positive."""
    figure, axes = plt.subplots(3, len(images), figsize=(9, 3.2), layout="constrained")
    names = ("image", "gradient", "integrated")
    for column, image, digit, pair in zip(axes.T, images, digits, maps):
        column[0].imshow(image.reshape(8, 8), cmap="gray_r")
        column[0].set_title(f"a {digit}?", fontsize=10)
        for axis, values in zip(column[1:], pair):
            limit = np.max(np.abs(values))
            axis.imshow(values.reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
    for axis, name in zip(axes[:, 0], names):
        axis.set_ylabel(name)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("build/integrated_gradients.png"))
    options = parser.parse_args()

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x, y = (images[order] / 16).astype(np.float32), labels[order]
    train(x[400:], y[400:], options.epochs)
    x, y = x[:400], y[:400]
    said = np.argmax(model(x), axis=1)
    print(f"accuracy on {len(y)} digits never seen in training: {np.mean(said == y):.1%}")

    # How many steps?  The contributions must sum to the difference of the two probabilities.
    blank, one, digit = np.zeros(64, np.float32), x[0], said[0]
    before, after = model(np.stack([blank, one]))[:, digit]
    print(f"probability of a {digit}: {before:.4f} for a blank image, {after:.4f} for the first")
    print(f"difference                             {after - before:.4f}")
    print(f"gradient times image                   {np.sum(plain_gradient(one, digit) * one):.4f}")
    for steps in (10, 100, 1000):
        total = np.sum(integrated_gradients(one, blank, digit, steps))
        print(f"integrated gradients, {steps:4d} steps       {total:.4f}")

    # One image of each digit, with the attributions of its prediction.
    rows = [int(np.flatnonzero(y == digit)[0]) for digit in range(10)]
    maps = [
        (plain_gradient(x[k], said[k]), integrated_gradients(x[k], blank, said[k], 200))
        for k in rows
    ]
    draw(x[rows], said[rows], maps, options.out)
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
