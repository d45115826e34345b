"""The LU factors in place, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient


def inputs() -> dict[str, Any]:
    a = np.random.default_rng(0).normal(size=(80, 80))
    return {"A": a @ a.T / 80.0 + 2.0 * np.eye(80)}


def lu(A):
    A = A.copy()
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return np.sum(A**2)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(A):
        n = A.shape[0]
        places = jnp.arange(n)

        def eliminate(k, A):
            factors = jnp.where(places > k, A[:, k] / A[k, k], 0.0)
            right = jnp.where(places > k, A[k], 0.0)
            A = A - jnp.outer(factors, right)
            return A.at[:, k].set(jnp.where(places > k, factors, A[:, k]))

        return jnp.sum(lax.fori_loop(0, n, eliminate, A) ** 2)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(A):
        A = A.copy()
        n = A.shape[0]
        for k in range(n):
            inverse = 1.0 / A[k, k]
            for i in range(k + 1, n):
                A[i, k] *= inverse
                for j in range(k + 1, n):
                    A[i, j] -= A[i, k] * A[k, j]
        value = 0.0
        for i in range(n):
            for j in range(n):
                value += A[i, j] * A[i, j]
        A_bar = 2.0 * A
        # Elements of the factors are final once computed, so none are saved.
        for k in range(n - 1, -1, -1):
            inverse = 1.0 / A[k, k]
            for i in range(k + 1, n):
                factor_bar = A_bar[i, k]
                for j in range(k + 1, n):
                    factor_bar -= A_bar[i, j] * A[k, j]
                    A_bar[k, j] -= A_bar[i, j] * A[i, k]
                A_bar[k, k] -= factor_bar * A[i, k] * inverse
                A_bar[i, k] = factor_bar * inverse
        return value, A_bar

    return adjoint


ROWS = [gradient(lu, ("A",), inputs, title="lu, 80×80", jax=in_jax, by_hand=by_hand)]
