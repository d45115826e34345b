"""Durbin's recursion for a Toeplitz system: a prefix that grows by one and is reversed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"r": 0.4 * 0.9 ** np.arange(300) * rng.uniform(0.5, 1.0, 300)}


def durbin(r):
    y = np.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y**2)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(r):
        n = r.shape[0]
        places = jnp.arange(n)

        def grow(k, state):
            y, alpha, beta = state
            beta = beta * (1.0 - alpha * alpha)
            mirrored = jnp.where(places < k, k - 1 - places, 0)
            known = places < k
            alpha = -(r[k] + jnp.sum(jnp.where(known, r[mirrored] * y, 0.0))) / beta
            y = y + jnp.where(known, alpha * y[mirrored], 0.0)
            return y.at[k].set(alpha), alpha, beta

        first = jnp.zeros_like(r).at[0].set(-r[0])
        y, _, _ = lax.fori_loop(1, n, grow, (first, -r[0], jnp.ones((), r.dtype)))
        return jnp.sum(y**2)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(r):
        n = len(r)
        # Row k holds y as it is before step k.
        ys = np.zeros((n + 1, n))
        alphas, betas, sums = np.empty(n), np.empty(n), np.empty(n)
        alphas[0], betas[0] = -r[0], 1.0
        ys[1, 0] = -r[0]
        for k in range(1, n):
            betas[k] = betas[k - 1] * (1.0 - alphas[k - 1] * alphas[k - 1])
            s = r[k]
            for i in range(k):
                s += r[k - 1 - i] * ys[k, i]
            sums[k] = s
            alpha = -s / betas[k]
            for i in range(k):
                ys[k + 1, i] = ys[k, i] + alpha * ys[k, k - 1 - i]
            ys[k + 1, k] = alpha
            alphas[k] = alpha
        value = 0.0
        y_bar, new = np.empty(n), np.empty(n)
        for i in range(n):
            value += ys[n, i] * ys[n, i]
            y_bar[i] = 2.0 * ys[n, i]
        r_bar = np.zeros(n)
        alpha_bar, beta_bar = 0.0, 0.0
        for k in range(n - 1, 0, -1):
            alpha = alphas[k]
            alpha_bar += y_bar[k]
            for i in range(k):
                alpha_bar += y_bar[i] * ys[k, k - 1 - i]
                new[i] = y_bar[i] + alpha * y_bar[k - 1 - i]
            s_bar = -alpha_bar / betas[k]
            beta_bar += alpha_bar * sums[k] / (betas[k] * betas[k])
            r_bar[k] += s_bar
            for i in range(k):
                r_bar[k - 1 - i] += s_bar * ys[k, i]
                y_bar[i] = new[i] + s_bar * r[k - 1 - i]
            before = alphas[k - 1]
            alpha_bar = -2.0 * before * betas[k - 1] * beta_bar
            beta_bar *= 1.0 - before * before
        r_bar[0] -= y_bar[0] + alpha_bar
        return value, r_bar

    return adjoint


ROWS = [gradient(durbin, ("r",), inputs, title="durbin, 300", jax=in_jax, by_hand=by_hand)]
