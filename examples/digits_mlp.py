"""Train a small network on handwritten digits with a compiled gradient: `make demo`.

The loss is plain NumPy, with an ordinary loop over the samples.  s2s reads its source, emits the
source of its gradient, and compiles that; there is no tape at run time.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import s2s

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

Params = dict[str, np.ndarray[Any, Any]]


def logits(params, x):
    hidden = np.tanh(x @ params["W1"] + params["b1"])
    return hidden @ params["W2"] + params["b2"]


@s2s.value_and_grad(wrt="params")
def loss(params, x, y):
    z = logits(params, x)
    # the mean negative log-likelihood of the right digits
    z = z - z.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    total = 0.0
    for i in range(len(y)):
        total -= log_p[i, y[i]]
    return total / len(y)


def init(rng: np.random.Generator, hidden: int) -> Params:
    def layer(n: int, m: int) -> np.ndarray[Any, Any]:
        return (rng.standard_normal((n, m)) / np.sqrt(n)).astype(np.float32)

    return {
        "W1": layer(64, hidden),
        "b1": np.zeros(hidden, np.float32),
        "W2": layer(hidden, 10),
        "b2": np.zeros(10, np.float32),
    }


def accuracy(params: Params, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> float:
    return float((logits(params, x).argmax(axis=1) == y).mean())


def train(epochs: int, hidden: int = 64, batch: int = 32, rate: float = 0.1) -> dict[str, Any]:
    """Minibatch gradient descent with momentum; a quarter of the digits is kept for testing."""
    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(labels))
    x, y = (images[order] / 16.0).astype(np.float32), labels[order].astype(np.int64)
    n = len(y) * 3 // 4
    x, y, x_test, y_test = x[:n], y[:n], x[n:], y[n:]

    params = init(rng, hidden)
    velocity = {name: np.zeros_like(p) for name, p in params.items()}
    start = time.perf_counter()
    loss(params, x[:batch], y[:batch])
    compiling = time.perf_counter() - start

    losses, accuracies, seconds, steps = [], [], 0.0, 0
    bar = tqdm(range(epochs), unit="epoch")
    for _ in bar:
        order = rng.permutation(n)
        for i in range(0, n, batch):
            rows = order[i : i + batch]
            start = time.perf_counter()
            value, gradient = loss(params, x[rows], y[rows])
            seconds, steps = seconds + time.perf_counter() - start, steps + 1
            losses.append(float(value))
            for name, p in params.items():
                velocity[name] = 0.9 * velocity[name] - rate * gradient[name]
                p += velocity[name]
        accuracies.append(accuracy(params, x_test, y_test))
        bar.set_postfix(loss=f"{losses[-1]:.3f}", accuracy=f"{accuracies[-1]:.1%}")

    print(f"accuracy on {len(y_test)} digits never seen in training: {accuracies[-1]:.1%}")
    print(f"first call {compiling:.1f} s, then {seconds / steps * 1e6:.0f} µs per gradient")
    guesses = logits(params, x_test).argmax(axis=1)
    return {
        "losses": losses,
        "accuracies": accuracies,
        "images": x_test.reshape(-1, 8, 8),
        "labels": y_test,
        "guesses": guesses,
    }


def draw(run: dict[str, Any], path: Path) -> None:
    """The loss, the accuracy, and a page of test digits, the mistakes first."""
    figure = plt.figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.2, 1])  # pyright: ignore
    axes = left.subplots()
    axes.semilogy(run["losses"], linewidth=0.6)
    axes.set(xlabel="step", ylabel="loss")
    twin = axes.twinx()
    per_epoch = len(run["losses"]) / len(run["accuracies"])
    epochs = np.arange(1, len(run["accuracies"]) + 1) * per_epoch
    twin.plot(epochs, run["accuracies"], color="tab:orange")
    twin.set_ylabel("accuracy on test digits", color="tab:orange")

    wrong = run["guesses"] != run["labels"]
    order = np.argsort(~wrong, kind="stable")
    for k, axis in zip(order, right.subplots(5, 7).flat):
        axis.imshow(run["images"][k], cmap="gray_r")
        axis.set_title(str(run["guesses"][k]), color="tab:red" if wrong[k] else "black", fontsize=9)
        axis.axis("off")
    right.suptitle("predictions, mistakes in red", fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("build/digits_mlp.png"))
    options = parser.parse_args()

    run = train(options.epochs)
    print("\nThe gradient that was used, as s2s wrote it:\n")
    print(loss.source)
    draw(run, options.out)
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
