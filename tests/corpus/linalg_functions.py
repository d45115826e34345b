"""Matrix functions: systems, factors, norms, and programs made of them."""

# pyright: reportOperatorIssue=false, reportArgumentType=false

import numpy as np
import scipy.linalg

from . import N, arr, case

# ---------------------------------------------------------------- one function each


def regular(a):
    return a + 3.0 * np.eye(a.shape[-1], dtype=a.dtype)


def positive(a):
    return a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1], dtype=a.dtype)


@case(arr(3, 3), arr(3), arr(3, 2), wrt=(0, 1, 2), tags="linalg matrices jax")
def solve_vector_and_matrix(a, x, y):
    m = regular(a)
    return np.sum(np.linalg.solve(m, x) ** 2) + np.sum(np.linalg.solve(m.T, y) ** 2)


@case(arr(2, 3, 3), arr(3), arr(3, 2), wrt=(0, 1, 2), tags="linalg matrices batched jax")
def solve_batched(a, x, y):
    m = regular(a)
    return np.sum(np.linalg.solve(m, x) ** 2) + np.sum(np.linalg.solve(m, y) ** 3)


@case(arr(3, 3), arr(2, 3, 3), wrt=(0, 1), tags="linalg matrices batched jax")
def inverses_and_determinants(a, b):
    x, y = np.linalg.inv(regular(a)), np.linalg.inv(regular(b))
    return np.sum(x * x) + np.sum(y**2) + np.linalg.det(a) + np.sum(np.linalg.det(b) ** 2)


@case(arr(2, 3, 3), tags="linalg matrices batched jax")
def slogdet_parts(a):
    sign, log = np.linalg.slogdet(a)
    return np.sum(sign * log) + np.linalg.slogdet(a[0]).logabsdet


@case(arr(3, 3), arr(2, 3, 3), wrt=(0, 1), tags="linalg matrices batched jax")
def cholesky_factors(a, b):
    p, q = np.linalg.cholesky(positive(a)), np.linalg.cholesky(positive(b))
    return np.sum(p**3) + np.sum(np.log(np.diagonal(q, axis1=1, axis2=2)))


@case(arr(4, 3), arr(2, 3, 3), wrt=(0, 1), tags="linalg matrices batched jax")
def qr_factors(a, b):
    q, r = np.linalg.qr(a)
    return np.sum(q**3) + np.sum(r * r[0]) + np.sum(np.linalg.qr(b, mode="r") ** 3)


@case(arr(2, 4), tags="linalg matrices")
def qr_of_a_wide_matrix(a):
    q, r = np.linalg.qr(a)
    return np.sum(q**3) + np.sum(r**3)


@case(arr(3, 3), arr(2, 3, 3), wrt=(0, 1), tags="linalg matrices batched jax")
def symmetric_eigenvalues(a, b):
    w, v = np.linalg.eigh(a + a.T)
    return np.sum(v[:, 0] ** 4 * w) + np.sum(np.linalg.eigvalsh(positive(b)) ** 2)


@case(arr(4, 3), arr(2, 2, 3), wrt=(0, 1), tags="linalg matrices batched jax")
def singular_values(a, b):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    low = (u[:, :2] * s[:2]) @ vh[:2]
    return np.sum(low**3) + np.sum(np.linalg.svd(b, compute_uv=False) ** 3)


@case(arr(4, 2), arr(2, 3), wrt=(0, 1), tags="linalg matrices jax")
def pseudo_inverses(a, b):
    return np.sum(np.linalg.pinv(a) ** 2) + np.sum(np.linalg.pinv(b) ** 3)


@case(arr(4, 2), arr(4), arr(4, 3), wrt=(0, 1, 2), tags="linalg matrices")
def least_squares_parts(a, x, y):
    c, rest, rank, s = np.linalg.lstsq(a, x, rcond=None)
    d = np.linalg.lstsq(a, y, rcond=None)[0]
    return np.sum(c**2) + np.sum(rest) * rank + s[0] + np.sum(d**3)


@case(arr(3, 3), tags="linalg matrices jax")
def matrix_powers(a):
    m = regular(a) * 0.3
    return np.sum(np.linalg.matrix_power(m, 5)) + np.sum(np.linalg.matrix_power(m, -2))


@case(arr(3, 4), arr(4), arr(2, 3, 2), wrt=(0, 1, 2), tags="linalg matrices norm jax")
def all_norms(a, x, b):
    s = np.linalg.norm(a, "fro") + np.linalg.norm(a, "nuc") + np.linalg.norm(a, 2)
    s += np.linalg.norm(a, 1) * np.linalg.norm(a, np.inf) + np.linalg.norm(a, -1)
    s += np.linalg.norm(x, 3) + np.linalg.norm(x, 1) + np.linalg.norm(x, np.inf)
    s += np.sum(np.linalg.norm(b, axis=1) ** 3)
    return s + np.sum(np.linalg.norm(b, 2, axis=(1, 2), keepdims=True) ** 3)


@case(arr(3, 3), tags="linalg matrices jax")
def condition_and_rank(a):
    return np.linalg.cond(regular(a)) * np.linalg.matrix_rank(a) + np.linalg.cond(regular(a), 1)


@case(arr(3, 3), arr(3), arr(3, 2), wrt=(0, 1, 2), tags="linalg matrices scipy")
def triangular_systems(a, x, y):
    m = regular(a)
    p = scipy.linalg.solve_triangular(m, x, lower=True)
    q = scipy.linalg.solve_triangular(m, y, trans="T")
    r = scipy.linalg.solve_triangular(m, x, unit_diagonal=True)
    return np.sum(p**2) + np.sum(q**3) + np.sum(r**2)


@case(arr(3, 3), arr(3), wrt=(0, 1), tags="linalg matrices scipy")
def cholesky_solve(a, x):
    factor = scipy.linalg.cho_factor(positive(a))
    y = scipy.linalg.cho_solve(factor, x)
    low = scipy.linalg.cholesky(positive(a), lower=True)
    return np.sum(y**2) + x @ scipy.linalg.cho_solve((low, True), x)


@case(arr(3, 3), arr(3), arr(3), N, wrt=(0, 1, 2), tags="linalg matrices scipy trips")
def factors_used_again(a, x, y, n):
    factors = scipy.linalg.lu_factor(regular(a)[::-1])
    for _ in range(n):
        x = scipy.linalg.lu_solve(factors, x) * 2.0
    return np.sum(x**2) + np.sum(scipy.linalg.lu_solve(factors, y, trans=1) ** 2)


@case(arr(5), arr(5), N, wrt=(0, 1), tags="linalg programs scipy trips")
def implicit_diffusion(u, k, n):
    ab = np.zeros((3, 5), dtype=u.dtype)
    ab[0, 1:] = -k[:-1]
    ab[1] = 3.0 + k * k
    ab[2, :-1] = -k[1:]
    for _ in range(n):
        u = scipy.linalg.solve_banded((1, 1), ab, u)
    return np.sum(u**2) + np.sum(scipy.linalg.solve_banded((1, 1), ab, np.stack((u, k), axis=1)))


@case(arr(4), arr(3), wrt=(0, 1), tags="linalg matrices scipy")
def matrices_of_vectors(c, r):
    t = scipy.linalg.toeplitz(c, r)
    e = scipy.linalg.eigvalsh(scipy.linalg.toeplitz(c))
    return np.sum(t**3) + np.sum(scipy.linalg.circulant(r) @ r) + np.sum(e**2)


@case(arr(3, 3), arr(2, 2, 2), wrt=(0, 1), tags="linalg matrices scipy")
def exponentials(a, b):
    return np.sum(scipy.linalg.expm(a) ** 2) + np.sum(scipy.linalg.expm(b))


@case(arr(2, 3), arr(3, 2), arr(2), wrt=(0, 1, 2), tags="linalg products jax")
def kronecker_and_chains(a, b, x):
    chain = np.linalg.multi_dot([a, b, a, b, x])
    return np.sum(np.kron(a, b) ** 2) + np.sum(np.kron(x, a)) + np.sum(chain**2)


@case(arr(4, 3), arr(3), wrt=(0, 1), tags="linalg products jax")
def cross_products(a, x):
    return np.sum(np.cross(a, x) ** 2) + np.sum(np.cross(a[0], x) * x[::-1])


@case(arr(3, 3), arr(2, 3, 3), wrt=(0, 1), tags="linalg products jax")
def traces(a, b):
    return np.trace(a @ a) + np.trace(a, offset=1) + np.sum(np.trace(b, axis1=1, axis2=2) ** 2)


@case(arr(0, 0), arr(0), wrt=(0, 1), tags="linalg matrices zerosize")
def empty_matrices(a, x):
    return np.sum(np.linalg.solve(a, x)) + np.linalg.det(a) + np.sum(np.linalg.cholesky(a))


# ---------------------------------------------------------------- contractions


@case(arr(2, 3, 4), arr(4, 3, 5), wrt=(0, 1), tags="linalg einsum jax")
def einsum_over_two_axes(a, b):
    return np.sum(np.einsum("ijk,kjl->li", a, b) ** 2)


@case(arr(2, 3), arr(3, 4), arr(4, 2), wrt=(0, 1, 2), tags="linalg einsum jax")
def einsum_chain(a, b, c):
    loop = np.einsum("ij,jk,ki->", a, b, c)
    return loop * loop + np.sum(np.einsum("ij,jk,kl->il", a, b, c) ** 2)


@case(arr(2, 3, 3), arr(2, 3), wrt=(0, 1), tags="linalg einsum jax")
def einsum_forms(a, x):
    forms = np.einsum("bi,bij,bj->b", x, a, x)
    return np.sum(forms**2) + np.sum(np.einsum("bii->b", a) ** 2)


@case(arr(2, 3, 4), arr(4, 5), wrt=(0, 1), tags="linalg einsum jax")
def einsum_ellipsis(a, b):
    c = np.einsum("...i,ij->...j", a, b)
    return np.sum(c**2) + np.sum(np.einsum(a, [0, 1, 2], b, [2, 3], [3, 0]) ** 2)


@case(arr(2, 3, 4), arr(3, 4, 2), wrt=(0, 1), tags="linalg tensordot jax")
def tensordot_axes(a, b):
    c = np.tensordot(a, b, axes=([1, 2], [0, 1]))
    return np.sum(c * c) + np.sum(np.tensordot(a, b, axes=([0], [2])) ** 2)


# ---------------------------------------------------------------- programs


@case(arr(N + 1, 2), arr(N + 1), arr(3), wrt=(0, 1, 2), tags="linalg programs trips jax")
def gaussian_process(x, y, theta):
    scale, width, noise = np.exp(theta[0]), np.exp(theta[1]), np.exp(theta[2])
    d = x[:, None, :] - x[None, :, :]
    k = scale * np.exp(-0.5 * np.sum(d * d, axis=-1) / width**2)
    low = np.linalg.cholesky(k + noise * np.eye(x.shape[0], dtype=x.dtype))
    alpha = np.linalg.solve(low.T, np.linalg.solve(low, y))
    return 0.5 * y @ alpha + np.sum(np.log(np.diag(low)))


@case(arr(N, 2), arr(2, 2), arr(2, 2), arr(2, 2), wrt=(0, 1, 2, 3), tags="linalg programs trips")
def kalman_log_likelihood(y, f, q, r):
    noise, seen = q @ q.T + 0.5 * np.eye(2, dtype=q.dtype), r @ r.T + 0.5 * np.eye(2, dtype=q.dtype)
    x, p = np.zeros_like(f[0]), np.eye(2, dtype=f.dtype)
    s = np.zeros_like(f[0, 0])
    for t in range(y.shape[0]):
        x = f @ x
        p = f @ p @ f.T + noise
        c = p + seen
        e = y[t] - x
        gain = np.linalg.solve(c, p).T
        s += 0.5 * e @ np.linalg.solve(c, e) + 0.5 * np.linalg.slogdet(c)[1]
        x = x + gain @ e
        p = p - gain @ p
    return s


@case(arr(5, 3), arr(5), arr(3), wrt=(0, 1, 2), tags="linalg programs jax")
def ridge_regression(a, y, w):
    left = a.T @ a + np.diag(np.exp(w))
    c = np.linalg.solve(left, a.T @ y)
    e = a @ c - y
    return e @ e + np.linalg.slogdet(left)[1]


@case(arr(3, 3), arr(3), wrt=(0, 1), tags="linalg programs jax")
def normal_log_density(a, x):
    c = positive(a)
    low = np.linalg.cholesky(c)
    z = np.linalg.solve(low, x)
    return -0.5 * z @ z - np.sum(np.log(np.diag(low))) - 1.5 * np.log(2 * np.pi)


@case(arr(3, 3), N, tags="linalg programs trips")
def newton_schulz_and_inverse(a, n):
    m = regular(a)
    x = m.T / np.linalg.norm(m) ** 2
    for _ in range(n):
        x = x @ (2.0 * np.eye(3, dtype=a.dtype) - m @ x)
    return np.sum((x - np.linalg.inv(m)) ** 2)


@case(arr(2, 2), arr(2), N, wrt=(0, 1), tags="linalg programs scipy trips")
def linear_dynamics(a, x, n):
    step = scipy.linalg.expm(0.5 * a)
    s = np.zeros_like(x[0])
    for _ in range(n):
        x = step @ x
        s += x @ x
    return s


@case(arr(N, 3, 3), tags="linalg programs trips")
def determinants_in_a_loop(a):
    s = np.zeros((), dtype=a.dtype)[()]
    for i in range(a.shape[0]):
        m = a[i] @ a[i].T + np.eye(3, dtype=a.dtype)
        if np.linalg.det(m) > 1.5:
            s += np.log(np.linalg.det(m))
        else:
            s += np.linalg.eigvalsh(m)[0]
    return s
