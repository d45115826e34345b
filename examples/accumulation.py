"""Gradient accumulation: gradients are summed over micro-batches, followed by one optimizer step.

The gradient of a batch that does not fit in memory is the sum of the gradients of its pieces. Here
two compiled methods compute it: `gather` adds the gradient of a piece to Variables, `step` passes
the mean to two optimizers, a slow one for the first layers and a fast one for the last. All ways to
split the batch train the same network, as the table at the end shows.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from tqdm import tqdm

import s2s
from s2s.layers import Dense, initializers


class Classifier(s2s.Model):
    def __init__(self, classes):
        super().__init__()
        self.body = s2s.Sequential([Dense(32, activation="tanh"), Dense(32, activation="tanh")])
        self.head = Dense(classes)

    def call(self, inputs):
        return self.head(self.body(inputs))


loss_fn = s2s.losses.SparseCategoricalCrossentropy(from_logits=True)


class Trainer:
    """A model, its optimizers, and the accumulated gradients."""

    def __init__(self, model, sample):
        self.model = model
        self.model(sample)  # the weights are made when the size of a sample is known
        self.careful = s2s.optimizers.SGD(learning_rate=0.1, momentum=0.9)
        self.fast = s2s.optimizers.Adam(learning_rate=0.02)
        self.gathered = [
            s2s.Variable(np.zeros_like(w), trainable=False) for w in model.trainable_variables
        ]
        self.samples = 0

    @s2s.function
    def gather(self, x, y):
        weights = self.model.trainable_variables
        with s2s.GradientTape() as tape:
            # the sum over the samples, not their mean, so that pieces of any size can be added
            loss = loss_fn(y, self.model(x)) * len(y)
        for total, gradient in zip(self.gathered, tape.gradient(loss, weights)):
            total.assign_add(gradient)
        self.samples += len(y)
        return loss

    @s2s.function
    def step(self):
        means = [total / self.samples for total in self.gathered]
        body, head = self.model.body.trainable_variables, self.model.head.trainable_variables
        self.careful.apply_gradients(zip(means[: len(body)], body))
        self.fast.apply_gradients(zip(means[len(body) :], head))
        for total in self.gathered:
            total.assign(np.zeros_like(total))
        self.samples = 0


def spirals(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    """Points on the three arms of a spiral, labelled by arm."""
    arm = rng.integers(0, 3, count)
    radius = rng.random(count)
    angle = 4.0 * radius + arm * (2 * np.pi / 3) + 0.1 * rng.standard_normal(count)
    points = radius * np.stack([np.cos(angle), np.sin(angle)])
    return points.T.astype(np.float32), arm


def train(x: Any, y: Any, piece: int, steps: int, batch: int) -> tuple[float, Any]:
    """The last loss and the weights after `steps` batches, each in pieces of `piece` samples."""
    initializers.set_seed(0)
    trainer = Trainer(Classifier(3), x[:1])
    rng = np.random.default_rng(0)
    loss = 0.0
    for _ in tqdm(range(steps), desc=f"pieces of {piece}", unit="step"):
        rows = rng.permutation(len(y))[:batch]
        losses = []
        for k in range(0, batch, piece):
            some = rows[k : k + piece]
            losses.append(trainer.gather(x[some], y[some]))
        trainer.step()
        loss = float(np.sum(losses)) / batch
    return loss, trainer.model.get_weights()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=300)
    steps, batch = options.parse_args().steps, 240

    x, y = spirals(np.random.default_rng(1), 1200)
    runs = {piece: train(x, y, piece, steps, batch) for piece in (batch, 120, 32, 7)}
    _, whole = runs[batch]
    print("pieces per batch   last loss   largest difference of a weight")
    for piece, (loss, weights) in runs.items():
        difference = max(np.max(np.abs(a - b)) for a, b in zip(weights, whole))
        print(f"{-(-batch // piece):3d} of at most {piece:3d}   {loss:9.5f}   {difference:.1e}")


if __name__ == "__main__":
    main()
