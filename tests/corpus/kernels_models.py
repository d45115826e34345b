"""Models and solvers in the style of third-party code: index arrays, masks, dynamic programming,
and loops with data-dependent exits."""

import numpy as np

from . import arr, case, ints, made, num, value


@case(arr(4, 2), arr(4, 2), ints(5, low=0, high=2), made(lambda rng, n, dtype: rng.integers(2, 4, 5)),
      arr(5, low=0.5), tags="kernels models")  # fmt: skip
def springs_between_points(x, v, i, j, k):
    for _ in range(3):
        d = x[j] - x[i]
        length = np.sqrt(np.sum(d * d, axis=1))
        f = (k * (length - 0.5) / length)[:, None] * d
        force = np.zeros_like(x)
        np.add.at(force, i, f)
        np.add.at(force, j, -f)
        v = 0.9 * (v + 0.1 * force)
        x = x + 0.1 * v
    return np.sum(x**2) + np.sum(v**2)


@case(arr(3, 2), arr(4, 2), ints(6, low=0, high=3), ints(6, low=0, high=4), arr(6), num(0.05, 0.2),
      tags="kernels models")  # fmt: skip
def factors_by_descent(users, items, u, i, ratings, rate):
    users, items = users.copy(), items.copy()
    for _ in range(2):
        for n in range(len(ratings)):
            a, b = u[n], i[n]
            error = ratings[n] - np.dot(users[a], items[b])
            before = users[a].copy()
            users[a] += rate * (error * items[b] - 0.1 * users[a])
            items[b] += rate * (error * before - 0.1 * items[b])
    loss = 0.0
    for n in range(len(ratings)):
        loss += (ratings[n] - users[u[n]] @ items[i[n]]) ** 2
    return loss


@case(arr(5, 4), made(lambda rng, n, dtype: np.array([2, 1])), tags="kernels models dp")
def alignment_with_blanks(logits, labels):
    steps = logits.shape[0]
    logp = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    size = 2 * len(labels) + 1
    extended = np.zeros(size, dtype=np.int64)
    extended[1::2] = labels
    alpha = np.full((steps, size), -1e30)
    alpha[0, 0] = logp[0, 0]
    alpha[0, 1] = logp[0, extended[1]]
    for t in range(1, steps):
        for s in range(size):
            a = alpha[t - 1, s]
            if s > 0:
                a = np.logaddexp(a, alpha[t - 1, s - 1])
            if s > 1 and extended[s] != 0 and extended[s] != extended[s - 2]:
                a = np.logaddexp(a, alpha[t - 1, s - 2])
            alpha[t, s] = a + logp[t, extended[s]]
    return -np.logaddexp(alpha[steps - 1, size - 1], alpha[steps - 1, size - 2])


@case(arr(4, 3), arr(3, 3), ints(4, low=0, high=3), tags="kernels models dp")
def tagging_field(emissions, transitions, tags):
    score = emissions[0, tags[0]]
    for t in range(1, len(tags)):
        score += transitions[tags[t - 1], tags[t]] + emissions[t, tags[t]]
    alpha = emissions[0]
    for t in range(1, len(emissions)):
        m = alpha[:, None] + transitions + emissions[t][None, :]
        top = m.max(axis=0)
        alpha = top + np.log(np.exp(m - top).sum(axis=0))
    top = alpha.max()
    return top + np.log(np.exp(alpha - top).sum()) - score


@case(arr(7, low=-1.0, high=1.0), value(0.1), value(0.15), tags="kernels models whiles")
def burgers_by_godunov(u, dx, end):
    u = u.copy()
    n = len(u)
    flux = np.zeros(n + 1, dtype=u.dtype)
    t = 0.0
    while t < end:
        dt = 0.4 * dx / np.max(np.abs(u))
        if t + dt > end:
            dt = end - t
        for i in range(1, n):
            a, b = u[i - 1], u[i]
            if a > b:
                flux[i] = 0.5 * a * a if a + b > 0 else 0.5 * b * b
            elif a > 0:
                flux[i] = 0.5 * a * a
            elif b < 0:
                flux[i] = 0.5 * b * b
            else:
                flux[i] = 0.0
        u[1:-1] -= dt / dx * (flux[2:n] - flux[1 : n - 1])
        t += dt
    return np.sum(u**2)


@case(arr(5, 4), num(1.1, 1.4), tags="kernels models whiles")
def relaxation_until_it_rests(f, omega):
    n, m = f.shape
    u = np.zeros_like(f)
    change = 1.0
    rounds = 0
    while change > 1e-3 and rounds < 12:
        change = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
                new = (1 - omega) * u[i, j] + omega * 0.25 * (around - f[i, j])
                change = max(change, abs(new - u[i, j]))
                u[i, j] = new
        rounds += 1
    return np.sum(u**2)


@case(arr(4, 3), arr(3, 2), arr(4), ints(6, low=0, high=4), ints(6, low=0, high=4),
      tags="kernels models")  # fmt: skip
def attention_along_edges(x, w, a, source, target):
    h = x @ w
    d = h.shape[1]
    total = np.zeros_like(h)
    weight = np.zeros(h.shape[0], dtype=h.dtype)
    for e in range(len(source)):
        s, t = source[e], target[e]
        z = np.dot(a[:d], h[s]) + np.dot(a[d:], h[t])
        z = z if z > 0 else 0.2 * z
        total[t] += np.exp(z) * h[s]
        weight[t] += np.exp(z)
    return np.sum((total / (weight + 1e-3)[:, None]) ** 2)


@case(arr(5, 2), made(lambda rng, n, dtype: np.array([0, 1, 0, 1, 1])), tags="kernels models")
def hardest_triplets(points, labels):
    n = len(points)
    total = 0.0
    for i in range(n):
        far = 0.0
        near = np.inf
        for j in range(n):
            d = np.sum((points[i] - points[j]) ** 2)
            if labels[i] == labels[j]:
                if d > far:
                    far = d
            elif d < near:
                near = d
        total += max(far - near + 0.5, 0.0)
    return total / n


@case(arr(3, 3, low=-1.0, high=0.3), arr(3, 3), value(4), tags="kernels models masks")
def masked_iteration(re, im, n):
    zr, zi, total = np.zeros_like(re), np.zeros_like(re), np.zeros_like(re)
    for _ in range(n):
        m = zr * zr + zi * zi < 4.0
        a = zr[m] ** 2 - zi[m] ** 2 + re[m]
        b = 2 * zr[m] * zi[m] + im[m]
        zr[m] = a
        zi[m] = b
        total[m] += np.exp(-(a * a + b * b))
    return total.sum()
