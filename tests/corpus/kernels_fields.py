"""Fields on a torus, vectors that are repeatedly multiplied by square matrices, tables that are
read and written through index arrays, as in simulators and solvers."""

import numpy as np

from . import N, arr, case, ints, num

# ---------------------------------------------------------------- neighbours across the edge


@case(arr(3, 4), num(), num(), N, wrt=("m", "coupling", "field"), tags="kernels fields")
def mean_field_spins(m, coupling, field, steps):
    for _ in range(steps):
        around = np.roll(m, 1, axis=0) + np.roll(m, -1, axis=0)
        around += np.roll(m, 1, axis=1) + np.roll(m, -1, axis=1)
        m = np.tanh(coupling * around + field)
    pairs = np.roll(m, 1, axis=0) + np.roll(m, 1, axis=1)
    return -coupling * np.sum(m * pairs) - field * np.sum(m)


@case(arr(N, 3), num(), num(), wrt=("s", "coupling", "field"), tags="kernels fields")
def spin_energy_by_loops(s, coupling, field):
    n, m = s.shape
    energy = 0.0
    for i in range(n):
        for j in range(m):
            energy -= coupling * s[i, j] * (s[(i + 1) % n, j] + s[i, (j + 1) % m])
            energy -= field * s[i, (j - 1) % m]
    return energy


@case(arr(4, 3, low=0.5), arr(4, 3), arr(4, 3), N, wrt=("h", "u", "v"), tags="kernels fields")
def shallow_water_on_a_torus(h, u, v, steps):
    def slope(x, axis):
        return (np.roll(x, -1, axis=axis) - np.roll(x, 1, axis=axis)) / 0.4

    for _ in range(steps):
        u = u - 0.05 * slope(h, 0)
        v = v - 0.05 * slope(h, 1)
        h = h - 0.02 * (slope(h * u, 0) + slope(h * v, 1))
    return np.sum(h**2) + np.sum(u**2) + np.sum(v**2)


@case(arr(N), arr(N), tags="kernels fields")
def rolled_further_than_long(x, w):
    return np.sum(np.roll(x, 5) * w) + np.sum(np.roll(x * x, -2)[1:] * w[1:])


@case(arr(2, 5), num(), tags="kernels fields")
def lattice_streaming(f, rate):
    for direction in range(2):
        f[direction] = np.roll(f[direction], 2 * direction - 1)
    density = f[0] + f[1]
    return np.sum((f - rate * (f - 0.5 * density)) ** 2)


# ---------------------------------------------------------------- the same matrix in each round


@case(arr(3, 3), arr(3, low=0.5), N, wrt=("A", "v"), tags="kernels fields")
def dominant_vector(A, v, steps):
    for _ in range(steps):
        w = A @ v
        v = w / np.linalg.norm(w)
    return v @ A @ v


@case(num(0.5, 1.5), num(), num(), N, wrt=("spot", "p", "rate"), tags="kernels fields")
def shorter_in_each_round(spot, p, rate, n):
    value = np.maximum(spot * 1.1 ** np.arange(-n, n + 1.0, 2.0) - 0.9, 0.0)
    for _ in range(n):
        value = np.exp(-rate) * (p * value[1:] + (1 - p) * value[:-1])
    return value[0]


@case(arr(3, 3), arr(3), num(), wrt=("A", "x"), tags="kernels fields")
def product_on_one_path(A, x, sign):
    u = x
    if sign > 0:
        u = A @ x
    return np.sum(np.tanh(u) * x)


@case(arr(N, N), arr(N), arr(N), wrt=("A", "x", "y"), tags="kernels fields")
def both_axes_of_a_square(A, x, y):
    n, s = len(x), 0.0
    for i in range(n):
        for j in range(A.shape[0]):
            if A[i, j] + A[j, i] > 0.1:
                s += A[i, j] * x[j] * y[i]
    return s


@case(arr(N + 1, 3), arr(3), arr(N + 1), wrt=("X", "w", "y"), tags="kernels fields")
def logistic_rows(X, w, y):
    z = X @ w
    return np.mean(np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0) - y * z) + 0.01 * np.sum(w**2)


@case(arr(3, 3), arr(3, 2), arr(3), arr(N, 2), wrt=("W", "U", "b", "xs"), tags="kernels fields")
def recurrent_vector(W, U, b, xs):
    h = np.zeros(W.shape[0])
    for t in range(xs.shape[0]):
        h = np.tanh(W @ h + U @ xs[t] + b)
    return np.sum(h * h)


# ---------------------------------------------------------------- index arrays


@case(
    arr(4, 3), arr(3, 3), ints(N, high=4), ints(N, high=3), arr(N), num(),
    wrt=("U", "V", "r", "rate"), tags="kernels fields",
)  # fmt: skip
def factors_by_single_ratings(U, V, users, items, r, rate):
    U, V = U.copy(), V.copy()
    for n in range(len(r)):
        u, v = users[n], items[n]
        e = r[n] - U[u] @ V[v]
        before = U[u].copy()
        U[u] += rate * (e * V[v] - 0.1 * U[u])
        V[v] += rate * (e * before - 0.1 * V[v])
    return np.sum((r - np.sum(U[users] * V[items], axis=1)) ** 2) + np.sum(U * U) + np.sum(V)


@case(arr(N, low=0.0), arr(N), wrt=("x", "q"), tags="kernels fields")
def charge_on_a_grid(x, q):
    n = 4
    rho = np.zeros(n)
    for p in range(len(x)):
        cell = int(x[p] * n)
        share = x[p] * n - cell
        rho[cell % n] += q[p] * (1 - share)
        rho[(cell + 1) % n] += q[p] * share
    return np.sum(rho * rho)
