"""A Wasserstein GAN with gradient penalty, on eight clusters.

The critic learns high scores for real points and low scores for generated ones, with a slope of at
most one; the generator learns to produce points with high scores. The bound is a term of the
critic's loss with the gradient of the critic by its input, so its training differentiates a
gradient.  (Gulrajani, Ahmed, Arjovsky, Dumoulin and Courville 2017.)
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


class Network(s2s.Model):
    """Hidden layers with an activation, and a linear output layer."""

    def __init__(self, hidden, outputs):
        super().__init__()
        self.hidden = [Dense(units, activation="relu") for units in hidden]
        self.last = Dense(outputs)

    def call(self, inputs):
        for layer in self.hidden:
            inputs = layer(inputs)
        return self.last(inputs)


initializers.set_seed(0)
generator = Network([64, 64], outputs=2)
critic = Network([64, 64], outputs=1)
# beta_1 = 0: momentum is harmful, because the loss of one network changes with the other.
generator_optimizer = s2s.optimizers.Adam(learning_rate=1e-3, beta_1=0.0, beta_2=0.9)
critic_optimizer = s2s.optimizers.Adam(learning_rate=1e-3, beta_1=0.0, beta_2=0.9)


@s2s.function
def critic_step(real, noise, part, weight):
    made = generator(noise)
    between = made + part * (real - made)
    with s2s.GradientTape() as tape:
        # The slope of the critic at points between real and generated ones: a gradient inside the
        # block that is itself differentiated.
        with s2s.GradientTape() as inner:
            inner.watch(between)
            scores = critic(between)
        slope = np.sqrt(np.sum(inner.gradient(scores, between) ** 2, axis=1) + 1e-12)
        penalty = np.mean((slope - 1.0) ** 2)
        distance = np.mean(critic(real)) - np.mean(critic(made))
        loss = weight * penalty - distance
    gradients = tape.gradient(loss, critic.trainable_variables)
    critic_optimizer.apply_gradients(zip(gradients, critic.trainable_variables))
    return distance


@s2s.function
def generator_step(noise):
    with s2s.GradientTape() as tape:
        loss = -np.mean(critic(generator(noise)))
    gradients = tape.gradient(loss, generator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gradients, generator.trainable_variables))
    return loss


def clusters(rng: np.random.Generator, count: int) -> Any:
    """Points in eight small clusters on a circle."""
    angle = rng.integers(0, 8, count) * (np.pi / 4)
    centres = 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return (centres + 0.08 * rng.standard_normal((count, 2))).astype(np.float32)


def apart(a: Any, b: Any) -> float:
    """The sliced Wasserstein distance of two point clouds: the mean over 64 projections. On a line,
    the distance is the mean distance of the sorted points."""
    angles = np.arange(64) * (np.pi / 64)
    sides = np.stack([np.cos(angles), np.sin(angles)])
    return float(np.mean(np.abs(np.sort(a @ sides, axis=0) - np.sort(b @ sides, axis=0))))


def train(rounds: int, batch: int = 256, critic_rounds: int = 5) -> list[tuple[int, float, Any]]:
    """Returns snapshots of the training: iteration, distance from the data, generated points."""
    rng = np.random.default_rng(0)
    data, noise = clusters(rng, 2000), rng.standard_normal((2000, 2), np.float32)
    pictures = []
    bar = tqdm(range(rounds + 1), unit="round")
    for t in bar:
        if t % max(1, rounds // 4) == 0:
            points = np.asarray(generator(noise))
            pictures.append((t, apart(points, data), points))
            bar.set_postfix(apart=f"{pictures[-1][1]:.3f}", refresh=False)
        for _ in range(critic_rounds):
            part = rng.random((batch, 1), np.float32)
            z = rng.standard_normal((batch, 2), np.float32)
            critic_step(clusters(rng, batch), z, part, 1.0)
        generator_step(rng.standard_normal((batch, 2), np.float32))
    return pictures


def draw(pictures: list[tuple[int, float, Any]], path: Path) -> None:
    """Plots the generated points during training, and the critic's scores at the end."""
    data = clusters(np.random.default_rng(1), 2000)
    size = (3 * len(pictures), 3.3)
    figure, axes = plt.subplots(1, len(pictures), figsize=size, layout="constrained")
    grid = np.linspace(-2.5, 2.5, 80, dtype=np.float32)
    places = np.stack(np.meshgrid(grid, grid), axis=-1)
    axes[-1].contourf(grid, grid, critic(places)[:, :, 0], 24, cmap="Greens")
    for axis, (t, distance, points) in zip(axes, pictures):
        axis.scatter(*data.T, s=2, color="tab:gray", label="data")
        axis.scatter(*points.T, s=2, color="tab:red", label="made")
        axis.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), xticks=[], yticks=[], aspect="equal")
        axis.set_title(f"round {t}: {distance:.3f} apart", fontsize=10)
    axes[0].legend(loc="lower left", markerscale=4)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path("build/wgan_gp.png"))
    options = parser.parse_args()

    pictures = train(options.rounds)
    print("round   distance of 2000 made points from the data")
    for t, distance, _ in pictures:
        print(f"{t:5d}   {distance:.3f}")
    rng = np.random.default_rng(2)
    chance = apart(clusters(rng, 2000), clusters(rng, 2000))
    print(f"two samples of the data are {chance:.3f} apart")
    draw(pictures, options.out)
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
