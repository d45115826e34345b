"""Programs that take slices, indices, shapes and counts from their arguments.

One compilation serves all numbers: `a`, `b` and `c` are any integers of 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

# ---------------------------------------------------------------- slices: x, start, stop, step


def read(x: Any, a: int, b: int) -> Any:
    return np.sum(x[a:b] * x[a:b])


def read_from(x: Any, a: int, b: int) -> Any:
    return np.sum(x[a:] * x[: x[a:].shape[0]]) + np.sum(x[:b])


def read_step(x: Any, a: int, b: int, c: int) -> Any:
    return np.sum(x[a:b:c] * x[a:b:c])


def read_by_three(x: Any, a: int, b: int) -> Any:
    return np.sum(x[a:b:3] * x[a:b:3]) + np.sum(x[a : b : 2**62] * x[a : b : 2**62])


def read_backward(x: Any, a: int, b: int) -> Any:
    return np.sum(x[a:b:-1] * x[a:b:-1]) + np.sum(x[a:b:-2]) + np.sum(x[a::-1]) + np.sum(x[:b:-1])


def read_near(x: Any, a: int, b: int) -> Any:
    return np.sum(x[a:-2] * x[a:-2]) + np.sum(x[3:b]) + np.sum(x[-3:b]) + np.sum(x[a:3])


def write(x: Any, a: int, b: int) -> Any:
    y = x * 1.0
    y[a:b] = 2.0
    y[b:a] *= 3.0
    return np.sum(y * x)


def write_step(x: Any, a: int, b: int, c: int) -> Any:
    y = x * 1.0
    y[a:b:c] += 2.0
    y[a:b:c] *= x[a:b:c]
    return np.sum(y * x)


def read_matrix(x: Any, a: int, b: int) -> Any:
    m = x.reshape(3, 4)
    return np.sum(m[a:b, 1:b] * m[a:b, 1:b]) + np.sum(m[:, b:a])


def write_matrix(x: Any, a: int, b: int) -> Any:
    y = (x * 1.0).reshape(3, 4)
    y[a:b, 1:b] = 2.0
    return np.sum(y * x.reshape(3, 4))


SLICES = [read, read_from, read_by_three, read_backward, read_near]
SLICES += [write, read_matrix, write_matrix]
STEPPED = [read_step, write_step]

# ---------------------------------------------------------------- indices: x, a, b


def index(x: Any, a: int, b: int) -> Any:
    return x[a] * x[b]


def index_matrix(x: Any, a: int, b: int) -> Any:
    return x.reshape(3, 4)[a, b] * 2.0


def index_arrays(x: Any, a: int, b: int) -> Any:
    return np.sum(x[np.array([a, b])] * 2.0) + np.sum(np.take(x, np.array([b, a])))


def index_written(x: Any, a: int, b: int) -> Any:
    y = x * 1.0
    y[a] = 2.0
    y[b] += 1.0
    return np.sum(y * x)


def rolled(x: Any, a: int, b: int) -> Any:
    m = x.reshape(3, 4)
    return np.sum(np.roll(x, a) * x) + np.sum(np.roll(m, (a, b), (0, 1)) * m)


def loop_down(x: Any, a: int, b: int) -> Any:
    s = 0.0
    for k in range(a, max(a, -(2**62)) - 3, -1):
        s = s + x[k] * x[k]
    return s


def loop_ahead(x: Any, a: int, b: int) -> Any:
    s = 0.0
    for k in range(a):
        s = s + x[k + 5] * x[k]
    return s


INDICES = [index, index_matrix, index_arrays, index_written, rolled, loop_down, loop_ahead]


# Integers wrap, unlike Python's.  Only memory safety is tested: all accesses stay within the
# arrays.


def wrapping_index(x: Any, a: int, b: int) -> Any:
    return x[a + 3] * x[b * 3]


def wrapping_loop(x: Any, a: int, b: int) -> Any:
    s = 0.0
    for k in range(max(a, 0), max(a, 0) + 2):
        s = s + x[k * 3]
    return s


def wrapping_slices(x: Any, a: int, b: int) -> Any:
    s = 0.0
    for k in range(x.shape[0]):
        s = s + np.sum(x[k * 2**62 :]) + np.sum(x[k * a : k * b]) + np.sum(x[a + k : a + k + b])
    return s


WRAPPING = [wrapping_index, wrapping_loop, wrapping_slices]

# ---------------------------------------------------------------- sizes: x, a, b


def reshaped(x: Any, a: int, b: int) -> Any:
    return np.sum(x.reshape(a, b) * 2.0)


def reshaped_and_written(x: Any, a: int, b: int) -> Any:
    y = x * 1.0
    z = y.reshape(a, b)
    z[0, 0] = 7.0
    return np.sum(y * x)


def reshaped_in_three(x: Any, a: int, b: int) -> Any:
    return np.sum(x.reshape(a, -1, b) * 2.0)


def broadcast(x: Any, a: int, b: int) -> Any:
    return np.sum(np.broadcast_to(x, (a, 12)) * 2.0) + np.sum(np.broadcast_to(x[0], (a, b)))


def zeros(x: Any, a: int, b: int) -> Any:
    z = np.zeros((a, b))
    z[:] = x[0]
    return np.sum(z) + np.sum(np.ones((b, a))) + np.sum(np.full(a, x[1])) + np.sum(np.zeros(b))


def empty(x: Any, a: int, b: int) -> Any:
    z = np.empty((a, b))
    z[0, 0] = x[0]
    return z[0, 0]


def counted(x: Any, a: int, b: int) -> Any:
    return x[0] * (np.sum(np.linspace(0.0, 1.0, a)) + np.sum(np.eye(a, b)))


def gathered(x: Any, a: int, b: int) -> Any:
    return np.sum(x[np.arange(a) * 4]) + np.sum(x[np.arange(b)])


def repeated(x: Any, a: int, b: int) -> Any:
    return np.sum(np.repeat(x, a)) + np.sum(np.tile(x, (a, b)))


def padded(x: Any, a: int, b: int) -> Any:
    return np.sum(np.pad(x, (a, b))) + np.sum(np.pad(x, (a, b), mode="edge"))


def windows(x: Any, a: int, b: int) -> Any:
    return np.sum(sliding_window_view(x, a) * 2.0) + np.sum(sliding_window_view(x, b))


def binned(x: Any, a: int, b: int) -> Any:
    return np.sum(np.bincount(np.array([a, 1, b]), minlength=4) * 1.0) * x[0]


SHAPES = [reshaped, reshaped_and_written, reshaped_in_three, broadcast, zeros, empty, counted]
SHAPES += [gathered, repeated, padded, windows, binned]
