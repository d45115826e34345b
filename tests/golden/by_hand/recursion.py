"""A recursion with two calls per level."""

from __future__ import annotations

import numpy as np


def tree(x, n):
    if n <= 0:
        return x
    y = np.sin(x)
    # the left half is damped
    return tree(0.5 * y, n - 1) * np.exp(-y) + tree(y, n - 2)
