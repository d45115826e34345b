"""Orthonormal columns by Gram and Schmidt's modified procedure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"A": rng.normal(size=(80, 50)), "weights": rng.normal(size=(80, 50))}


def gramschmidt(A, weights):
    A = A.copy()
    m, n = A.shape
    Q, R = np.zeros((m, n)), np.zeros((n, n))
    for k in range(n):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return np.sum(Q * weights) + np.sum(R**2)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(A, weights):
        m, n = A.shape
        places = jnp.arange(n)

        def column(k, state):
            A, Q, R = state
            length = jnp.sqrt(jnp.dot(A[:, k], A[:, k]))
            q = A[:, k] / length
            row = jnp.where(places > k, q @ A, 0.0)
            R = R.at[k].set(row.at[k].set(length))
            return A - jnp.outer(q, row), Q.at[:, k].set(q), R

        zeros = jnp.zeros((m, n), A.dtype), jnp.zeros((n, n), A.dtype)
        _, Q, R = lax.fori_loop(0, n, column, (A, *zeros))
        return jnp.sum(Q * weights) + jnp.sum(R**2)

    return program


def in_torch():
    import torch

    def program(A, weights):
        n = A.shape[1]
        total = 0.0
        for k in range(n):
            length = torch.sqrt(torch.dot(A[:, k], A[:, k]))
            q = A[:, k] / length
            rest = A[:, k + 1 :]
            row = q @ rest
            A = torch.cat([A[:, : k + 1], rest - torch.outer(q, row)], dim=1)
            total = total + torch.sum(q * weights[:, k]) + length**2 + torch.sum(row**2)
        return total

    return program


ROWS = [
    gradient(gramschmidt, ("A",), inputs, title="gramschmidt, 80×50", jax=in_jax, torch=in_torch)
]
