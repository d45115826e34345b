"""A determinant by minors: a table of those of the first rows and every subset of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient

SIZE = 10


def inputs() -> dict[str, Any]:
    return {"A": np.random.default_rng(0).normal(size=(SIZE, SIZE))}


def det_minors(A):
    n = A.shape[0]
    minors = np.zeros(2**n)
    minors[0] = 1.0
    for columns in range(1, 2**n):
        row = -1
        for j in range(n):
            if columns & (1 << j):
                row += 1
        sign = 1.0 if row % 2 == 0 else -1.0
        for j in range(n):
            if columns & (1 << j):
                minors[columns] += sign * A[row, j] * minors[columns ^ (1 << j)]
                sign = -sign
    return minors[2**n - 1]


def in_jax():
    import jax.numpy as jnp

    chosen = np.array([bin(c).count("1") for c in range(2**SIZE)])
    # For each number of rows: the subsets of columns, and for each column of a subset the subset
    # without it, the column and the sign.
    levels = []
    for row in range(SIZE):
        choices = np.flatnonzero(chosen == row + 1)
        columns = np.array([[j for j in range(SIZE) if c & (1 << j)] for c in choices])
        before = choices[:, None] ^ (1 << columns)
        signs = (-1.0) ** (row + np.arange(row + 1))
        levels.append((choices, columns, before, signs))

    def program(A):
        minors = jnp.zeros(2**SIZE, A.dtype).at[0].set(1.0)
        for row, (choices, columns, before, signs) in enumerate(levels):
            summed = jnp.sum(signs * A[row][columns] * minors[before], axis=1)
            minors = minors.at[choices].set(summed)
        return minors[-1]

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(A):
        n = A.shape[0]
        minors, minors_bar = np.zeros(2**n), np.zeros(2**n)
        rows = np.empty(2**n, np.int64)
        minors[0], rows[0] = 1.0, -1
        for columns in range(1, 2**n):
            rows[columns] = rows[columns & (columns - 1)] + 1
            row = rows[columns]
            sign, total = 1.0 if row % 2 == 0 else -1.0, 0.0
            for j in range(n):
                if columns & (1 << j):
                    total += sign * A[row, j] * minors[columns ^ (1 << j)]
                    sign = -sign
            minors[columns] = total
        A_bar = np.zeros_like(A)
        minors_bar[2**n - 1] = 1.0
        for columns in range(2**n - 1, 0, -1):
            row = rows[columns]
            g = minors_bar[columns] if row % 2 == 0 else -minors_bar[columns]
            for j in range(n):
                if columns & (1 << j):
                    A_bar[row, j] += g * minors[columns ^ (1 << j)]
                    minors_bar[columns ^ (1 << j)] += g * A[row, j]
                    g = -g
        return minors[2**n - 1], A_bar

    return adjoint


ROWS = [
    gradient(
        det_minors,
        ("A",),
        inputs,
        name="det",
        title="determinant by minors, 10×10",
        jax=in_jax,
        by_hand=by_hand,
    )
]
