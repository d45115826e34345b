"""Meta-learning: MAML on sinusoids, with a gradient step inside the loss.

Each task is a sine wave with its own amplitude and phase. The weights are trained so that one step
of gradient descent on ten points of a new wave fits it. The outer gradient differentiates
through that step.
(Finn, Abbeel and Levine 2017, section 5.1; a smaller network.)
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from tqdm import tqdm

import s2s

RATE = 0.05  # of the inner step


def network(w, x):
    hidden = np.tanh(x @ w["w1"] + w["b1"])
    hidden = np.tanh(hidden @ w["w2"] + w["b2"])
    return hidden @ w["w3"] + w["b3"]


def error(w, x, y):
    return np.mean((network(w, x) - y) ** 2)


def adapted(w, x, y):
    g = s2s.grad(error)(w, x, y)
    return {key: w[key] - RATE * g[key] for key in w}


@s2s.value_and_grad(wrt="w")
def meta_loss(w, x, y, x_new, y_new):
    total = 0.0
    for task in range(x.shape[0]):
        total += error(adapted(w, x[task], y[task]), x_new[task], y_new[task])
    return total / x.shape[0]


def tasks(rng: np.random.Generator, count: int, points: int = 10) -> tuple[Any, ...]:
    amplitude = rng.uniform(0.1, 5.0, (count, 1, 1))
    phase = rng.uniform(0.0, np.pi, (count, 1, 1))
    x, x_new = rng.uniform(-5.0, 5.0, (2, count, points, 1))
    return x, amplitude * np.sin(x - phase), x_new, amplitude * np.sin(x_new - phase)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=3000)
    steps = options.parse_args().steps

    rng = np.random.default_rng(0)
    sizes = {"w1": (1, 40), "b1": (40,), "w2": (40, 40), "b2": (40,), "w3": (40, 1), "b3": (1,)}
    w = {k: rng.normal(size=s) / np.sqrt(s[0]) * (len(s) > 1) for k, s in sizes.items()}
    first = {k: np.zeros_like(v) for k, v in w.items()}
    second = {k: np.zeros_like(v) for k, v in w.items()}
    test = tasks(np.random.default_rng(1), 100)
    fixed = w

    for t in tqdm(range(1, steps + 1), desc="meta-training", mininterval=1.0):
        _, g = meta_loss(w, *tasks(rng, 10))
        for k in w:  # Adam
            first[k] += 0.1 * (g[k] - first[k])
            second[k] += 0.001 * (g[k] ** 2 - second[k])
            scale = np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            w = {**w, k: w[k] - 0.002 * scale * first[k] / (np.sqrt(second[k]) + 1e-8)}

    def report(weights: Any, x: Any, y: Any, x_new: Any, y_new: Any) -> tuple[float, float]:
        before = np.mean([error(weights, a, b) for a, b in zip(x_new, y_new)])
        step = s2s.function(adapted)
        after = [error(step(weights, *t[:2]), *t[2:]) for t in zip(x, y, x_new, y_new)]
        return float(before), float(np.mean(after))

    print("mean squared error on 100 new waves   before   after one step")
    for name, weights in (("random weights", fixed), ("meta-trained weights", w)):
        before, after = report(weights, *test)
        print(f"{name:38s}{before:6.3f}   {after:6.3f}")


if __name__ == "__main__":
    main()
