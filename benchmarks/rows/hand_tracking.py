"""Hand tracking: the Jacobian, by the pose, of the distances of a posed hand from measured points.

Fingers are chains of bones, each turned by its angles relative to its parent; the skin follows the
bones by weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import row as r
from ..peers import computation

FINGERS, JOINTS = 5, 4
BONES = 1 + FINGERS * JOINTS


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    skin, measured = 200, 100
    weights = rng.random((BONES, skin)) ** 8
    offsets = np.zeros((BONES, 4, 4))
    offsets[:] = np.eye(4)
    offsets[:, :3, 3] = rng.normal(size=(BONES, 3))
    return {
        "pose": 0.3 * rng.normal(size=3 + 3 + FINGERS * JOINTS),
        "offsets": offsets,
        "resting": np.concatenate([rng.normal(size=(3, skin)), np.ones((1, skin))]),
        "weights": weights / np.sum(weights, axis=0),
        "nearest": rng.integers(0, skin, measured),
        "points": rng.normal(size=(measured, 3)),
    }


def turn(a, b, c):
    """By Euler's angles, in homogeneous coordinates."""
    ca, sa, cb, sb, cc, sc = np.cos(a), np.sin(a), np.cos(b), np.sin(b), np.cos(c), np.sin(c)
    T = np.zeros((4, 4))
    T[0, 0] = cb * cc
    T[0, 1] = sa * sb * cc - ca * sc
    T[0, 2] = ca * sb * cc + sa * sc
    T[1, 0] = cb * sc
    T[1, 1] = sa * sb * sc + ca * cc
    T[1, 2] = ca * sb * sc - sa * cc
    T[2, 0] = -sb
    T[2, 1] = sa * cb
    T[2, 2] = ca * cb
    T[3, 3] = 1.0
    return T


def distances(pose, offsets, resting, weights, nearest, points):
    skin = np.zeros((4, resting.shape[1]))
    palm = turn(pose[0], pose[1], pose[2])
    palm[:3, 3] = pose[3:6]
    skin += (palm @ offsets[0] @ resting) * weights[0]
    for finger in range(FINGERS):
        bone = palm
        for joint in range(JOINTS):
            k = 1 + finger * JOINTS + joint
            # The first joint of a finger also spreads, half as far as it bends.
            spread = 0.5 * pose[5 + k] if joint == 0 else 0.0
            bone = bone @ offsets[k] @ turn(pose[5 + k], 0.0, spread)
            skin += (bone @ resting) * weights[k]
    out = np.empty((len(points), 3))
    for i in range(len(points)):
        out[i] = points[i] - skin[:3, nearest[i]]
    return out


def ours():
    import s2s

    return s2s.jacobian(distances, wrt="pose", mode="forward")


def primal():
    import s2s

    return s2s.function(distances)


def spelled(xp, join):
    """All fingers at once, joint by joint; `join` makes a 4 by 4 matrix of numbers."""

    def turn(a, b, c):
        ca, sa, cb, sb, cc, sc = xp.cos(a), xp.sin(a), xp.cos(b), xp.sin(b), xp.cos(c), xp.sin(c)
        zero = 0.0 * a
        return join(
            [
                [cb * cc, sa * sb * cc - ca * sc, ca * sb * cc + sa * sc, zero],
                [cb * sc, sa * sb * sc + ca * cc, ca * sb * sc - sa * cc, zero],
                [-sb, sa * cb, ca * cb, zero],
                [zero, zero, zero, zero + 1.0],
            ]
        )

    def program(pose, offsets, resting, weights, nearest, points):
        zero = 0.0 * pose[0]
        place = join([[zero, zero, zero, pose[3 + k] if k < 3 else zero] for k in range(4)])
        palm = turn(pose[0], pose[1], pose[2]) + place
        skin = (palm @ offsets[0] @ resting) * weights[0]
        for finger in range(FINGERS):
            bone = palm
            for joint in range(JOINTS):
                k = 1 + finger * JOINTS + joint
                spread = 0.5 * pose[5 + k] if joint == 0 else zero
                bone = bone @ offsets[k] @ turn(pose[5 + k], zero, spread)
                skin = skin + (bone @ resting) * weights[k]
        return points - skin[:3].T[nearest]

    return program


def in_jax():
    import jax
    import jax.numpy as jnp

    return jax.jacfwd(spelled(jnp, jnp.array))


def in_torch():
    import torch

    def join(rows):
        return torch.stack([torch.stack(row) for row in rows])

    return torch.func.jacfwd(spelled(torch, join))


ROWS = [
    computation(
        "hand",
        "hand tracking Jacobian, 100 points, 26 angles",
        inputs,
        {r.OURS: ours, r.PRIMAL: primal, r.JAX: in_jax, r.TORCH: in_torch},
    )
]
