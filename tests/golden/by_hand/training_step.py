"""A NumPy step with a tape and `W -= lr * dW`."""

from __future__ import annotations

import numpy as np

import s2s


@s2s.function
def step(W, b, x, y, lr):
    with s2s.GradientTape() as tape:
        tape.watch([W, b])
        # linear model
        guess = x @ W + b
        error = np.mean(np.abs(guess - y) ** 1.5)  # between l1 and l2
    dW, db = tape.gradient(error, [W, b])
    # plain descent
    W -= lr * dW
    b -= lr * db
    return error
