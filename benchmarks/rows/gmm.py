"""A mixture of Gaussians: the gradient of the log-likelihood with a Wishart prior.

`icf` holds, for each Gaussian, the logarithms of the diagonal and then the lower triangle of the
inverse covariance's factor, column by column.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..peers import FAST, gradient

GAMMA, M = 1.0, 0


def inputs(n: int, d: int, k: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "alphas": rng.normal(size=k),
        "means": rng.random((k, d)),
        "icf": 0.3 * rng.normal(size=(k, d + d * (d - 1) // 2)),
        "x": rng.normal(size=(n, d)),
    }


def lower_triangle(packed, d):
    L = np.zeros((d, d))
    at = d
    for column in range(d):
        count = d - 1 - column
        L[column + 1 :, column] = packed[at : at + count]
        at += count
    return L


def log_sum_exp_rows(scores):
    largest = np.max(scores, axis=1)
    return np.log(np.sum(np.exp(scores - largest[:, None]), axis=1)) + largest


def gmm(alphas, means, icf, x):
    n, d = x.shape
    k = len(alphas)
    scores = np.empty((n, k))
    prior = 0.0
    for c in range(k):
        diagonal = np.exp(icf[c, :d])
        L = lower_triangle(icf[c], d)
        centred = x - means[c]
        q = centred * diagonal + centred @ L.T
        logdet = np.sum(icf[c, :d])
        scores[:, c] = alphas[c] + logdet - 0.5 * np.sum(q**2, axis=1)
        prior += 0.5 * GAMMA**2 * (np.sum(diagonal**2) + np.sum(icf[c, d:] ** 2)) - M * logdet
    largest = np.max(alphas)
    weight = np.log(np.sum(np.exp(alphas - largest))) + largest
    constant = -0.5 * n * d * math.log(2.0 * math.pi)
    return constant + np.sum(log_sum_exp_rows(scores)) - n * weight + prior


def in_jax():
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    def one(alpha, mean, packed, x):
        d = x.shape[1]
        columns, rows = np.triu_indices(d, 1)
        L = jnp.zeros((d, d), x.dtype).at[rows, columns].set(packed[d:])
        diagonal, logdet = jnp.exp(packed[:d]), jnp.sum(packed[:d])
        centred = x - mean
        q = centred * diagonal + centred @ L.T
        prior = 0.5 * GAMMA**2 * (jnp.sum(diagonal**2) + jnp.sum(packed[d:] ** 2)) - M * logdet
        return alpha + logdet - 0.5 * jnp.sum(q**2, axis=1), prior

    def program(alphas, means, icf, x):
        n, d = x.shape
        scores, priors = jax.vmap(one, (0, 0, 0, None))(alphas, means, icf, x)
        constant = -0.5 * n * d * math.log(2.0 * math.pi)
        likelihood = jnp.sum(logsumexp(scores, axis=0)) - n * logsumexp(alphas)
        return constant + likelihood + jnp.sum(priors)

    return program


def in_torch():
    import torch

    def program(alphas, means, icf, x):
        n, d = x.shape
        k = alphas.shape[0]
        columns, rows = np.triu_indices(d, 1)
        L = torch.zeros((k, d, d), dtype=x.dtype)
        L[:, rows, columns] = icf[:, d:]
        diagonals, logdets = torch.exp(icf[:, :d]), torch.sum(icf[:, :d], dim=1)
        centred = x[None] - means[:, None]
        q = centred * diagonals[:, None] + centred @ L.transpose(1, 2)
        scores = (alphas + logdets)[:, None] - 0.5 * torch.sum(q**2, dim=2)
        prior = 0.5 * GAMMA**2 * (torch.sum(diagonals**2) + torch.sum(icf[:, d:] ** 2))
        likelihood = torch.sum(torch.logsumexp(scores, 0)) - n * torch.logsumexp(alphas, 0)
        constant = -0.5 * n * d * math.log(2.0 * math.pi)
        return constant + likelihood + prior - M * torch.sum(logdets)

    return program


def by_hand():
    from numba import njit

    @njit(**FAST)
    def factor(packed, d):
        """The whole factor, diagonal included."""
        F = np.zeros((d, d))
        at = d
        for column in range(d):
            F[column, column] = np.exp(packed[column])
            for row in range(column + 1, d):
                F[row, column] = packed[at]
                at += 1
        return F

    @njit(**FAST)
    def adjoint(alphas, means, icf, x):
        n, d = x.shape
        k = len(alphas)
        scores = np.empty((k, n))
        centred, q = np.empty((n, d)), np.empty((n, d))
        value = 0.0
        for c in range(k):
            F = factor(icf[c], d)
            for i in range(n):
                for a in range(d):
                    centred[i, a] = x[i, a] - means[c, a]
            np.dot(centred, F.T, q)
            logdet = 0.0
            for a in range(d):
                logdet += icf[c, a]
                value += 0.5 * GAMMA**2 * F[a, a] * F[a, a]
            for a in range(d, icf.shape[1]):
                value += 0.5 * GAMMA**2 * icf[c, a] * icf[c, a]
            value -= M * logdet
            for i in range(n):
                square = 0.0
                for a in range(d):
                    square += q[i, a] * q[i, a]
                scores[c, i] = alphas[c] + logdet - 0.5 * square
        largest, total = np.full(n, -np.inf), np.zeros(n)
        for c in range(k):
            for i in range(n):
                largest[i] = max(largest[i], scores[c, i])
        for c in range(k):
            for i in range(n):
                scores[c, i] = np.exp(scores[c, i] - largest[i])
                total[i] += scores[c, i]
        for i in range(n):
            value += np.log(total[i]) + largest[i]
            total[i] = 1.0 / total[i]
        alphas_bar, means_bar = np.empty_like(alphas), np.empty_like(means)
        icf_bar = np.empty_like(icf)
        F_bar = np.empty((d, d))
        for c in range(k):
            F = factor(icf[c], d)
            share = 0.0
            for i in range(n):
                scores[c, i] *= total[i]
                share += scores[c, i]
                for a in range(d):
                    centred[i, a] = x[i, a] - means[c, a]
            np.dot(centred, F.T, q)
            for i in range(n):
                for a in range(d):
                    q[i, a] *= -scores[c, i]
            np.dot(q.T, centred, F_bar)
            summed = np.zeros(d)
            for i in range(n):
                for a in range(d):
                    summed[a] += q[i, a]
            for a in range(d):
                means_bar[c, a] = 0.0
            for b in range(d):
                for a in range(d):
                    means_bar[c, a] -= summed[b] * F[b, a]
            at = d
            for column in range(d):
                diagonal_bar = F_bar[column, column] + GAMMA**2 * F[column, column]
                icf_bar[c, column] = diagonal_bar * F[column, column] + share - M
                for row in range(column + 1, d):
                    icf_bar[c, at] = F_bar[row, column] + GAMMA**2 * icf[c, at]
                    at += 1
            alphas_bar[c] = share
        most = np.max(alphas)
        weights = np.exp(alphas - most)
        whole = np.sum(weights)
        for c in range(k):
            alphas_bar[c] -= n * weights[c] / whole
        value -= n * (np.log(whole) + most) + 0.5 * n * d * math.log(2.0 * math.pi)
        return value, alphas_bar, means_bar, icf_bar

    return adjoint


def row(n: int, d: int, k: int):
    return gradient(
        gmm,
        ("alphas", "means", "icf"),
        lambda: inputs(n, d, k),
        name=f"gmm-d{d}-k{k}",
        title=f"GMM d {d} k {k} n {n}",
        jax=in_jax,
        torch=in_torch,
        torch_compiled=d == 10,
        by_hand=by_hand,
    )


ROWS = [row(1000, 10, 25), row(1000, 64, 100)]
