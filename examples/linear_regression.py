"""Linear regression with a custom training loop.

The model, the loss, the optimizer and the tape have the API of Keras. The difference is the
decorator: `@s2s.function` reads the step and everything it calls, emits its gradient and update as
code, and compiles all of it into one call.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from tqdm import tqdm

import s2s
from s2s.layers import Dense, initializers

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


# 1. A model is a class with layers in its attributes and a `call`.
class LinearModel(s2s.Model):
    def __init__(self):
        super().__init__()
        self.dense = Dense(1)

    def call(self, inputs):
        return self.dense(inputs)


initializers.set_seed(0)
model = LinearModel()
loss_fn = s2s.losses.MeanSquaredError()
optimizer = s2s.optimizers.SGD(learning_rate=0.1)


# 2. One step: the tape differentiates the computations of its block. The first call compiles; a
# smaller last batch, or another learning rate, does not compile again.
@s2s.function
def train_step(x, y):
    with s2s.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


# 3. The loop over epochs stays in Python.
def train(x: Any, y: Any, epochs: int, batch: int = 32) -> list[float]:
    samples = s2s.data.Dataset.from_tensor_slices((x, y))
    samples = samples.shuffle(buffer_size=1024, seed=0).batch(batch)
    losses = []
    bar = tqdm(range(epochs), unit="epoch")
    for _ in bar:
        losses.append(float(np.mean([train_step(*some) for some in samples])))
        bar.set_postfix(loss=f"{losses[-1]:.4f}", refresh=False)
    return losses


def draw(x: Any, y: Any, losses: list[float], path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    left.scatter(x, y, s=8, color="tab:gray", label="samples")
    left.plot(x, 2 * x - 1, "--", color="black", label="the line they were made from")
    left.plot(x, model(x), color="tab:red", label="the line that was learned")
    left.legend()
    right.semilogy(losses)
    right.set(xlabel="epoch", ylabel="mean squared error")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--out", type=Path, default=Path("build/linear_regression.png"))
    options = parser.parse_args()

    rng = np.random.default_rng(42)
    x = np.linspace(-1, 1, 100, dtype=np.float32).reshape(-1, 1)
    y = 2 * x - 1 + 0.2 * rng.standard_normal(x.shape, np.float32)
    losses = train(x, y, options.epochs)

    kernel, bias = model.dense.get_weights()
    slope, offset = np.polyfit(x[:, 0], y[:, 0], 1)
    print("         learned   least squares   true")
    print(f"slope  {kernel.item():9.4f}   {slope:13.4f}   {2.0:4.1f}")
    print(f"offset {bias.item():9.4f}   {offset:13.4f}   {-1.0:4.1f}")
    print("\nThe compiled step, as s2s wrote it:\n")
    print(train_step.source)
    draw(x, y, losses, options.out)
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
