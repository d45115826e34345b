"""log(sum(exp(x))), shifted by the largest element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    return {"x": np.random.default_rng(0).normal(size=100_000)}


def log_sum_exp(x):
    largest = np.max(x)
    return np.log(np.sum(np.exp(x - largest))) + largest


def in_jax():
    import jax.numpy as jnp

    def program(x):
        largest = jnp.max(x)
        return jnp.log(jnp.sum(jnp.exp(x - largest))) + largest

    return program


def in_torch():
    import torch

    def program(x):
        largest = torch.max(x)
        return torch.log(torch.sum(torch.exp(x - largest))) + largest

    return program


def in_autograd():
    import autograd.numpy as anp

    def program(x):
        largest = anp.max(x)
        return anp.log(anp.sum(anp.exp(x - largest))) + largest

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(x):
        largest = x[0]
        for i in range(1, x.shape[0]):
            largest = max(largest, x[i])
        x_bar = np.empty_like(x)
        total = 0.0
        for i in range(x.shape[0]):
            x_bar[i] = np.exp(x[i] - largest)
            total += x_bar[i]
        scale = 1.0 / total
        for i in range(x.shape[0]):
            x_bar[i] *= scale
        return np.log(total) + largest, x_bar

    return adjoint


ROWS = [
    gradient(
        log_sum_exp,
        ("x",),
        inputs,
        name="lse",
        title="log-sum-exp, 100 000",
        jax=in_jax,
        torch=in_torch,
        torch_compiled=True,
        autograd=in_autograd,
        by_hand=by_hand,
    )
]
