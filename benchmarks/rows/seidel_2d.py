"""Gauss-Seidel sweeps: each element becomes the average of nine, new ones included."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    return {"A": np.random.default_rng(0).random((60, 60)), "steps": 10}


def seidel_2d(A, steps):
    A = A.copy()
    n, m = A.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0
    return np.sum(A**2)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(A, steps):
        n = A.shape[0]

        def row(i, A):
            above, here, below = A[i - 1], A[i], A[i + 1]
            known = above[:-2] + above[1:-1] + above[2:] + below[:-2] + below[1:-1] + below[2:]
            known = known + here[1:-1] + here[2:]

            def element(left, rest):
                new = (rest + left) / 9.0
                return new, new

            _, new = lax.scan(element, here[0], known)
            return A.at[i, 1:-1].set(new)

        A = lax.fori_loop(0, steps, lambda _, A: lax.fori_loop(1, n - 1, row, A), A)
        return jnp.sum(A**2)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(A, steps):
        A = A.copy()
        n, m = A.shape
        for _ in range(steps):
            for i in range(1, n - 1):
                left = A[i, 0]
                for j in range(1, m - 1):
                    above = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    below = A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                    left = (above + below + left + A[i, j] + A[i, j + 1]) * (1.0 / 9.0)
                    A[i, j] = left
        A_bar = 2.0 * A
        for _ in range(steps):
            for i in range(n - 2, 0, -1):
                for j in range(m - 2, 0, -1):
                    g = A_bar[i, j] * (1.0 / 9.0)
                    A_bar[i - 1, j - 1] += g
                    A_bar[i - 1, j] += g
                    A_bar[i - 1, j + 1] += g
                    A_bar[i, j - 1] += g
                    A_bar[i, j] = g
                    A_bar[i, j + 1] += g
                    A_bar[i + 1, j - 1] += g
                    A_bar[i + 1, j] += g
                    A_bar[i + 1, j + 1] += g
        return np.sum(A**2), A_bar

    return adjoint


ROWS = [
    gradient(
        seidel_2d,
        ("A",),
        inputs,
        name="seidel-2d",
        title="seidel 2d, 60×60, 10 steps",
        jax=in_jax,
        by_hand=by_hand,
    )
]
