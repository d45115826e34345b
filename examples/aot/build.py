"""A network for handwritten digits as a library for C: its training step and its predictor.

    python examples/aot/build.py
    cc -O2 -std=c11 -o build/aot/train examples/aot/train.c -Ibuild/aot build/aot/libdigits.a -lm
    build/aot/train build/aot/digits.bin

The first command creates `build/aot/libdigits.{so,a}`, `digits.h`, `digits.py`, and a data file for
the C program: two 64-bit integers (digits, pixels), the pixels in single precision, the labels as
64-bit integers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import s2s
from s2s.layers import Dense, initializers
from s2s.losses import SparseCategoricalCrossentropy
from s2s.models import Sequential
from s2s.optimizers import Adam

initializers.set_seed(0)
model = Sequential([Dense(64, activation="relu"), Dense(10)])
loss_fn = SparseCategoricalCrossentropy(from_logits=True)
optimizer = Adam(learning_rate=0.003)


@s2s.function
def step(x, y):
    with s2s.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@s2s.function
def predict(x):
    return np.argmax(model(x), axis=1)


def digits() -> tuple[Any, Any]:
    """Images and labels, shuffled."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return (images[order] / 16.0).astype(np.float32), labels[order].astype(np.int64)


def write(path: Path, x: Any, y: Any) -> None:
    with path.open("wb") as file:
        for part in (np.array(x.shape, np.int64), x, y):
            file.write(part.tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("build/aot/digits"))
    parser.add_argument("--cpu")
    parser.add_argument("--target")
    parser.add_argument("--blas")
    options = parser.parse_args()
    wanted = {"step": (step, "float32[n,64], int64[n]"), "predict": (predict, "float32[n,64]")}
    built = s2s.aot.build(
        wanted, out=options.out, cpu=options.cpu, target=options.target, blas=options.blas
    )
    write(options.out.with_suffix(".bin"), *digits())
    print(built)


if __name__ == "__main__":
    main()
