"""Sweeps of a three-point average, back and forth between two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"A": rng.random(4000), "B": rng.random(4000), "steps": 100}


def jacobi_1d(A, B, steps):
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3.0
        A[1:-1] = (B[:-2] + B[1:-1] + B[2:]) / 3.0
    return np.sum(A**2) + np.sum(B)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(A, B, steps):
        def sweep(_, state):
            A, B = state
            B = B.at[1:-1].set((A[:-2] + A[1:-1] + A[2:]) / 3.0)
            A = A.at[1:-1].set((B[:-2] + B[1:-1] + B[2:]) / 3.0)
            return A, B

        A, B = lax.fori_loop(0, steps, sweep, (A, B))
        return jnp.sum(A**2) + jnp.sum(B)

    return program


def in_torch():
    import torch

    def program(A, B, steps):
        for _ in range(steps):
            B = torch.cat([B[:1], (A[:-2] + A[1:-1] + A[2:]) / 3.0, B[-1:]])
            A = torch.cat([A[:1], (B[:-2] + B[1:-1] + B[2:]) / 3.0, A[-1:]])
        return torch.sum(A**2) + torch.sum(B)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def average(a, b):
        for i in range(1, len(a) - 1):
            b[i] = (a[i - 1] + a[i] + a[i + 1]) * (1.0 / 3.0)

    @njit(**FAST)
    def pull(b_bar, a_bar, edges):
        """From the interior of b's adjoint (ends are 0) to a's (ends are `edges`)."""
        n = len(a_bar)
        for i in range(1, n - 1):
            a_bar[i] += (b_bar[i - 1] + b_bar[i] + b_bar[i + 1]) * (1.0 / 3.0)
        edges[0] += b_bar[1] * (1.0 / 3.0)
        edges[1] += b_bar[n - 2] * (1.0 / 3.0)
        b_bar[:] = 0.0

    @njit(**FAST)
    def adjoint(A, B, steps):
        A, B = A.copy(), B.copy()
        for _ in range(steps):
            average(A, B)
            average(B, A)
        A_bar, B_bar = 2.0 * A, np.ones_like(B)
        A_edges, B_edges = np.array([A_bar[0], A_bar[-1]]), np.ones(2)
        A_bar[0] = A_bar[-1] = B_bar[0] = B_bar[-1] = 0.0
        for _ in range(steps):
            pull(A_bar, B_bar, B_edges)
            pull(B_bar, A_bar, A_edges)
        A_bar[0], A_bar[-1] = A_edges
        B_bar[0], B_bar[-1] = B_edges
        return np.sum(A**2) + np.sum(B), A_bar, B_bar

    return adjoint


ROWS = [
    gradient(
        jacobi_1d,
        ("A", "B"),
        inputs,
        name="jacobi-1d",
        title="jacobi 1d, 4000, 100 steps",
        jax=in_jax,
        torch=in_torch,
        by_hand=by_hand,
    )
]
