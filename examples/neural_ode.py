"""A neural ODE: a network learns the vector field of a system, trained through an adaptive solver.

The data are points along a spiral and their times. A network gives the velocity at each position; a
Runge-Kutta method integrates it with steps whose length is controlled by an error estimate. The
number of steps, and which of them are rejected and repeated with a shorter step, is known only at
run time: the solver is a `while` with an `if` in it, which s2s differentiates in reverse mode.
(Chen, Rubanova, Bettencourt and Duvenaud 2018.)
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from tqdm import tqdm

import s2s
from s2s.layers import Dense, initializers

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


# 1. The vector field: a network of the position.
class Field(s2s.Model):
    def __init__(self, hidden):
        super().__init__(dtype="float64")
        self.hidden = Dense(hidden, activation="tanh", dtype="float64")
        self.velocity = Dense(2, dtype="float64")

    def call(self, y):
        return self.velocity(self.hidden(y**3))


# 2. The Bogacki-Shampine method: a third-order step with an embedded second-order one. If they
# differ by more than the tolerance, the step is repeated with a shorter length.
def solve(field, y, duration, tolerance):
    """The state `y` after some time, and the numbers of accepted and rejected steps."""
    t, h = 0.0, duration
    taken = refused = 0
    k1 = field(y)
    while t < duration:
        h = min(h, duration - t)
        k2 = field(y + h / 2 * k1)
        k3 = field(y + 3 * h / 4 * k2)
        ahead = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = field(ahead)
        difference = h * (-5 * k1 + 6 * k2 + 8 * k3 - 9 * k4) / 72
        error = np.sqrt(np.mean((difference / (tolerance * (1.0 + np.abs(y)))) ** 2))
        if error <= 1.0:
            t, y, k1 = t + h, ahead, k4
            taken += 1
        else:
            refused += 1
        # The step length is treated as a constant by the derivative.
        error = s2s.stop_gradient(error)
        h *= min(5.0, max(0.2, 0.9 / max(error, 1e-9) ** (1 / 3)))
    return y, taken, refused


initializers.set_seed(0)
field = Field(hidden=40)
optimizer = s2s.optimizers.Adam(learning_rate=0.01)


# 3. A training step: from some points, integrate to each of the next few.
@s2s.function
def train_step(starts, following, gap, tolerance):
    taken = refused = 0
    with s2s.GradientTape() as tape:
        loss = 0.0
        y = starts
        for k in range(following.shape[0]):
            y, more, again = solve(field, y, gap, tolerance)
            loss += np.mean(np.abs(y - following[k])) / following.shape[0]
            taken, refused = taken + more, refused + again
    gradients = tape.gradient(loss, field.trainable_variables)
    optimizer.apply_gradients(zip(gradients, field.trainable_variables))
    return loss, taken, refused


def truth(y: Any) -> Any:
    """The true vector field."""
    return y**3 @ np.array([[-0.1, 2.0], [-2.0, -0.1]])


def path(velocity: Any, start: Any, count: int, gap: float) -> Any:
    """Points along a solution.  Outside a compiled function `solve` is plain Python."""
    points = [start]
    for _ in range(count - 1):
        points.append(solve(velocity, points[-1], gap, 1e-6)[0])
    return np.array(points)


def train(data: Any, gap: float, steps: int, ahead: int = 10, batch: int = 32) -> list[Any]:
    rng = np.random.default_rng(0)
    rows = []
    begun, compiled = time.perf_counter(), 0.0
    bar = tqdm(range(steps), unit="step")
    for step in bar:
        first = rng.integers(0, len(data) - ahead, batch)
        following = data[first + np.arange(1, ahead + 1)[:, None]]
        optimizer.learning_rate = 0.01 * (1.0 - step / steps)  # a number: nothing recompiles
        rows.append(train_step(data[first], following, gap, 1e-4))
        bar.set_postfix(loss=f"{rows[-1][0]:.4f}", refresh=False)
        if step == 0:
            compiled, begun = time.perf_counter() - begun, time.perf_counter()
    spent = (time.perf_counter() - begun) / max(1, steps - 1)
    print(f"first step {compiled:.1f} s, then {spent * 1e3:.1f} ms each")
    return rows


def draw(data: Any, found: Any, rows: list[Any], path: Path) -> None:
    """Plots the spiral, the learned field and the loss."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
    grid = np.linspace(-1.7, 1.7, 20)
    places = np.stack(np.meshgrid(grid, grid), axis=-1)
    arrows = np.asarray(field(places.reshape(-1, 2))).reshape(places.shape)
    arrows /= np.linalg.norm(arrows, axis=-1, keepdims=True) + 1e-9
    left.quiver(*places.transpose(2, 0, 1), *arrows.transpose(2, 0, 1), color="lightgray")
    left.plot(*data.T, ".", color="black", markersize=4, label="data")
    left.plot(*found.T, color="tab:red", label="the network, from the first point on")
    left.set(aspect="equal", xticks=[], yticks=[])
    left.legend(loc="lower left")
    losses, taken, refused = np.array(rows).T
    right.semilogy(losses, linewidth=0.8)
    right.set(xlabel="step of training", ylabel="mean distance from the data")
    twin = right.twinx()
    twin.plot(taken, color="tab:green", linewidth=0.8, label="steps of the solver")
    twin.plot(refused, color="tab:orange", linewidth=0.8, label="refused")
    twin.set_ylim(0)
    twin.legend(loc="upper right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--out", type=Path, default=Path("build/neural_ode.png"))
    options = parser.parse_args()

    gap, count = 0.1, 100
    data = path(truth, np.array([1.5, 0.0]), count, gap)
    rows = train(data, gap, options.steps)
    found = path(lambda y: np.asarray(field(y[None]))[0], data[0], count, gap)
    print("                     steps of training")
    some = sorted({0, options.steps // 4, options.steps // 2, options.steps - 1})
    print("                  " + "".join(f"{k + 1:10d}" for k in some))
    for name, at in (("loss", 0), ("solver's steps", 1), ("refused", 2)):
        print(f"{name:18s}" + "".join(f"{float(rows[k][at]):10.4g}" for k in some))
    print(f"the whole spiral from its first point: {np.mean(np.abs(found - data)):.3f} off, "
          f"of {np.mean(np.abs(data)):.2f}")  # fmt: skip
    draw(data, found, rows, options.out)
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
