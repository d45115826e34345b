"""Alternating directions: tridiagonal sweeps along columns, then along rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import gradient


def inputs() -> dict[str, Any]:
    return {"u": np.random.default_rng(0).random((60, 60)), "steps": 5}


def coefficients(n, steps):
    step, place = 1.0 / steps, 1.0 / n
    return 2.0 * step / place**2, 1.0 * step / place**2


def adi(u, steps):
    u = u.copy()
    n = u.shape[0]
    along, across = coefficients(n, steps)
    a, b = -along / 2.0, 1.0 + along
    d, e = -across / 2.0, 1.0 + across
    v, p, q = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    for _ in range(steps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            below = a * p[1:-1, j - 1] + b
            p[1:-1, j] = -a / below
            flow = -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - d * u[j, 2:]
            q[1:-1, j] = (flow - a * q[1:-1, j - 1]) / below
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            below = d * p[1:-1, j - 1] + e
            p[1:-1, j] = -d / below
            flow = -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - a * v[2:, j]
            q[1:-1, j] = (flow - d * q[1:-1, j - 1]) / below
        u[1:-1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return np.sum(u * u)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def solve(flows, outer, diagonal):
        """Tridiagonal systems, one per column of `flows`, with ends held at 1."""
        ones = jnp.ones_like(flows[0])

        def forth(state, flow):
            p, q = state
            below = outer * p + diagonal
            new = (-outer / below, (flow - outer * q) / below)
            return new, new

        def back(v, pq):
            v = pq[0] * v + pq[1]
            return v, v

        _, pq = lax.scan(forth, (jnp.zeros_like(ones), ones), flows)
        _, solved = lax.scan(back, ones, pq, reverse=True)
        return solved

    def program(u, steps):
        n = u.shape[0]
        along, across = coefficients(n, steps)
        a, b = -along / 2.0, 1.0 + along
        d, e = -across / 2.0, 1.0 + across

        def step(_, u):
            flows = -d * u[:, :-2] + (1.0 + 2.0 * d) * u[:, 1:-1] - d * u[:, 2:]
            inside = solve(flows[1:-1], a, b)
            ones = jnp.ones((1, n - 2), u.dtype)
            v = jnp.concatenate([ones, inside, ones])
            flows = -a * v[:-2] + (1.0 + 2.0 * a) * v[1:-1] - a * v[2:]
            inside = solve(flows.T, d, e).T
            u = u.at[1:-1, 1:-1].set(inside)
            return u.at[1:-1, 0].set(1.0).at[1:-1, -1].set(1.0)

        u = lax.fori_loop(0, steps, step, u)
        return jnp.sum(u * u)

    return program


ROWS = [gradient(adi, ("u",), inputs, title="adi, 60×60, 5 steps", jax=in_jax)]
