"""Vertical advection in a weather model: one tridiagonal system per column of air."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    I, J, K = 24, 24, 40  # noqa: E741
    names = ("stage_change", "stage", "position", "change")
    fields = {name: rng.random((I, J, K)) for name in names}
    return {**fields, "wind": rng.random((I + 1, J, K)), "rate": 3.0 / 20.0 * 20.0}


def vadv(stage_change, stage, position, change, wind, rate):
    K = stage.shape[2]
    upper, right = np.zeros_like(stage), np.zeros_like(stage)
    for k in range(K):
        diagonal = np.full(stage.shape[:2], rate)
        flow = np.zeros(stage.shape[:2])
        if k > 0:
            below = -0.125 * (wind[1:, :, k] + wind[:-1, :, k])
            diagonal = diagonal - below
            flow = flow - below * (stage[:, :, k - 1] - stage[:, :, k])
        if k < K - 1:
            above = 0.125 * (wind[1:, :, k + 1] + wind[:-1, :, k + 1])
            diagonal = diagonal - above
            flow = flow - above * (stage[:, :, k + 1] - stage[:, :, k])
            upper[:, :, k] = above
        right[:, :, k] = rate * position[:, :, k] + change[:, :, k] + stage_change[:, :, k] + flow
        if k > 0:
            scale = 1.0 / (diagonal - upper[:, :, k - 1] * below)
            right[:, :, k] = (right[:, :, k] - right[:, :, k - 1] * below) * scale
        else:
            scale = 1.0 / diagonal
            right[:, :, k] *= scale
        upper[:, :, k] *= scale
    found = np.zeros(stage.shape[:2])
    total = 0.0
    for k in range(K - 1, -1, -1):
        found = right[:, :, k] - upper[:, :, k] * found
        total += np.sum((rate * (found - position[:, :, k])) ** 2)
    return total


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(stage_change, stage, position, change, wind, rate):
        fields = (stage_change, stage, position, change)
        stage_change, stage, position, change = (jnp.moveaxis(f, 2, 0) for f in fields)
        mean = 0.125 * jnp.moveaxis(wind[1:] + wind[:-1], 2, 0)
        none = jnp.zeros_like(mean[:1])
        below = jnp.concatenate([none, -mean[1:]])
        above = jnp.concatenate([mean[1:], none])
        diagonal = rate - below - above
        down = jnp.concatenate([none, stage[:-1] - stage[1:]])
        up = jnp.concatenate([stage[1:] - stage[:-1], none])
        right = rate * position + change + stage_change - below * down - above * up

        def forth(state, level):
            upper, right = state
            a, b, c, d = level
            scale = 1.0 / (b - upper * a)
            new = (c * scale, (d - right * a) * scale)
            return new, new

        def back(found, level):
            found = level[1] - level[0] * found
            return found, found

        start = (none[0], none[0])
        _, made = lax.scan(forth, start, (below, diagonal, above, right))
        _, found = lax.scan(back, none[0], made, reverse=True)
        return jnp.sum((rate * (found - position)) ** 2)

    return program


ROWS = [
    gradient(
        vadv,
        ("stage_change", "stage", "position", "wind", "rate"),
        inputs,
        title="vadv, 24×24×40",
        jax=in_jax,
    )
]
