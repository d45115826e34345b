"""Elements that are read, changed and written back."""

import numpy as np

from . import N, arr, case, ints

V, M = arr(N + 3), arr(N + 2, N + 3)


@case(V, V, wrt=("x", "y"), tags="increments")
def taken_off_one_by_one(x, y):
    a = x.copy()
    for i in range(len(a)):
        a[i] -= y[i] * a[i] * a[0]
    return np.sum(a**3)


@case(V, V, wrt=("x", "y"), tags="increments")
def taken_off_the_neighbour(x, y):
    a = x.copy()
    for i in range(1, len(a)):
        a[i] = a[i] - y[i] * a[i - 1]
        a[i - 1] = a[i - 1] - y[i] * a[i]
    return np.sum(a**3)


@case(M, M, wrt=("x", "y"), tags="increments")
def slices_taken_off(x, y):
    a, b = x.copy(), y.copy()
    for _ in range(2):
        a[1:, :] -= 0.5 * (b[1:, :] - b[:-1, :])
        b[:, :-1] = b[:, :-1] - 0.7 * a[:, 1:] * a[:, :-1]
        a[:-1] = a[:-1] - a[1:] * 0.3
    return np.sum(a**2 * b)


@case(V, ints(4), tags="increments indexing")
def places_named_twice(x, idx):
    a = x.copy()
    a[idx] -= a[idx] * np.array([0.1, 0.2, 0.3, 0.4])
    a[idx] = a[idx] - np.sin(a[idx + 0])
    return np.sum(a**3)


@case(V, tags="increments")
def read_between(x):
    a = x.copy()
    s = 0.0
    for i in range(1, len(a)):
        t = a[i]
        a[i] = 0.0
        s += a[i] * a[i - 1] + np.sum(a)
        a[i] = a[i] + t * t
    return s + np.sum(a**2)
