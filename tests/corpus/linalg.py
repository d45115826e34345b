"""Products of every rank pair, einsum, outer, norms."""

import numpy as np

from . import N, arr, case


@case(arr(4), arr(4), wrt=(0, 1), tags="linalg jax")
def vector_vector(x, y):
    return x @ y + np.dot(x, y) * np.dot(x, x)


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="linalg jax")
def matrix_vector(a, x):
    return np.sum((a @ x) ** 2) + np.sum(np.dot(a, x))


@case(arr(3), arr(3, 4), wrt=(0, 1), tags="linalg jax")
def vector_matrix(x, a):
    return np.sum(np.sin(x @ a)) + np.sum(np.dot(x, a) * 2.0)


@case(arr(3, 4), arr(4, 2), wrt=(0, 1), tags="linalg jax")
def matrix_matrix(a, b):
    return np.sum((a @ b) ** 2) + np.sum(np.dot(a, b)) + np.sum(np.matmul(a, b) * 3.0)


@case(arr(2, 3, 4), arr(2, 4, 2), wrt=(0, 1), tags="linalg batched jax")
def batched_batched(a, b):
    return np.sum((a @ b) ** 2)


@case(arr(2, 3, 4), arr(4, 2), wrt=(0, 1), tags="linalg batched jax")
def batched_matrix(a, b):
    return np.sum((a @ b) ** 2)


@case(arr(3, 4), arr(2, 4, 2), wrt=(0, 1), tags="linalg batched jax")
def matrix_batched(a, b):
    return np.sum(np.matmul(a, b) ** 2)


@case(arr(2, 3, 4), arr(4), wrt=(0, 1), tags="linalg batched jax")
def batched_vector(a, x):
    return np.sum((a @ x) ** 2)


@case(arr(3), arr(2, 3, 4), wrt=(0, 1), tags="linalg batched jax")
def vector_batched(x, a):
    return np.sum((x @ a) ** 2)


@case(arr(1, 3, 4), arr(2, 4, 2), wrt=(0, 1), tags="linalg batched broadcasting jax")
def batch_broadcasts(a, b):
    return np.sum((a @ b) ** 2)


@case(arr(N, 3), arr(3, 2), arr(2), wrt=(0, 1, 2), tags="linalg trips jax")
def dense_layer(x, w, b):
    return np.sum(np.tanh(x @ w + b) ** 2)


@case(arr(3, 4), tags="linalg transpose jax")
def gram_matrix(a):
    g = a @ a.T
    h = a.T @ a
    return np.sum(g * g) + np.sum(h)


@case(arr(3), arr(4), wrt=(0, 1), tags="linalg jax")
def outer_products(x, y):
    return np.sum(np.outer(x, y) ** 2 * np.arange(12.0).reshape(3, 4))


@case(arr(3, 4), arr(4, 2), wrt=(0, 1), tags="linalg einsum jax")
def einsum_matmul(a, b):
    return np.sum(np.einsum("ij,jk->ik", a, b) ** 2) + np.einsum("ij,ij->", a, a)


@case(arr(2, 3, 4), arr(2, 3, 4), wrt=(0, 1), tags="linalg einsum jax")
def einsum_batched(a, b):
    return np.sum(np.einsum("bij,bkj->bik", a, b) ** 2) + np.sum(np.einsum("bij->ji", a) ** 2)


@case(arr(3, 3), arr(3), wrt=(0, 1), tags="linalg einsum jax")
def einsum_trace_and_form(a, x):
    return np.einsum("ii", a) + np.einsum("i,ij,j->", x, a, x) + np.sum(np.einsum("ii->i", a) ** 2)


@case(arr(3), arr(4), wrt=(0, 1), tags="linalg einsum jax")
def einsum_outer_implicit(x, y):
    return np.sum(np.einsum("i,j", x, y) ** 3)


@case(arr(3, 3), arr(3), wrt=(0, 1), tags="linalg jax")
def quadratic_form(a, x):
    return x @ a @ x + x @ (a.T @ x) * 2.0


@case(arr(3, 3), N, tags="linalg trips")
def matrix_power(a, n):
    p = np.eye(3)
    for _ in range(n):
        p = p @ a
    return np.sum(p * p)


@case(arr(3, 3), arr(3), N, wrt=(0, 1), tags="linalg trips")
def power_iteration(a, x, n):
    for _ in range(n):
        x = a @ x
        x = x / np.sqrt(np.sum(x * x))
    return x @ a @ x


@case(arr(3, 2), arr(2, 3), wrt=(0, 1), tags="linalg loops")
def matmul_by_hand(a, b):
    c = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(2):
                c[i, j] += a[i, k] * b[k, j]
    return np.sum(c * c)


@case(arr(3, 4), arr(4, 3), wrt=(0, 1), tags="linalg strided jax")
def products_of_slices(a, b):
    return np.sum(a[:, ::2] @ b[1::2]) + np.sum((a[::-1].T @ b[:3, :2].T[:, :3].T[:3]) ** 2)


@case(arr(4), tags="linalg norm jax")
def euclidean_norm(x):
    return np.sqrt(np.sum(x * x)) + np.sqrt(x @ x) * 2.0 + np.linalg.norm(x)


@case(arr(3, 3), arr(3, 3), wrt=(0, 1), tags="linalg accumulate")
def accumulated_products(a, b):
    c = np.zeros((3, 3))
    c += a @ b
    c -= 0.5 * (b.T @ a)
    c[0] += a[1] @ b
    return np.sum(c * c)


@case(arr(2, 3), arr(2, 3), wrt=(0, 1), tags="linalg rows")
def rowwise_dot_in_loop(a, b):
    s = 0.0
    for i in range(2):
        s += np.dot(a[i], b[i]) ** 2
        for j in range(2):
            s += a[i] @ b[j]
    return s


@case(arr(3, 3), arr(3), wrt=(0, 1), tags="linalg solve")
def back_substitution(a, b):
    n = b.shape[0]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= a[i, j] * x[j]
        x[i] = s / (2.0 + a[i, i])
    return np.sum(x * x)


@case(arr(2, 0), arr(0, 3), wrt=(0, 1), tags="linalg zerosize")
def empty_inner_dimension(a, b):
    return np.sum(a @ b + 1.0)


@case(arr(2, 3), arr(3), wrt=(0, 1), tags="linalg inner jax")
def inner_and_vdot(a, x):
    return np.sum(np.inner(a, x) ** 2) + np.vdot(x, x) + np.sum(np.tensordot(a, x, axes=1))


@case(arr(N + 1, 3), arr(3, 3, low=-0.5, high=0.5), tags="linalg")
def products_with_what_a_loop_keeps(x, w):
    """The sweep multiplies by matrices that each iteration saves."""
    for k in range(3):
        h = np.tanh(x @ w)
        w = w + 0.1 * h.T @ h
        x = h + x @ w.T
    return np.sum(x * x)
