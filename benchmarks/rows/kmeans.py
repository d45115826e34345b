"""k-means: the gradient with respect to the centres, and the diagonal of the Hessian.

Each point contributes to its nearest centre only, so the Hessian is diagonal and its product with
ones is the diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import row as r
from ..peers import FAST, computation


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"centres": rng.random((16, 8)), "points": rng.random((2000, 8))}


def cost(centres, points):
    total = 0.0
    for i in range(len(points)):
        nearest = np.inf
        for c in range(len(centres)):
            nearest = min(nearest, np.sum((points[i] - centres[c]) ** 2))
        total += nearest
    return total


def ours():
    import s2s

    @s2s.function
    def both(centres, points):
        slope = s2s.grad(cost)
        return s2s.jvp(slope)(centres, np.ones_like(centres), points)

    return both


def primal():
    import s2s

    return s2s.function(cost)


def spelled(xp, smallest):
    def program(centres, points):
        apart = xp.sum((points[:, None] - centres[None]) ** 2, axis=2)
        return xp.sum(smallest(apart))

    return program


def in_jax():
    import jax
    import jax.numpy as jnp

    program = spelled(jnp, lambda apart: jnp.min(apart, axis=1))

    def both(centres, points):
        slope = jax.grad(lambda c: program(c, points))
        return jax.jvp(slope, (centres,), (jnp.ones_like(centres),))

    return both


def in_torch():
    import torch

    program = spelled(torch, lambda apart: torch.min(apart, dim=1).values)

    def both(centres, points):
        centres = centres.requires_grad_()
        (slope,) = torch.autograd.grad(program(centres, points), centres, create_graph=True)
        (diagonal,) = torch.autograd.grad(slope.sum(), centres)
        return slope, diagonal

    return both


def in_autograd():
    import autograd.numpy as anp
    from autograd import grad

    program = spelled(anp, lambda apart: anp.min(apart, axis=1))
    slope = grad(program)
    diagonal = grad(lambda centres, points: anp.sum(slope(centres, points)))
    return lambda centres, points: (slope(centres, points), diagonal(centres, points))


def by_hand():
    from numba import njit

    @njit(**FAST)
    def both(centres, points):
        slope, diagonal = np.zeros_like(centres), np.zeros_like(centres)
        for i in range(len(points)):
            nearest, which = np.inf, 0
            for c in range(len(centres)):
                apart = 0.0
                for a in range(points.shape[1]):
                    apart += (points[i, a] - centres[c, a]) ** 2
                if apart < nearest:
                    nearest, which = apart, c
            for a in range(points.shape[1]):
                slope[which, a] += 2.0 * (centres[which, a] - points[i, a])
                diagonal[which, a] += 2.0
        return slope, diagonal

    return both


ROWS = [
    computation(
        "kmeans",
        "k-means Hessian diagonal, 2000 points, k 16, d 8",
        inputs,
        {
            r.OURS: ours,
            r.PRIMAL: primal,
            r.HAND: by_hand,
            r.JAX: in_jax,
            r.TORCH: in_torch,
            r.AUTOGRAD: in_autograd,
        },
    )
]
