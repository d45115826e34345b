"""Distances on the globe, of pairs of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import FAST, gradient

NAMES = ("theta_1", "phi_1", "theta_2", "phi_2")


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.uniform(0.1, 1.4, 50_000) for name in NAMES}


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    half = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    return np.sum(2 * np.arctan2(np.sqrt(half), np.sqrt(1 - half)))


def spelled(xp):
    def program(theta_1, phi_1, theta_2, phi_2):
        half = (
            xp.sin((theta_2 - theta_1) / 2) ** 2
            + xp.cos(theta_1) * xp.cos(theta_2) * xp.sin((phi_2 - phi_1) / 2) ** 2
        )
        return xp.sum(2 * xp.arctan2(xp.sqrt(half), xp.sqrt(1 - half)))

    return program


def in_jax():
    import jax.numpy as jnp

    return spelled(jnp)


def in_torch():
    import torch

    return spelled(torch)


def in_autograd():
    import autograd.numpy as anp

    return spelled(anp)


def by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(theta_1, phi_1, theta_2, phi_2):
        n = len(theta_1)
        theta_1_bar, phi_1_bar = np.empty(n), np.empty(n)
        theta_2_bar, phi_2_bar = np.empty(n), np.empty(n)
        value = 0.0
        for i in range(n):
            apart, turned = 0.5 * (theta_2[i] - theta_1[i]), 0.5 * (phi_2[i] - phi_1[i])
            s, c = np.sin(apart), np.cos(apart)
            sp, cp = np.sin(turned), np.cos(turned)
            c1, c2 = np.cos(theta_1[i]), np.cos(theta_2[i])
            half = s * s + c1 * c2 * sp * sp
            a, b = np.sqrt(half), np.sqrt(1.0 - half)
            value += 2.0 * np.arctan2(a, b)
            half_bar = 1.0 / (a * b)
            phi_bar = half_bar * c1 * c2 * sp * cp
            theta_bar = half_bar * s * c
            theta_1_bar[i] = -theta_bar - half_bar * np.sin(theta_1[i]) * c2 * sp * sp
            theta_2_bar[i] = theta_bar - half_bar * np.sin(theta_2[i]) * c1 * sp * sp
            phi_1_bar[i] = -phi_bar
            phi_2_bar[i] = phi_bar
        return value, theta_1_bar, phi_1_bar, theta_2_bar, phi_2_bar

    return adjoint


ROWS = [
    gradient(
        arc_distance,
        NAMES,
        inputs,
        name="arc-distance",
        title="arc distance, 50 000",
        jax=in_jax,
        torch=in_torch,
        torch_compiled=True,
        autograd=in_autograd,
        by_hand=by_hand,
    )
]
