"""A symmetric update of rank k, on the lower triangle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    C, A = rng.normal(size=(100, 100)), rng.normal(size=(100, 80))
    return {"alpha": 1.5, "beta": 1.2, "C": C, "A": A}


def syrk(alpha, beta, C, A):
    C = C.copy()
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]
    return np.sum(C**2)


def in_jax():
    import jax.numpy as jnp

    def program(alpha, beta, C, A):
        updated = beta * C + alpha * (A @ A.T)
        return jnp.sum((jnp.tril(updated) + jnp.triu(C, 1)) ** 2)

    return program


def in_torch():
    import torch

    def program(alpha, beta, C, A):
        updated = beta * C + alpha * (A @ A.T)
        return torch.sum((torch.tril(updated) + torch.triu(C, 1)) ** 2)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(alpha, beta, C, A):
        n = A.shape[0]
        G = A @ A.T
        C_bar = np.empty_like(C)
        M = np.empty_like(C)
        value = alpha_bar = beta_bar = 0.0
        for i in range(n):
            for j in range(i + 1):
                c = beta * C[i, j] + alpha * G[i, j]
                value += c * c
                c_bar = 2.0 * c
                alpha_bar += c_bar * G[i, j]
                beta_bar += c_bar * C[i, j]
                C_bar[i, j] = c_bar * beta
                M[i, j] = c_bar * alpha
            for j in range(i + 1, n):
                value += C[i, j] * C[i, j]
                C_bar[i, j] = 2.0 * C[i, j]
        for i in range(n):
            for j in range(i):
                M[j, i] = M[i, j]
            M[i, i] *= 2.0
        return value, alpha_bar, beta_bar, C_bar, M @ A

    return adjoint


ROWS = [
    gradient(
        syrk,
        ("alpha", "beta", "C", "A"),
        inputs,
        title="syrk, 100×80",
        jax=in_jax,
        torch=in_torch,
        torch_compiled=True,
        by_hand=by_hand,
    )
]
