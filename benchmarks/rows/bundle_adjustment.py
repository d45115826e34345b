"""Bundle adjustment: the blocks of the Jacobian, one for each observation of a point by a camera.

A camera is a rotation vector, a centre, a focal length, the principal point and two radial
distortions; a block holds the derivatives of an observation's error with respect to its camera,
point and weight: 2 by 11 + 3 + 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import row as r
from ..peers import computation


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    cameras, points, count = 20, 500, 2000
    looking = rng.normal(size=(cameras, 11)) * 0.1
    looking[:, 6] += 1.0
    return {
        "cameras": looking,
        "points": rng.normal(size=(points, 3)) + np.array([0.0, 0.0, 6.0]),
        "weights": rng.random(count),
        "seen": np.stack([rng.integers(0, cameras, count), rng.integers(0, points, count)], 1),
        "features": rng.normal(size=(count, 2)),
    }


def cross(a, b):
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def error(camera, point, weight, feature):
    x = point - camera[3:6]
    rotation = camera[:3]
    angle = np.sqrt(np.sum(rotation**2))
    axis = rotation / angle
    c, s = np.cos(angle), np.sin(angle)
    turned = c * x + s * np.array(cross(axis, x)) + (1.0 - c) * np.dot(axis, x) * axis
    image = turned[:2] / turned[2]
    square = np.sum(image**2)
    image = image * (1.0 + camera[9] * square + camera[10] * square**2)
    return weight * (camera[6] * image + camera[7:9] - feature)


def ours():
    import s2s

    blocks = s2s.jacobian(error, wrt=("camera", "point", "weight"))

    @s2s.function
    def jacobian(cameras, points, weights, seen, features):
        count = len(weights)
        by_camera = np.empty((count, 2, 11))
        by_point = np.empty((count, 2, 3))
        by_weight = np.empty((count, 2))
        for i in range(count):
            camera, point = cameras[seen[i, 0]], points[seen[i, 1]]
            by_camera[i], by_point[i], by_weight[i] = blocks(camera, point, weights[i], features[i])
        return by_camera, by_point, by_weight

    return jacobian


def primal():
    import s2s

    @s2s.function
    def errors(cameras, points, weights, seen, features):
        out = np.empty((len(weights), 2))
        for i in range(len(weights)):
            camera, point = cameras[seen[i, 0]], points[seen[i, 1]]
            out[i] = error(camera, point, weights[i], features[i])
        return out

    return errors


def spelled(xp, join):
    def error(camera, point, weight, feature):
        x, rotation = point - camera[3:6], camera[:3]
        angle = xp.sqrt(xp.sum(rotation**2))
        axis = rotation / angle
        c, s = xp.cos(angle), xp.sin(angle)
        turned = c * x + s * join(cross(axis, x)) + (1.0 - c) * xp.sum(axis * x) * axis
        image = turned[:2] / turned[2]
        square = xp.sum(image**2)
        image = image * (1.0 + camera[9] * square + camera[10] * square**2)
        return weight * (camera[6] * image + camera[7:9] - feature)

    return error


def in_jax():
    import jax
    import jax.numpy as jnp

    blocks = jax.vmap(jax.jacrev(spelled(jnp, jnp.array), argnums=(0, 1, 2)))

    def jacobian(cameras, points, weights, seen, features):
        return blocks(cameras[seen[:, 0]], points[seen[:, 1]], weights, features)

    return jacobian


def in_torch():
    import torch

    blocks = torch.vmap(torch.func.jacrev(spelled(torch, torch.stack), argnums=(0, 1, 2)))

    def jacobian(cameras, points, weights, seen, features):
        return blocks(cameras[seen[:, 0]], points[seen[:, 1]], weights, features)

    return jacobian


ROWS = [
    computation(
        "bundle-adjustment",
        "bundle adjustment Jacobian, 2000 observations",
        inputs,
        {r.OURS: ours, r.PRIMAL: primal, r.JAX: in_jax, r.TORCH: in_torch},
    )
]
