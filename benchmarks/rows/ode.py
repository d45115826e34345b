"""A chain of ordinary differential equations by Runge and Kutta's method of order four."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    return {"x": np.random.default_rng(0).random(100), "steps": 200}


def slope(x, y):
    dy = np.empty_like(y)
    dy[0] = x[0]
    for i in range(1, len(y)):
        dy[i] = x[i] * y[i - 1]
    return dy


def ode(x, steps):
    y = np.zeros_like(x)
    h = 1.0 / steps
    for _ in range(steps):
        k1 = slope(x, y)
        k2 = slope(x, y + 0.5 * h * k1)
        k3 = slope(x, y + 0.5 * h * k2)
        k4 = slope(x, y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.sum(y)


def step_of(slope):
    def step(x, y, h):
        k1 = slope(x, y)
        k2 = slope(x, y + 0.5 * h * k1)
        k3 = slope(x, y + 0.5 * h * k2)
        k4 = slope(x, y + h * k3)
        return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

    return step


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    step = step_of(lambda x, y: jnp.concatenate([x[:1], x[1:] * y[:-1]]))

    def program(x, steps):
        y = lax.fori_loop(0, steps, lambda _, y: step(x, y, 1.0 / steps), jnp.zeros_like(x))
        return jnp.sum(y)

    return program


def in_torch():
    import torch

    step = step_of(lambda x, y: torch.cat([x[:1], x[1:] * y[:-1]]))

    def program(x, steps):
        y = torch.zeros_like(x)
        for _ in range(steps):
            y = step(x, y, 1.0 / steps)
        return torch.sum(y)

    return program


def in_autograd():
    import autograd.numpy as anp

    step = step_of(lambda x, y: anp.concatenate([x[:1], x[1:] * y[:-1]]))

    def program(x, steps):
        y = anp.zeros(x.shape)
        for _ in range(steps):
            y = step(x, y, 1.0 / steps)
        return anp.sum(y)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def stage(x, y, k, scale, moved, new):
        """The slope at y + scale k, which is kept."""
        for i in range(len(x)):
            moved[i] = y[i] + scale * k[i]
        new[0] = x[0]
        for i in range(1, len(x)):
            new[i] = x[i] * moved[i - 1]

    @njit(**FAST)
    def back(x, moved, new_bar, x_bar, moved_bar):
        n = len(x)
        x_bar[0] += new_bar[0]
        for i in range(1, n):
            x_bar[i] += new_bar[i] * moved[i - 1]
            moved_bar[i - 1] = new_bar[i] * x[i]
        moved_bar[n - 1] = 0.0

    @njit(**FAST)
    def adjoint(x, steps):
        n = len(x)
        h = 1.0 / steps
        # States in which slopes are taken, four for each step.
        states = np.empty((steps, 4, n))
        y, k = np.zeros(n), np.zeros((4, n))
        for t in range(steps):
            stage(x, y, k[0], 0.0, states[t, 0], k[0])
            stage(x, y, k[0], 0.5 * h, states[t, 1], k[1])
            stage(x, y, k[1], 0.5 * h, states[t, 2], k[2])
            stage(x, y, k[2], h, states[t, 3], k[3])
            for i in range(n):
                y[i] += h / 6.0 * (k[0, i] + 2.0 * k[1, i] + 2.0 * k[2, i] + k[3, i])
        value = 0.0
        for i in range(n):
            value += y[i]
        x_bar, y_bar = np.zeros(n), np.ones(n)
        k_bar, moved_bar = np.empty(n), np.empty(n)
        added = np.empty(n)
        for t in range(steps - 1, -1, -1):
            for i in range(n):
                k_bar[i] = h / 6.0 * y_bar[i]
                added[i] = 0.0
            back(x, states[t, 3], k_bar, x_bar, moved_bar)
            for s in range(2, -1, -1):
                scale = h if s == 2 else 0.5 * h
                share = h / 6.0 if s == 0 else h / 3.0
                for i in range(n):
                    added[i] += moved_bar[i]
                    k_bar[i] = share * y_bar[i] + scale * moved_bar[i]
                back(x, states[t, s], k_bar, x_bar, moved_bar)
            for i in range(n):
                y_bar[i] += added[i] + moved_bar[i]
        return value, x_bar

    return adjoint


ROWS = [
    gradient(
        ode,
        ("x",),
        inputs,
        title="ODE by RK4, 100, 200 steps",
        jax=in_jax,
        torch=in_torch,
        autograd=in_autograd,
        by_hand=by_hand,
    )
]
