"""The squared residual of a linear model, differentiated by coefficients and matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "A": rng.normal(size=(2000, 100)),
        "x": rng.normal(size=100),
        "b": rng.normal(size=2000),
    }


def least_squares(A, x, b):
    residual = A @ x - b
    return 0.5 * np.sum(residual**2)


def in_jax():
    import jax.numpy as jnp

    def program(A, x, b):
        residual = A @ x - b
        return 0.5 * jnp.sum(residual**2)

    return program


def in_torch():
    import torch

    def program(A, x, b):
        residual = A @ x - b
        return 0.5 * torch.sum(residual**2)

    return program


def in_autograd():
    import autograd.numpy as anp

    def program(A, x, b):
        residual = anp.dot(A, x) - b
        return 0.5 * anp.sum(residual**2)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(A, x, b):
        rows, columns = A.shape
        A_bar, x_bar = np.empty_like(A), np.zeros_like(x)
        value = 0.0
        for i in range(rows):
            residual = -b[i]
            for j in range(columns):
                residual += A[i, j] * x[j]
            value += residual * residual
            for j in range(columns):
                A_bar[i, j] = residual * x[j]
                x_bar[j] += residual * A[i, j]
        return 0.5 * value, A_bar, x_bar

    return adjoint


ROWS = [
    gradient(
        least_squares,
        ("A", "x"),
        inputs,
        name="lsq",
        title="least squares 2000×100",
        jax=in_jax,
        torch=in_torch,
        torch_compiled=True,
        autograd=in_autograd,
        by_hand=by_hand,
    )
]
