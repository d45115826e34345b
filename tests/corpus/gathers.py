"""Stencils: arrays added into others at several shifts, whose adjoints are sums of shifts."""

import numpy as np

from . import N, arr, case, num

V, M = arr(N + 3), arr(N + 3, N + 4)
SHORT, CUBE = arr(N), arr(N + 2, N + 2, 4)


@case(V, tags="gathers")
def three_neighbours(x):
    y = x * x
    return np.sum(np.sin(y[:-2] + 2.0 * y[1:-1] - y[2:]))


@case(V, arr(N + 3), tags="gathers")
def jacobi(x, y):
    x, y = x.copy(), y.copy()
    for _ in range(3):
        y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3.0
        x[1:-1] = 0.5 * (y[:-2] * y[2:])
    return np.sum(x**2) + np.sum(y)


@case(SHORT, tags="gathers")
def wider_than_the_array(x):
    """Slices that are empty for short arrays; the gather still has a border."""
    y = np.exp(x)
    return np.sum(y[4:] * y[: len(y) - 4 if len(y) > 4 else 0]) + np.sum(y[1:] - y[:-1])


@case(M, tags="gathers")
def five_point_star(a):
    b = np.tanh(a)
    star = b[1:-1, 1:-1] * 4.0 - b[1:-1, :-2] - b[1:-1, 2:] - b[2:, 1:-1] - b[:-2, 1:-1]
    return np.sum(star**2)


@case(M, tags="gathers")
def one_axis_of_two(a):
    b = a * a
    return np.sum(np.exp(-(b[:, 2:] - b[:, :-2])))


@case(CUBE, tags="gathers")
def seven_points(a):
    for _ in range(2):
        m = a[1:-1, 1:-1, 1:-1]
        x = a[2:, 1:-1, 1:-1] - 2.0 * m + a[:-2, 1:-1, 1:-1]
        y = a[1:-1, 2:, 1:-1] - 2.0 * m + a[1:-1, :-2, 1:-1]
        b = a.copy()
        b[1:-1, 1:-1, 1:-1] = m + 0.1 * x * y
        a = b
    return np.sum(a**3)


@case(V, tags="gathers")
def a_shift_read_between(x):
    """The partial sum is read between two contributions."""
    y = x.copy()
    y[1:] += np.sin(y[:-1])
    z = y[1:] * y[:-1]
    y[:-1] += z
    y[1:] += z
    return np.sum(y * y)


@case(V, num(), tags="gathers")
def multiples_by_a_number(x, c):
    y = x**2
    return np.sum(np.cos(c * y[:-2] + y[1:-1] / 4.0 - 0.25 * y[2:]))


@case(M, tags="gathers")
def rows_of_a_matrix(a):
    total = 0.0
    for i in range(a.shape[0]):
        total += np.sum((a[i, 2:] - a[i, :-2]) ** 2)
    return total


@case(M, tags="gathers")
def along_both_axes_at_once(a):
    b = np.sin(a)
    slope = b[1:, 1:] - b[:-1, :-1]
    step = b[1:, :-1] - b[:-1, 1:]
    return np.sum(np.where(slope * step > 0.0, slope, step * step))


@case(V, tags="gathers")
def the_same_shift_twice(x):
    y = x * 1.5
    d = y[1:] - y[:-1]
    return np.sum(d * d + d * y[1:])
