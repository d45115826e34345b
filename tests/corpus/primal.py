"""Programs that are compiled but not differentiated: results of every shape and container."""

from typing import Any, NamedTuple

import numpy as np

from . import N, arr, case, ints, num, value


class Pair(NamedTuple):
    left: Any
    right: Any


@case(arr(N), tags="primal arrays", gradient=False)
def returns_array(x):
    return np.sin(x) * 2.0


@case(arr(3), num(), tags="primal containers", gradient=False)
def returns_containers(x, k):
    return {"a": x * k, "b": (k, [x, k * 2.0])}, Pair(k, x + 1.0)


@case(arr(3), tags="primal aliases", gradient=False)
def returns_argument(x):
    return x


@case(arr(4), tags="primal aliases", gradient=False)
def returns_view(x):
    return x[1:]


@case(arr(3), tags="primal aliases", gradient=False)
def returns_same_array_twice(x):
    y = x * 2.0
    return y, y


@case(arr(3), tags="primal written", gradient=False)
def writes_and_returns_argument(x):
    x[0] = 5.0
    x[1:] *= 2.0
    return x


@case(ints(4, low=1, high=9), tags="primal integers", gradient=False)
def integer_results(k):
    return k * 2, k.sum(), k // 2, k / 2, k % 3, -k, k**2, k > 3, np.max(k)


@case(arr(3, 4), tags="primal queries", gradient=False)
def shapes_and_booleans(a):
    return a.shape, a > 0.0, np.any(a > 0.9), np.argmax(a), a.ndim, len(a)


@case(arr(N), tags="primal sizes", gradient=False)
def result_of_runtime_size(x):
    return x[x > 0.0], np.arange(x.shape[0]), np.zeros((x.shape[0], 2))


@case(arr(3), value(2), tags="primal dtypes", gradient=False)
def result_dtypes(x, k):
    return (
        x * k,
        x + 1,
        x * 2.0,
        x.astype(np.float32),
        np.float32(k) * x,
        x // 1.0,
        np.arange(k) * x[0],
        np.zeros(2, dtype=np.int64),
        np.ones(k, np.float32) * 1.5,
    )


@case(arr(2, 3), tags="primal layouts", gradient=False)
def returns_transposed(a):
    return a.T, a.T @ a, a[::-1, ::-1]


@case(num(), N, tags="primal scalars", gradient=False)
def returns_counts_and_flags(x, n):
    k = 0
    for i in range(n):
        if x * i > 0.2:
            k += 1
    return k, k > 1, x, None, "label"


@case(arr(N + 1), tags="primal sorting", gradient=False)
def insertion_sort(x):
    a = x.copy()
    for i in range(1, a.shape[0]):
        v = a[i]
        j = i - 1
        while j >= 0 and a[j] > v:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = v
    return a


@case(value(7), tags="primal integers", gradient=False)
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@case(value(30), tags="primal integers", gradient=False)
def sieve(n):
    prime = np.ones(n, dtype=np.bool_)
    prime[:2] = False
    for p in range(2, n):
        if prime[p]:
            for q in range(p * p, n, p):
                prime[q] = False
    return np.sum(prime), prime
