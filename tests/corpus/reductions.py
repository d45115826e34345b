"""Reductions with axis, tuple axis and keepdims; cumulative loops; any, all, argmax."""

import numpy as np

from . import N, arr, bools, case, value


@case(arr(3, 4), tags="reductions jax")
def sum_axes(a):
    return (
        np.sum(np.sum(a, axis=0) ** 2)
        + np.sum(np.sum(a, axis=1) ** 3)
        + np.sum(a.sum(axis=-1) * 2.0)
        + np.sum(a) ** 2
        + a.sum(0)[1]
        + a.sum(1)[0]
    )


@case(arr(3, 4), tags="reductions keepdims jax")
def sum_keepdims(a):
    b = a / (6.0 + np.sum(a, axis=1, keepdims=True))
    c = b - np.mean(b, axis=0, keepdims=True)
    return np.sum(c * c * np.sum(a, keepdims=True))


@case(arr(2, 3, 4), tags="reductions tuple jax")
def tuple_axes(a):
    return (
        np.sum(np.sum(a, axis=(0, 2)) ** 2)
        + np.sum(np.mean(a, axis=(1, 2), keepdims=True) ** 2)
        + np.sum(a.max(axis=(0, 1)))
        + np.sum(np.sum(a, axis=(-1, 0)) * 2.0)
    )


@case(arr(3, 4), tags="reductions jax")
def means(a):
    return np.mean(a * a) + np.sum(np.mean(a, axis=0) ** 2) + np.sum(a.mean(axis=1) ** 3) + a.mean()


@case(arr(3, 4, low=0.5, high=1.5), tags="reductions jax")
def products(a):
    return np.prod(a) + np.sum(np.prod(a, axis=0)) + np.sum(a.prod(axis=1) ** 2)


@case(value(np.array([0.5, 0.0, -1.5])), tags="reductions")
def product_with_zero(x):
    return np.prod(x) * 2.0 + np.prod(x[1:]) * x[0]


@case(value(np.array([0.0, 0.0, -1.5])), tags="reductions")
def product_with_two_zeros(x):
    return np.prod(x) + x[2]


@case(arr(3, 4), tags="reductions kinks jax")
def maxima_and_minima(a):
    return (
        np.max(a) * 2.0
        + np.min(a)
        + np.sum(np.max(a, axis=0) ** 2)
        + np.sum(a.min(axis=1) ** 3)
        + np.sum(np.amax(a, axis=1, keepdims=True) * a)
    )


@case(arr(3, 4), tags="reductions jax")
def variances(a):
    return (
        np.var(a)
        + np.sum(np.var(a, axis=0))
        + np.std(a)
        + np.sum(a.std(axis=1))
        + np.sum(np.var(a, axis=1, ddof=1, keepdims=True) * a)
        + a.var(ddof=1)
    )


@case(arr(N), tags="reductions trips jax")
def sum_of_any_size(x):
    return np.sum(x) * 2.0 + np.sum(x * x)


@case(arr(N + 1), tags="reductions trips jax")
def statistics_of_any_size(x):
    return np.mean(x) + np.max(x) * np.min(x) + np.var(x) + np.prod(x)


@case(arr(N, 3), tags="reductions trips jax")
def row_sums_of_any_size(a):
    return np.sum(np.sum(a, axis=1) ** 2) + np.sum(np.sum(a, axis=0) ** 3)


@case(arr(3, N), tags="reductions trips jax")
def column_counts_of_any_size(a):
    return np.sum(np.sum(np.sin(a), axis=1) ** 2)


@case(arr(4, 3), tags="reductions softmax jax")
def log_softmax_rows(z):
    m = np.max(z, axis=1, keepdims=True)
    lse = m + np.log(np.sum(np.exp(z - m), axis=1, keepdims=True))
    return np.sum((z - lse)[:, 0] * np.arange(4.0))


@case(arr(4, 3), tags="reductions norm jax")
def layer_normalisation(a):
    mu = a.mean(axis=-1, keepdims=True)
    var = ((a - mu) ** 2).mean(axis=-1, keepdims=True)
    h = (a - mu) / np.sqrt(var + 1e-5)
    return np.sum(h * np.arange(12.0).reshape(4, 3))


@case(arr(5), arr(5), wrt=(0, 1), tags="reductions jax")
def correlation(x, y):
    xc = x - x.mean()
    yc = y - y.mean()
    return np.sum(xc * yc) / np.sqrt(np.sum(xc**2) * np.sum(yc**2))


@case(arr(4, 3), tags="reductions argmax")
def argmax_by_axis(a):
    k = np.argmax(a, axis=1)
    s = 0.0
    for i in range(4):
        s += a[i, k[i]] ** 2
    return s + a[np.argmin(a[:, 0]), 1]


@case(arr(5), bools(5), tags="reductions counts")
def counting_inactive(x, m):
    k = np.sum(m) + np.count_nonzero(x > 0.0) + m.sum()
    return np.sum(x * x) * k + np.mean(m) * x[0]


@case(arr(3, 4), tags="reductions python")
def builtin_sum_over_rows(a):
    return sum(a[0]) + sum([v * v for v in a[1]]) + max(a[2]) * min(a[0])


@case(arr(2, 3), tags="reductions dtype")
def sum_with_dtype(a):
    return np.sum(a, dtype=np.float64) * 2.0 + np.mean(a * a, dtype=np.float64)


@case(arr(3, 4, 2), tags="reductions axes jax")
def reduce_each_axis_in_turn(a):
    s = 0.0
    for ax in (0, 1, 2):
        s += np.sum(np.sin(np.sum(a, axis=ax)))
    return s


@case(arr(3, 1), tags="reductions keepdims jax")
def reduce_axis_of_one(a):
    return np.sum(np.sum(a, axis=1) * a[:, 0]) + np.sum(np.max(a, axis=1, keepdims=True) * a)


@case(arr(3, 3), tags="reductions trace jax")
def trace_by_diagonal(a):
    return np.sum(np.eye(3) * (a @ a)) + np.trace(a * a)
