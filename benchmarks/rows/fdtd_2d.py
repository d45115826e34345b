"""Maxwell's equations on a staggered grid, driven from one side."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    ex, ey, hz = rng.random((3, 80, 100))
    return {"ex": ex, "ey": ey, "hz": hz, "source": rng.random(40)}


def fdtd_2d(ex, ey, hz, source):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(len(source)):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz**2)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(ex, ey, hz, source):
        def step(state, driven):
            ex, ey, hz = state
            ey = ey.at[0, :].set(driven)
            ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
            ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
            curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
            hz = hz.at[:-1, :-1].add(-0.7 * curl)
            return (ex, ey, hz), None

        (ex, ey, hz), _ = lax.scan(step, (ex, ey, hz), source)
        return jnp.sum(hz**2)

    return program


def in_torch():
    import torch

    def program(ex, ey, hz, source):
        ex, ey, hz = ex.clone(), ey.clone(), hz.clone()
        for driven in source:
            ey[0, :] = driven
            ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
            ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
            hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
        return torch.sum(hz**2)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(ex, ey, hz, source):
        ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
        n, m = hz.shape
        for t in range(len(source)):
            ey[0, :] = source[t]
            for i in range(1, n):
                for j in range(m):
                    ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
            for i in range(n):
                for j in range(1, m):
                    ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
            for i in range(n - 1):
                for j in range(m - 1):
                    hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
        ex_bar, ey_bar, hz_bar = np.zeros_like(ex), np.zeros_like(ey), 2.0 * hz
        source_bar = np.empty_like(source)
        for t in range(len(source) - 1, -1, -1):
            for i in range(n - 1):
                for j in range(m - 1):
                    g = 0.7 * hz_bar[i, j]
                    ex_bar[i, j + 1] -= g
                    ex_bar[i, j] += g
                for j in range(m - 1):
                    g = 0.7 * hz_bar[i, j]
                    ey_bar[i + 1, j] -= g
                    ey_bar[i, j] += g
            for i in range(n):
                hz_bar[i, 0] += 0.5 * ex_bar[i, 1]
                for j in range(1, m - 1):
                    hz_bar[i, j] += 0.5 * (ex_bar[i, j + 1] - ex_bar[i, j])
                hz_bar[i, m - 1] -= 0.5 * ex_bar[i, m - 1]
            for j in range(m):
                hz_bar[0, j] += 0.5 * ey_bar[1, j]
                hz_bar[n - 1, j] -= 0.5 * ey_bar[n - 1, j]
            for i in range(1, n - 1):
                for j in range(m):
                    hz_bar[i, j] += 0.5 * (ey_bar[i + 1, j] - ey_bar[i, j])
            source_bar[t] = np.sum(ey_bar[0])
            ey_bar[0] = 0.0
        return np.sum(hz**2), ex_bar, ey_bar, hz_bar, source_bar

    return adjoint


ROWS = [
    gradient(
        fdtd_2d,
        ("ex", "ey", "hz", "source"),
        inputs,
        name="fdtd-2d",
        title="fdtd 2d, 80×100, 40 steps",
        jax=in_jax,
        torch=in_torch,
        by_hand=by_hand,
    )
]
