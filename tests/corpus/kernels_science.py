"""Simulators, filters, solvers, dynamic programs, networks and images, as in user code."""

import math

import numba
import numpy as np
from numpy import exp, sqrt, zeros
from numpy.linalg import norm

from . import N, arr, build, case, ints, made, num, pair, value

GRAVITY = 9.81
COEFFS = (0.5, 1.5, -0.25)
TABLE = np.array([0.1, 0.4, 0.2, 0.3])

# ---------------------------------------------------------------- filters and likelihoods


@case(
    arr(2),
    arr(2, 2),
    arr(2, 2),
    arr(1, 2),
    value(0.5),
    arr(3, 1),
    wrt=("x", "F", "H", "zs"),
    tags="kernels science",
)
def kalman_matrices(x, F, P0, H, r, zs):
    P = P0 @ P0.T + np.eye(2)
    I = np.identity(F.shape[0])
    ll = 0.0
    for z in zs:
        x = F @ x
        P = F @ P @ F.T + 0.1 * I
        y = z - H @ x
        S = H @ P @ H.T + r
        K = (P @ H.T) / S
        x = x + K.dot(y)
        P = (I - K @ H) @ P
        ll += -0.5 * (y[0] ** 2 / S[0, 0] + np.log(2 * np.pi * S[0, 0]))
    return ll + x @ x


@case(
    arr(3, 3),
    arr(3, 2),
    arr(3),
    ints(N, low=0, high=2),
    wrt=("logA", "logB", "logpi"),
    trips=(1, 2, 3),
    tags="kernels science",
)
def hmm_forward_log(logA, logB, logpi, obs):
    alpha = logpi.copy()
    for t in range(len(obs)):
        new = np.zeros(3)
        for j in range(3):
            s = alpha + logA[:, j]
            m = s.max()
            new[j] = m + np.log(np.exp(s - m).sum()) + logB[j, obs[t]]
        alpha = new
    return np.logaddexp(np.logaddexp(alpha[0], alpha[1]), alpha[2])


@case(arr(3, 3), arr(3, 2), ints(4, low=0, high=2), wrt=("logA", "logB"), tags="kernels science")
def viterbi_score(logA, logB, obs):
    T = obs.shape[0]
    delta = np.zeros((T, 3))
    psi = np.zeros((T, 3), dtype=np.int64)
    delta[0] = logB[:, obs[0]]
    for t in range(1, T):
        for j in range(3):
            scores = delta[t - 1] + logA[:, j]
            psi[t, j] = np.argmax(scores)
            delta[t, j] = scores[psi[t, j]] + logB[j, obs[t]]
    path = np.zeros(T, dtype=int)
    path[-1] = delta[-1].argmax()
    for t in range(T - 2, -1, -1):
        path[t] = psi[t + 1, path[t + 1]]
    return delta[-1, path[-1]] + delta[1, path[1]]


@case(
    num(90.0, 110.0),
    num(95.0, 105.0),
    num(0.01, 0.05),
    num(0.1, 0.3),
    value(1.0),
    value(3),
    wrt=("S", "K", "r", "sigma"),
    tags="kernels science",
)
def binomial_tree(S, K, r, sigma, T, M):
    dt = T / M
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    disc = math.exp(-r * dt)
    V = np.zeros(M + 1)
    for i in range(M + 1):
        V[i] = max(0.0, K - S * u**i * d ** (M - i))
    for j in range(M - 1, -1, -1):
        for i in range(j + 1):
            cont = disc * (p * V[i + 1] + (1 - p) * V[i])
            exercise = K - S * u**i * d ** (j - i)
            V[i] = exercise if exercise > cont else cont
    return V[0]


@case(arr(4), arr(2), arr(6, low=0.5, high=2.0), wrt=("theta",), tags="kernels science")
def garch_likelihood(theta, unused, r):
    omega, alpha, beta = exp(theta[0]), sigmoid(theta[1]), sigmoid(theta[2])
    h = r.var()
    ll = 0
    for rt in r:
        ll -= 0.5 * (math.log(h) + rt**2 / h)
        h = omega + alpha * rt**2 + beta * h
    return ll


def sigmoid(z):
    return 1 / (1 + exp(-z))


@case(
    num(0.2, 0.4),
    num(0.05, 0.1),
    value(0.99),
    value(0.01),
    value(5),
    wrt=("beta", "gamma"),
    tags="kernels science",
)
def sir_model_kernel(beta, gamma, s, i, days):
    S, I, R = [s], [i], [0.0]
    for day in range(days):
        new_inf = beta * S[-1] * I[-1]
        new_rec = gamma * I[-1]
        S.append(S[-1] - new_inf)
        I.append(I[-1] + new_inf - new_rec)
        R.append(R[-1] + new_rec)
    peak = max(I)
    return peak + R[-1] * len(S)


# ---------------------------------------------------------------- solvers


def _spd(rng, n, dtype):
    a = rng.uniform(-1.0, 1.0, (3, 3))
    return (a @ a.T + 2.0 * np.eye(3)).astype(dtype)


@case(made(_spd), arr(3), wrt=("A", "b"), tags="kernels science")
def conjugate_gradient_kernel(A, b, tol=1e-12, maxiter=10):
    A = 0.5 * (A + A.T)  # otherwise perturbing one element would change the number of steps
    x = np.zeros_like(b)
    r = b - A @ x
    p = r
    rsold = r.T @ r
    for i in range(maxiter):
        Ap = A @ p
        alpha = rsold / (p.T @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rsnew = r.T @ r
        if np.sqrt(rsnew) < tol:
            break
        p = r + (rsnew / rsold) * p
        rsold = rsnew
    return x @ x


@case(made(_spd), arr(3), wrt=("A", "b"), tags="kernels science")
def gauss_seidel_kernel(A, b):
    x = zeros(len(b))
    it = 0
    while True:
        x_new = zeros(len(b))
        for i in range(A.shape[0]):
            s1 = np.dot(A[i, :i], x_new[:i])
            s2 = np.dot(A[i, i + 1 :], x[i + 1 :])
            x_new[i] = (b[i] - s1 - s2) / A[i, i]
        it += 1
        if norm(x - x_new) < 1e-3 or it >= 6:
            break
        x = x_new
    return np.sum(x_new**2)


@case(made(_spd), arr(3), wrt=("A", "b"), tags="kernels science")
def gaussian_elimination(A, b):
    """With pivoting, on copies."""
    M = np.column_stack((A.copy(), b))
    n = M.shape[0]
    for k in range(n):
        piv = k + np.argmax(np.abs(M[k:, k]))
        if piv != k:
            M[[k, piv]] = M[[piv, k]]
        for i in range(k + 1, n):
            M[i] -= M[i, k] / M[k, k] * M[k]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (M[i, -1] - M[i, i + 1 : n] @ x[i + 1 :]) / M[i, i]
    return x.dot(x)


@case(num(0.1, 0.9), num(0.0, 6.0), wrt=("e", "M"), tags="kernels science")
def kepler_kernel(e, M):
    E = M if e < 0.8 else np.pi
    while True:
        delta = (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        E -= delta
        if abs(delta) < 1e-12:
            break
    return np.cos(E) - e


@case(num(1.0, 2.0), num(0.5, 1.0), wrt=("a", "b"), tags="kernels science")
def bisection_kernel(a, b):
    lo, hi = 0.0, 4.0
    for _ in range(5):
        mid = 0.5 * (lo + hi)
        if mid**2 * b > a:
            hi = mid
        else:
            lo = mid
    x = 0.5 * (lo + hi)
    return x - (x**2 * b - a) / (2 * x * b)


@case(arr(5), arr(5), num(0.1, 0.2), wrt=("u", "f", "nu"), tags="kernels science")
def thomas_crank_nicolson(u, f, nu):
    n = u.size
    a = -nu * np.ones(n)
    bdiag = (1 + 2 * nu) * np.ones(n)
    c = -nu * np.ones(n)
    for step in range(2):
        d = u + 0.1 * f
        d[1:-1] += nu * (u[2:] - 2 * u[1:-1] + u[:-2])
        cp = np.zeros(n)
        dp = np.zeros(n)
        cp[0] = c[0] / bdiag[0]
        dp[0] = d[0] / bdiag[0]
        for i in range(1, n):
            m = bdiag[i] - a[i] * cp[i - 1]
            cp[i] = c[i] / m
            dp[i] = (d[i] - a[i] * dp[i - 1]) / m
        u = np.zeros(n)
        u[-1] = dp[-1]
        for i in range(n - 2, -1, -1):
            u[i] = dp[i] - cp[i] * u[i + 1]
    return (u * u).sum()


# ---------------------------------------------------------------- simulators


@case(
    pair(num(0.0, 1.0), num(10.0, 12.0)),
    pair(num(1.0, 2.0), num(0.0, 1.0)),
    num(0.1, 0.2),
    wrt=("pos", "vel", "drag"),
    tags="kernels science",
)
def projectile(pos, vel, drag):
    x, y = pos
    vx, vy = vel
    dt = 0.25
    while y > 0:
        v = math.hypot(vx, vy)
        vx -= dt * drag * v * vx
        vy -= dt * (GRAVITY + drag * v * vy)
        x += dt * vx
        y += dt * vy
    return x


@case(arr(3), arr(3), num(0.5, 1.0), wrt=("x", "v", "k"), tags="kernels science")
def bouncing_balls(x, v, k):
    x, v = x.copy(), v.copy()
    for step in range(4):
        v += -0.1 * k * x
        x += 0.1 * v
        for i in range(len(x)):
            if x[i] < -0.5:
                x[i] = -1.0 - x[i]
                v[i] *= -0.9
            elif x[i] > 0.5:
                x[i] = 1.0 - x[i]
                v[i] = -0.9 * v[i]
    return np.sum(x**2 + v**2)


@case(arr(6, low=0.0), value(3), wrt="u", tags="kernels science")
def upwind_periodic(u, nt, c=0.3):
    for n in range(nt):
        un = u.copy()
        u[1:] = un[1:] - c * un[1:] * (un[1:] - un[:-1])
        u[0] = un[0] - c * un[0] * (un[0] - un[-1])
    return u @ u


@case(
    arr(5, 5, low=0.0),
    value(2),
    num(0.01, 0.05),
    num(0.05, 0.06),
    wrt=("U", "F", "k"),
    tags="kernels science",
)
def gray_scott(U, steps, F, k):
    V = 0.5 * U[::-1, :]
    for _ in range(steps):
        Lu = (
            np.roll(U, 1, 0) + np.roll(U, -1, 0) + np.roll(U, 1, 1) + np.roll(U, -1, axis=1) - 4 * U
        )
        Lv = np.roll(V, 1, 0) + np.roll(V, -1, 0) - 2 * V
        uvv = U * V * V
        U = U + 0.1 * Lu - uvv + F * (1 - U)
        V = V + 0.05 * Lv + uvv - (F + k) * V
    return np.sum(U * V)


@case(arr(4, 4), wrt="grid", tags="kernels science")
def red_black(grid):
    for color in (0, 1):
        grid[1:-1:2, 1 + color : -1 : 2] *= 0.5
        grid[::2, color::2] += grid[1::2, color::2]
    return (grid**2).sum()


@case(arr(4, 2), value(1.5), wrt="pos", tags="kernels science")
def lennard_jones_kernel(pos, cutoff):
    n = pos.shape[0]
    energy = 0.0
    forces = np.zeros_like(pos)
    for i in range(n):
        for j in range(i + 1, n):
            rij = pos[i] - pos[j]
            r2 = np.dot(rij, rij) + 0.5
            if r2 > cutoff**2:
                continue
            inv6 = (1.0 / r2) ** 3
            energy += 4.0 * (inv6**2 - inv6)
            f = 24.0 * (2 * inv6**2 - inv6) / r2 * rij
            forces[i] += f
            forces[j] -= f
    return energy + 0.01 * np.sum(forces**2)


@case(
    arr(2),
    build(dict, w1=arr(2, 4), b1=arr(4), w2=arr(4, 2)),
    value(4),
    wrt=("y0", "params"),
    tags="kernels science",
)
def neural_ode_euler(y0, params, steps):
    trajectory = [y0]
    y = y0
    for i in range(steps):
        h = np.tanh(y @ params["w1"] + params["b1"])
        y = y + 0.1 * (h @ params["w2"])
        trajectory.append(y)
    traj = np.array(trajectory)
    return np.mean(traj**2) + np.sum(np.stack(trajectory, axis=1)[0])


# ---------------------------------------------------------------- dynamic programs


def softmin3(a, b, c, gamma):
    m = min(a, b, c)
    return m - gamma * math.log(
        math.exp(-(a - m) / gamma) + math.exp(-(b - m) / gamma) + math.exp(-(c - m) / gamma)
    )


@case(arr(3), arr(4), num(0.5, 1.0), wrt=("x", "y", "gamma"), tags="kernels science")
def soft_dtw(x, y, gamma):
    n, m = len(x), len(y)
    R = np.full((n + 1, m + 1), 1e10)
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = (x[i - 1] - y[j - 1]) ** 2
            R[i, j] = d + softmin3(R[i - 1, j - 1], R[i - 1, j], R[i, j - 1], gamma)
    return R[n, m]


@case(arr(3, 4), num(0.1, 0.2), wrt=("sim", "gap"), tags="kernels science")
def soft_needleman_wunsch(sim, gap):
    la, lb = sim.shape
    H = np.zeros((la + 1, lb + 1))
    H[1:, 0] = -gap * np.arange(1, la + 1)
    H[0, 1:] = -gap * np.arange(1, lb + 1)
    for i in range(la):
        for j in range(lb):
            cands = np.array([H[i, j] + sim[i, j], H[i, j + 1] - gap, H[i + 1, j] - gap])
            H[i + 1, j + 1] = np.log(np.sum(np.exp(cands)))
    return H[-1, -1]


@case(arr(4), value([1, 2, 3, 2]), value(5), wrt="values", tags="kernels science")
def knapsack(values, weights, capacity):
    best = np.zeros(capacity + 1)
    for v, w in zip(values, weights):
        for c in range(capacity, w - 1, -1):
            best[c] = max(best[c], best[c - w] + v)
    return best[capacity]


# ---------------------------------------------------------------- splines, transforms, images


@case(
    arr(5),
    value(np.array([0.0, 1.0, 2.0, 3.0, 4.0])),
    arr(3, low=0.1, high=3.9),
    wrt=("y", "xq"),
    tags="kernels science",
)
def linear_interpolation(y, x, xq):
    out = np.empty(xq.shape)
    for n, q in enumerate(xq):
        i = 0
        while x[i + 1] < q:
            i += 1
        t = (q - x[i]) / (x[i + 1] - x[i])
        out[n] = (1 - t) * y[i] + t * y[i + 1]
    return np.sum(out**2)


@case(arr(6), num(2.2, 2.8), wrt=("c", "x"), tags="kernels science")
def de_boor(c, x):
    t = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 4.0, 4.0])
    p = 2
    k = int(np.floor(x)) + p
    d = [c[j + k - p] for j in range(0, p + 1)]
    for r in range(1, p + 1):
        for j in range(p, r - 1, -1):
            alpha = (x - t[j + k - p]) / (t[j + 1 + k - r] - t[j + k - p])
            d[j] = (1.0 - alpha) * d[j - 1] + alpha * d[j]
    return d[p]


@case(arr(5), tags="kernels science")
def dft_power(x):
    n = len(x)
    power = np.zeros(n // 2 + 1)
    for k in range(n // 2 + 1):
        re = im = 0.0
        for t in range(n):
            angle = 2 * math.pi * k * t / n
            re += x[t] * math.cos(angle)
            im -= x[t] * math.sin(angle)
        power[k] = re**2 + im**2
    return np.log1p(power).sum()


@case(arr(5, 5), arr(2, 3), wrt=("img", "theta"), tags="kernels science")
def bilinear_warp(img, theta):
    H, W = img.shape
    out = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            y = 1.5 + 0.3 * i + 0.1 * theta[0, 0] * i + 0.1 * theta[0, 2]
            x = 1.6 + 0.2 * j + 0.1 * theta[1, 1] * j + 0.1 * theta[1, 2]
            x0 = int(math.floor(x))
            y0 = int(np.floor(y))
            x1 = min(x0 + 1, W - 1)
            y1 = min(y0 + 1, H - 1)
            wx, wy = x - x0, y - y0
            out[i, j] = (
                img[y0, x0] * (1 - wx) * (1 - wy)
                + img[y0, x1] * wx * (1 - wy)
                + img[y1, x0] * (1 - wx) * wy
                + img[y1, x1] * wx * wy
            )
    return np.sum(out**2)


@case(
    arr(5, 5),
    arr(4, low=0.5, high=3.5),
    arr(4, low=0.5, high=3.5),
    wrt=("im", "x", "y"),
    tags="kernels science",
)
def bilinear_vectorised(im, x, y):
    x0 = np.floor(x).astype(int)
    x1 = x0 + 1
    y0 = np.floor(y).astype(int)
    y1 = y0 + 1
    x0 = np.clip(x0, 0, im.shape[1] - 1)
    x1 = np.clip(x1, 0, im.shape[1] - 1)
    Ia = im[y0, x0]
    Ib = im[y1, x0]
    Ic = im[y0, x1]
    Id = im[y1, x1]
    wa = (x1 - x) * (y1 - y)
    wb = (x1 - x) * (y - y0)
    wc = (x - x0) * (y1 - y)
    wd = (x - x0) * (y - y0)
    return (wa * Ia + wb * Ib + wc * Ic + wd * Id).sum()


@case(arr(1, 2, 4, 4), arr(3, 2, 2, 2), arr(3), wrt=("x", "w", "b"), tags="kernels science")
def conv_im2col(x, w, b, stride=1, pad=0):
    n, c, h, wd = x.shape
    f, _, hh, ww = w.shape
    out_h = (h + 2 * pad - hh) // stride + 1
    out_w = (wd + 2 * pad - ww) // stride + 1
    col = np.zeros((n, c, hh, ww, out_h, out_w))
    for yy in range(hh):
        y_max = yy + stride * out_h
        for xx in range(ww):
            x_max = xx + stride * out_w
            col[:, :, yy, xx, :, :] = x[:, :, yy:y_max:stride, xx:x_max:stride]
    col = col.transpose(0, 4, 5, 1, 2, 3).reshape(n * out_h * out_w, -1)
    out = col @ w.reshape(f, -1).T + b
    out = out.reshape(n, out_h, out_w, -1).transpose(0, 3, 1, 2)
    return np.sum(np.maximum(0, out))


@case(
    arr(3),
    arr(3),
    arr(2, 3, low=-2.0, high=2.0),
    num(0.5, 1.0),
    wrt=("origin", "light", "centres", "radius"),
    tags="kernels science",
    seed=3,
)
def ray_trace(origin, light, centres, radius):
    color = 0.0
    eye = origin - np.array([0.0, 0.0, 5.0])
    for i in range(3):
        for j in range(3):
            d = np.array([0.4 * (i - 1), 0.4 * (j - 1), 1.0])
            d /= norm(d)
            nearest = np.inf
            hit = -1
            for k in range(len(centres)):
                oc = eye - centres[k]
                b = 2.0 * np.dot(oc, d)
                c = np.dot(oc, oc) - radius**2
                disc = b * b - 4 * c
                if disc <= 0:
                    continue
                t = (-b - sqrt(disc)) / 2
                if 0 < t < nearest:
                    nearest = t
                    hit = k
            if hit >= 0:
                p = eye + nearest * d
                n = (p - centres[hit]) / radius
                l = light - p
                l = l / np.linalg.norm(l)
                color += max(0.1, n @ l)
    return color


# ---------------------------------------------------------------- networks


def layer_norm(x, g, b, eps: float = 1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.var(x, axis=-1, keepdims=True)
    return g * (x - mean) / np.sqrt(variance + eps) + b


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def attend(q, k, v, mask):
    scores = q @ k.T / np.sqrt(q.shape[-1]) + mask
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def linear(x, w, b):
    return x @ w + b


def mha(x, c_attn, c_proj, n_head):
    x = linear(x, **c_attn)
    qkv = np.split(x, 3, axis=-1)
    qkv_heads = [np.split(t, n_head, axis=-1) for t in qkv]
    causal_mask = (1 - np.tri(x.shape[0], dtype=x.dtype)) * -1e10
    out_heads = [attend(q, k, v, causal_mask) for q, k, v in zip(*qkv_heads)]
    return linear(np.hstack(out_heads), **c_proj)


@case(
    arr(5, 4),
    arr(4, 4),
    build(
        dict,
        attn=build(dict, w=arr(4, 12), b=arr(12)),
        proj=build(dict, w=arr(4, 4), b=arr(4)),
        g=arr(4),
        b=arr(4),
    ),
    ints(3, low=0, high=5),
    wrt=("wte", "wpe", "blk"),
    tags="kernels science",
)
def tiny_gpt(wte, wpe, blk, tokens):
    x = wte[tokens] + wpe[range(len(tokens))]
    x = x + mha(layer_norm(x, blk["g"], blk["b"]), blk["attn"], blk["proj"], n_head=2)
    x = x + gelu(layer_norm(x, blk["g"], blk["b"]))
    logits = x @ wte.T
    return np.sum(logits**2)


@case(
    arr(2, 2, 3, 2),
    arr(2, 2, 3, 2),
    arr(2, 2, 3, 2),
    value(np.array([[1, 1, 0], [1, 1, 1]])),
    wrt=("q", "k", "v"),
    tags="kernels science",
)
def batched_attention(q, k, v, mask):
    scores = np.matmul(q, k.transpose(0, 1, 3, 2)) / math.sqrt(q.shape[-1])
    scores = np.where(mask[:, None, None, :] == 0, -1e9, scores)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / np.sum(e, axis=-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", weights, v).sum() + weights[0, 0, 0, 2]


@case(arr(4, 3), arr(3), arr(3), wrt=("x", "gamma", "beta"), tags="kernels science")
def batch_norm_train(x, gamma, beta, eps=1e-3):
    mu = x.mean(axis=0)
    xc = x - mu
    var = np.mean(xc**2, axis=0)
    std = np.sqrt(var + eps)
    xn = xc / std
    running = 0.9 * np.zeros(3) + (1 - 0.9) * mu
    out = gamma * xn + beta
    return np.sum(out**3) + running.sum()


@case(
    arr(3, 2),
    arr(2, 4),
    arr(4, 4),
    arr(4),
    arr(4, 3),
    wrt=("Wxh", "Whh", "bh", "Why"),
    tags="kernels science",
)
def char_rnn(emb, Wxh, Whh, bh, Why):
    inputs = [0, 1, 2]
    targets = [1, 2, 0]
    xs, hs, ys, ps = {}, {}, {}, {}
    hs[-1] = np.zeros(4)
    loss = 0
    for t in range(len(inputs)):
        xs[t] = emb[inputs[t]]
        hs[t] = np.tanh(xs[t] @ Wxh + hs[t - 1] @ Whh + bh)
        ys[t] = hs[t] @ Why
        ps[t] = np.exp(ys[t]) / np.sum(np.exp(ys[t]))
        loss += -np.log(ps[t][targets[t]])
    return loss


@case(
    arr(4, 2),
    arr(2, 2),
    arr(2),
    ints(4, low=0, high=2),
    wrt=("X", "W", "b"),
    tags="kernels science",
)
def softmax_cross_entropy_kernel(X, W, b, y):
    num_examples = X.shape[0]
    scores = np.dot(X, W) + b
    exp_scores = np.exp(scores)
    probs = exp_scores / np.sum(exp_scores, axis=1, keepdims=True)
    correct_logprobs = -np.log(probs[range(num_examples), y])
    data_loss = np.sum(correct_logprobs) / num_examples
    reg_loss = 0.5 * 1e-3 * np.sum(W * W)
    return data_loss + reg_loss


@case(arr(3, 4), arr(3), wrt=("W", "x"), tags="kernels science")
def hinge_margins(W, x):
    scores = W.T.dot(x)
    correct = scores[1]
    margins = np.maximum(0, scores - correct + 1)
    margins[1] = 0
    loss = np.sum(margins)
    loss += 0.5 * np.sum(W * W)
    return loss


@case(arr(3, 4), ints(4, low=0, high=3), wrt="emb", tags="kernels science")
def embedding_bag(emb, ids):
    out = np.zeros(4)
    for i in ids:
        out += emb[i]
    counts = np.bincount(ids, minlength=3)
    return out @ out + counts[0]


@numba.njit(fastmath=True)
def _distance(a, b):
    d = 0.0
    for i in range(a.shape[0]):
        tmp = a[i] - b[i]
        d += tmp * tmp
    return np.sqrt(d)


@numba.njit(nogil=True)
def _pairwise(X, D):
    for i in range(X.shape[0]):
        for j in range(X.shape[0]):
            D[i, j] = _distance(X[i], X[j]) if i != j else 0.0


@case(arr(4, 2), tags="kernels science")
def numba_pairwise(X):
    D = np.empty((X.shape[0], X.shape[0]), dtype=np.float64)
    _pairwise(X, D)
    return np.sum(D**2)


@case(arr(4), num(0.5, 1.0), wrt=("x", "bw"), tags="kernels science")
def kernel_density(x, bw):
    grid = np.linspace(-1, 1, 5)
    dens = np.exp(-0.5 * ((grid[:, np.newaxis] - x) / bw) ** 2).mean(axis=1)
    dens /= bw * np.sqrt(2 * np.pi)
    return np.trapezoid(dens, grid) + dens.max()


@case(arr(3), arr(5), wrt=("coeffs", "x"), tags="kernels science")
def horner(coeffs, x):
    acc = 0
    for c in coeffs[::-1]:
        acc = acc * x + c
    return np.sum(acc) + np.polyval(COEFFS, x).sum()


@case(arr(4), tags="kernels science")
def module_constants(x):
    return (x * TABLE).sum() + COEFFS[1] * x[0] + GRAVITY * x[-1] ** 2
