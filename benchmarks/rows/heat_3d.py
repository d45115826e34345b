"""Heat in a block: sweeps of a seven-point stencil."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shape = (30, 30, 30)
    return {"A": rng.random(shape), "B": rng.random(shape), "steps": 20}


def spread(A):
    middle = A[1:-1, 1:-1, 1:-1]
    return (
        0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * middle + A[:-2, 1:-1, 1:-1])
        + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * middle + A[1:-1, :-2, 1:-1])
        + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * middle + A[1:-1, 1:-1, :-2])
        + middle
    )


def heat_3d(A, B, steps):
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        B[1:-1, 1:-1, 1:-1] = spread(A)
        A[1:-1, 1:-1, 1:-1] = spread(B)
    return np.sum(A * A)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(A, B, steps):
        def sweep(_, state):
            A, B = state
            B = B.at[1:-1, 1:-1, 1:-1].set(spread(A))
            A = A.at[1:-1, 1:-1, 1:-1].set(spread(B))
            return A, B

        A, B = lax.fori_loop(0, steps, sweep, (A, B))
        return jnp.sum(A * A)

    return program


def in_torch():
    import torch

    def program(A, B, steps):
        for _ in range(steps):
            inside = spread(A)
            B = B.clone()
            B[1:-1, 1:-1, 1:-1] = inside
            inside = spread(B)
            A = A.clone()
            A[1:-1, 1:-1, 1:-1] = inside
        return torch.sum(A * A)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def star(a, i, j, k):
        around = a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] + a[i, j + 1, k]
        return 0.125 * (around + a[i, j, k - 1] + a[i, j, k + 1]) + 0.25 * a[i, j, k]

    @njit(**FAST)
    def sweep(a, b):
        n, m, p = a.shape
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, p - 1):
                    b[i, j, k] = star(a, i, j, k)

    @njit(**FAST)
    def pull(b_bar, a_bar, edge):
        """The stencil is self-adjoint inside; faces get contributions from inner neighbours."""
        n, m, p = a_bar.shape
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, p - 1):
                    a_bar[i, j, k] += star(b_bar, i, j, k)
        edge[0] += 0.125 * b_bar[1]
        edge[n - 1] += 0.125 * b_bar[n - 2]
        edge[:, 0] += 0.125 * b_bar[:, 1]
        edge[:, m - 1] += 0.125 * b_bar[:, m - 2]
        edge[:, :, 0] += 0.125 * b_bar[:, :, 1]
        edge[:, :, p - 1] += 0.125 * b_bar[:, :, p - 2]
        b_bar[:] = 0.0

    @njit(**FAST)
    def adjoint(A, B, steps):
        A, B = A.copy(), B.copy()
        for _ in range(steps):
            sweep(A, B)
            sweep(B, A)
        A_edge, B_edge = 2.0 * A, np.zeros_like(B)
        A_bar, B_bar = np.zeros_like(A), np.zeros_like(B)
        A_bar[1:-1, 1:-1, 1:-1] = A_edge[1:-1, 1:-1, 1:-1]
        for _ in range(steps):
            pull(A_bar, B_bar, B_edge)
            pull(B_bar, A_bar, A_edge)
        A_edge[1:-1, 1:-1, 1:-1] = A_bar[1:-1, 1:-1, 1:-1]
        B_edge[1:-1, 1:-1, 1:-1] = B_bar[1:-1, 1:-1, 1:-1]
        return np.sum(A * A), A_edge, B_edge

    return adjoint


ROWS = [
    gradient(
        heat_3d,
        ("A", "B"),
        inputs,
        name="heat-3d",
        title="heat 3d, 30×30×30, 20 steps",
        jax=in_jax,
        torch=in_torch,
        by_hand=by_hand,
    )
]
