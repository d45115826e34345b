"""One training step of a network for the heat equation: second derivatives with respect to the
coordinates inside, the gradient with respect to the weights outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import row as r
from ..peers import computation

RATE, UNITS = 0.01, 16
SIZES = {"wx": UNITS, "wt": UNITS, "b": UNITS, "h": (UNITS, UNITS), "c": UNITS, "o": UNITS}


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    weights = {name: 0.5 * rng.normal(size=size) for name, size in SIZES.items()}
    return {**weights, "xs": rng.random(64), "ts": rng.random(64)}


def u(x, t, wx, wt, b, h, c, o):
    a = np.tanh(x * wx + t * wt + b)
    a = np.tanh(a @ h + c)
    return np.sin(np.pi * x) + t * x * (1.0 - x) * (a @ o)


def ours():
    import s2s

    by_time = s2s.grad(u, wrt="t")
    by_place_twice = s2s.grad(s2s.grad(u, wrt="x"), wrt="x")

    def loss(wx, wt, b, h, c, o, xs, ts):
        total = 0.0
        for k in range(len(xs)):
            heat = by_time(xs[k], ts[k], wx, wt, b, h, c, o)
            curved = by_place_twice(xs[k], ts[k], wx, wt, b, h, c, o)
            total += (heat - curved / np.pi**2) ** 2
        return total / len(xs)

    slope = s2s.value_and_grad(loss, wrt=tuple(SIZES))

    @s2s.function
    def step(wx, wt, b, h, c, o, xs, ts):
        value, (wx_bar, wt_bar, b_bar, h_bar, c_bar, o_bar) = slope(wx, wt, b, h, c, o, xs, ts)
        moved = (
            wx - RATE * wx_bar,
            wt - RATE * wt_bar,
            b - RATE * b_bar,
            h - RATE * h_bar,
            c - RATE * c_bar,
            o - RATE * o_bar,
        )
        return value, moved

    return step


def in_jax():
    import jax
    import jax.numpy as jnp

    def u(x, t, wx, wt, b, h, c, o):
        a = jnp.tanh(x * wx + t * wt + b)
        a = jnp.tanh(a @ h + c)
        return jnp.sin(jnp.pi * x) + t * x * (1.0 - x) * (a @ o)

    def residual(x, t, weights):
        heat = jax.grad(u, argnums=1)(x, t, *weights)
        return heat - jax.grad(jax.grad(u))(x, t, *weights) / jnp.pi**2

    def loss(weights, xs, ts):
        return jnp.mean(jax.vmap(residual, (0, 0, None))(xs, ts, weights) ** 2)

    def step(wx, wt, b, h, c, o, xs, ts):
        weights = (wx, wt, b, h, c, o)
        value, slopes = jax.value_and_grad(loss)(weights, xs, ts)
        return value, [w - RATE * g for w, g in zip(weights, slopes)]

    return step


def in_torch():
    import torch

    def step(wx, wt, b, h, c, o, xs, ts):
        weights = [w.requires_grad_() for w in (wx, wt, b, h, c, o)]
        x, t = xs.requires_grad_(), ts.requires_grad_()
        a = torch.tanh(x[:, None] * wx + t[:, None] * wt + b)
        a = torch.tanh(a @ h + c)
        value = torch.sin(torch.pi * x) + t * x * (1.0 - x) * (a @ o)
        by_x, by_t = torch.autograd.grad(value.sum(), (x, t), create_graph=True)
        (by_xx,) = torch.autograd.grad(by_x.sum(), x, create_graph=True)
        loss = torch.mean((by_t - by_xx / torch.pi**2) ** 2)
        slopes = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            return loss, [w - RATE * g for w, g in zip(weights, slopes)]

    return step


ROWS = [
    computation(
        "pinn",
        "PINN step, heat equation, 64 points",
        inputs,
        {r.OURS: ours, r.JAX: in_jax, r.TORCH: in_torch},
        group="second order",
    )
]
