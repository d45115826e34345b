"""Reshaping, joining and broadcasting."""

import numpy as np

from . import N, arr, case, num


@case(arr(2, 6), tags="shapes jax")
def reshapes(a):
    b = a.reshape(3, 4)
    c = np.reshape(a, (4, -1))
    d = a.reshape((2, 3, 2))
    return np.sum(b[0] * c[1, :1]) + np.sum(d[:, 1] ** 2) + np.sum(a.reshape(-1)[::3])


@case(arr(2, 3, 4), tags="shapes jax")
def transposes(a):
    b = np.transpose(a, (2, 0, 1))
    c = a.T
    d = a.transpose(1, 0, 2)
    e = np.swapaxes(a, 0, 1)
    return np.sum(b * c.transpose(0, 2, 1)) + np.sum(d[1] * a[:, 1]) + np.sum(e * d)


@case(arr(2, 3), tags="shapes jax")
def ravel_and_flatten(a):
    return np.sum(a.ravel() * np.arange(6.0)) + np.sum(np.ravel(a)[1:] ** 2) + a.flatten()[5]


@case(arr(2, 3), arr(1, 3), wrt=(0, 1), tags="shapes join jax")
def concatenates(a, b):
    c = np.concatenate([a, b, a * 2.0])
    d = np.concatenate((a, a), axis=1)
    return np.sum(c * c * np.arange(15.0).reshape(5, 3)) + np.sum(d[:, 1:5] ** 3)


@case(arr(3), arr(3), wrt=(0, 1), tags="shapes join jax")
def stacks(x, y):
    a = np.stack([x, y])
    b = np.stack((x, y, x * y), axis=1)
    c = np.stack([a, a], axis=-1)
    return np.sum((a @ b) ** 2) + np.sum(c[..., 1] * a)


@case(arr(3), arr(2, 3), wrt=(0, 1), tags="shapes join jax")
def stack_helpers(x, a):
    b = np.vstack([a, x[None, :]])
    c = np.hstack([x, x * 2.0])
    d = np.column_stack((x, x * x))
    return np.sum(b * b) + np.sum(c[1:5]) + np.sum(d @ d.T)


@case(arr(3), num(), wrt=(0, 1), tags="shapes broadcast jax")
def broadcast_to_shape(x, s):
    a = np.broadcast_to(x, (4, 3))
    b = np.broadcast_to(s, (2, 3))
    return np.sum(a * np.arange(12.0).reshape(4, 3)) + np.sum(b * x)


@case(arr(3, 1, 2), tags="shapes axes jax")
def expand_and_squeeze(a):
    b = np.squeeze(a, axis=1)
    c = np.expand_dims(b, 0)
    d = np.expand_dims(b, -1)
    e = a.squeeze()
    return np.sum(b * e) + np.sum(c * d[:, :, 0] ** 2) + np.sum(np.squeeze(c) ** 3)


@case(arr(N + 1, 2), tags="shapes runtime jax")
def reshape_with_runtime_sizes(a):
    n, m = a.shape
    b = a.reshape(n * m)
    c = b.reshape(m, -1)
    return np.sum(c[0] ** 2) + b[n]


@case(arr(N), arr(N), wrt=(0, 1), tags="shapes runtime join jax")
def concatenate_any_size(x, y):
    z = np.concatenate([x, y])
    return np.sum(z * np.arange(z.shape[0]))


@case(arr(2, 3), tags="shapes strided")
def reshape_of_strided(a):
    t = a.T.reshape(6)
    u = a[:, ::-1].reshape(3, 2)
    return np.sum(t * np.arange(6.0)) + np.sum(u @ a)


@case(arr(4), num(), wrt=(0, 1), tags="shapes join jax")
def append_scalars(x, s):
    y = np.concatenate((np.array([s]), x, np.array([s * 2.0, 1.0])))
    return np.sum(y[1:] * y[:-1])


@case(arr(2, 3), tags="shapes flip jax")
def flips_and_rolls(a):
    return (
        np.sum(np.flip(a) * a)
        + np.sum(a[::-1] * np.flip(a, axis=1))
        + np.sum(np.roll(a, 1, axis=1) * a * a)
    )


@case(arr(3), tags="shapes repeat jax")
def tiles_and_repeats(x):
    return (
        np.sum(np.tile(x, 2) * np.arange(6.0))
        + np.sum(np.repeat(x, 2) * np.arange(6.0))
        + np.sum(np.atleast_2d(x) ** 2)
    )


@case(arr(4, 4), tags="shapes triangle jax")
def triangles_and_diagonals(a):
    return np.sum(np.tril(a) ** 2) + np.sum(np.triu(a, 1)) + np.sum(np.diag(a) ** 3)


@case(arr(6), tags="shapes differences jax")
def differences_and_cumulative(x):
    return np.sum(np.diff(x) ** 2) + np.sum(np.cumsum(x) ** 2)
