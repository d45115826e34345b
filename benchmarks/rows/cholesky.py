"""The Cholesky factor row by row, and the logarithm of the determinant from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    a = np.random.default_rng(0).normal(size=(80, 80))
    return {"A": a @ a.T + 80.0 * np.eye(80)}


def cholesky(A):
    A = A.copy()
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] -= A[i, :i] @ A[i, :i]
        A[i, i] = np.sqrt(A[i, i])
    return np.sum(np.log(np.diag(A))) + np.sum(A[-1])


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(A):
        n = A.shape[0]
        places = jnp.arange(n)

        def column(k, state):
            """The k-th column of the factor, and the Schur complement."""
            left, L = state
            pivot = jnp.sqrt(left[k, k])
            below = jnp.where(places > k, left[:, k] / pivot, 0.0)
            L = L.at[:, k].set(below.at[k].set(pivot))
            return left - jnp.outer(below, below), L

        _, L = lax.fori_loop(0, n, column, (A, jnp.zeros_like(A)))
        return jnp.sum(jnp.log(jnp.diag(L))) + jnp.sum(L[-1])

    def lower(A):
        # The row-wise program reads the lower triangle only.
        mirrored = jnp.tril(A) + jnp.tril(A, -1).T
        return program(mirrored)

    return lower


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(A):
        L = A.copy()
        n = L.shape[0]
        for i in range(n):
            for j in range(i + 1):
                s = L[i, j]
                for k in range(j):
                    s -= L[i, k] * L[j, k]
                L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
        value = 0.0
        L_bar = np.zeros_like(L)
        for i in range(n):
            value += np.log(L[i, i]) + L[n - 1, i]
            L_bar[i, i] = 1.0 / L[i, i]
        L_bar[n - 1] += 1.0
        for i in range(n - 1, -1, -1):
            for j in range(i, -1, -1):
                if i == j:
                    s_bar = 0.5 * L_bar[i, i] / L[i, i]
                    L_bar[i, i] = s_bar
                    for k in range(i):
                        L_bar[i, k] -= 2.0 * s_bar * L[i, k]
                else:
                    s_bar = L_bar[i, j] / L[j, j]
                    L_bar[j, j] -= s_bar * L[i, j]
                    L_bar[i, j] = s_bar
                    for k in range(j):
                        L_bar[i, k] -= s_bar * L[j, k]
                        L_bar[j, k] -= s_bar * L[i, k]
        return value, L_bar

    return adjoint


ROWS = [gradient(cholesky, ("A",), inputs, title="cholesky, 80×80", jax=in_jax, by_hand=by_hand)]
