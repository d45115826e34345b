"""Sweeps of a five-point average over a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"A": rng.random((120, 120)), "B": rng.random((120, 120)), "steps": 40}


def star(A):
    return 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])


def jacobi_2d(A, B, steps):
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        B[1:-1, 1:-1] = star(A)
        A[1:-1, 1:-1] = star(B)
    return np.sum(A**2) + np.sum(B)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(A, B, steps):
        def sweep(_, state):
            A, B = state
            B = B.at[1:-1, 1:-1].set(star(A))
            A = A.at[1:-1, 1:-1].set(star(B))
            return A, B

        A, B = lax.fori_loop(0, steps, sweep, (A, B))
        return jnp.sum(A**2) + jnp.sum(B)

    return program


def in_torch():
    import torch

    def program(A, B, steps):
        for _ in range(steps):
            inside = star(A)
            B = B.clone()
            B[1:-1, 1:-1] = inside
            inside = star(B)
            A = A.clone()
            A[1:-1, 1:-1] = inside
        return torch.sum(A**2) + torch.sum(B)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def average(a, b):
        n, m = a.shape
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])

    @njit(**FAST)
    def pull(b_bar, a_bar, edge):
        """From the interior of b's adjoint (border 0) to a's (border of `edge`)."""
        n, m = a_bar.shape
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a_bar[i, j] += 0.2 * (
                    b_bar[i, j]
                    + b_bar[i, j - 1]
                    + b_bar[i, j + 1]
                    + b_bar[i + 1, j]
                    + b_bar[i - 1, j]
                )
        for i in range(1, n - 1):
            edge[i, 0] += 0.2 * b_bar[i, 1]
            edge[i, m - 1] += 0.2 * b_bar[i, m - 2]
        for j in range(1, m - 1):
            edge[0, j] += 0.2 * b_bar[1, j]
            edge[n - 1, j] += 0.2 * b_bar[n - 2, j]
        b_bar[:] = 0.0

    @njit(**FAST)
    def split(a_bar):
        """Returns the interior with a border of zeros; only the border remains in the argument."""
        inside = np.zeros_like(a_bar)
        inside[1:-1, 1:-1] = a_bar[1:-1, 1:-1]
        return inside

    @njit(**FAST)
    def adjoint(A, B, steps):
        A, B = A.copy(), B.copy()
        for _ in range(steps):
            average(A, B)
            average(B, A)
        A_edge, B_edge = 2.0 * A, np.ones_like(B)
        A_bar, B_bar = split(A_edge), split(B_edge)
        for _ in range(steps):
            pull(A_bar, B_bar, B_edge)
            pull(B_bar, A_bar, A_edge)
        A_edge[1:-1, 1:-1] = A_bar[1:-1, 1:-1]
        B_edge[1:-1, 1:-1] = B_bar[1:-1, 1:-1]
        return np.sum(A**2) + np.sum(B), A_edge, B_edge

    return adjoint


ROWS = [
    gradient(
        jacobi_2d,
        ("A", "B"),
        inputs,
        name="jacobi-2d",
        title="jacobi 2d, 120×120, 40 steps",
        jax=in_jax,
        torch=in_torch,
        by_hand=by_hand,
    )
]
