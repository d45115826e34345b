"""Find out why training diverges: the line that produced the NaN, and what a gradient depends on.

A classifier with the textbook form of softmax. It trains until a score overflows `np.exp`; from
then on all values are NaN.
"""

from __future__ import annotations

import numpy as np

import s2s


@s2s.value_and_grad(wrt=("W", "temperature"))
def loss(W, temperature, x, labels):
    scores = x @ W
    sharp = scores / np.rint(temperature)
    e = np.exp(sharp)
    p = e / e.sum(axis=1, keepdims=True)
    total = 0.0
    for i in range(len(labels)):
        total -= np.log(p[i, labels[i]])
    return total / len(labels)


def main() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 5)) * 100.0
    labels = np.argmax(x[:, :3], axis=1)
    W = np.zeros((5, 3))

    print("-- Why does the temperature never change?\n")
    print(loss.explain(W, 1.0, x, labels))

    print("\n-- And where does the NaN come from?\n")
    with s2s.debug_nans():
        for step in range(100):
            try:
                value, (W_bar, _) = loss(W, 1.0, x, labels)
            except FloatingPointError as error:
                print(f"step {step}: {error}")
                break
            W -= 0.5 * W_bar


if __name__ == "__main__":
    main()
