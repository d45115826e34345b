"""Horizontal diffusion in a weather model: a Laplacian, limited fluxes of it, their divergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import gradient


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"field": rng.random((44, 44, 40)), "strength": rng.random((40, 40, 40))}


def diffused(where, field, strength):
    """The program for any library with slicing; `where` is that of the library."""
    inner = field[1:-1, 1:-1]
    laplacian = 4.0 * inner - (
        field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    )
    slope = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    step = inner[1:, 1:-1] - inner[:-1, 1:-1]
    along = where(slope * step > 0.0, 0.0, slope)
    slope = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    step = inner[1:-1, 1:] - inner[1:-1, :-1]
    across = where(slope * step > 0.0, 0.0, slope)
    flux = along[1:] - along[:-1] + across[:, 1:] - across[:, :-1]
    return field[2:-2, 2:-2] - strength * flux


def hdiff(field, strength):
    inner = field[1:-1, 1:-1]
    laplacian = 4.0 * inner - (
        field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    )
    slope = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    step = inner[1:, 1:-1] - inner[:-1, 1:-1]
    along = np.where(slope * step > 0.0, 0.0, slope)
    slope = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    step = inner[1:-1, 1:] - inner[1:-1, :-1]
    across = np.where(slope * step > 0.0, 0.0, slope)
    flux = along[1:] - along[:-1] + across[:, 1:] - across[:, :-1]
    out = field[2:-2, 2:-2] - strength * flux
    return np.sum(out**2)


def in_jax():
    import jax.numpy as jnp

    return lambda field, strength: jnp.sum(diffused(jnp.where, field, strength) ** 2)


def in_torch():
    import torch

    return lambda field, strength: torch.sum(diffused(torch.where, field, strength) ** 2)


def in_autograd():
    import autograd.numpy as anp

    return lambda field, strength: anp.sum(diffused(anp.where, field, strength) ** 2)


ROWS = [
    gradient(
        hdiff,
        ("field", "strength"),
        inputs,
        title="hdiff, 40×40×40",
        jax=in_jax,
        torch=in_torch,
        torch_compiled=True,
        autograd=in_autograd,
    )
]
