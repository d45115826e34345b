"""Call overhead: a scalar function, and a step over twelve small arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import row as r
from ..peers import FAST, gradient
from ..row import Row, Runner

COUNT = 12


def scalar_inputs() -> dict[str, Any]:
    return {"x": 1.5}


def square(x):
    return x * x + 1.0


def square_in_jax():
    return square


def square_by_hand():
    from numba import njit

    @njit(**FAST)
    def adjoint(x):
        return x * x + 1.0, 2.0 * x

    return adjoint


def twelve() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=4).astype(np.float32) for _ in range(COUNT)]


def moved(weights: list[Any], run: Any) -> list[np.ndarray]:
    run()
    return [np.array(w, np.float64) for w in weights]


def step_of_ours() -> Runner:
    import s2s

    weights = [s2s.Variable(w) for w in twelve()]

    @s2s.function
    def step():
        with s2s.GradientTape() as tape:
            loss = np.float32(0.0)
            for weight in weights:
                loss = loss + np.sum(weight * weight)
        for weight, weight_bar in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(np.float32(0.001) * weight_bar)
        return loss

    return Runner(step, lambda: moved(weights, step))


def step_of_jax() -> Runner:
    import jax
    import jax.numpy as jnp

    weights = [jnp.asarray(w) for w in twelve()]

    @partial(jax.jit, donate_argnums=0)
    def step(weights):
        loss, gradients = jax.value_and_grad(lambda ws: sum(jnp.sum(w * w) for w in ws))(weights)
        return [w - 0.001 * g for w, g in zip(weights, gradients)], loss

    def run():
        nonlocal weights
        weights, loss = step(weights)
        return loss.block_until_ready()

    def read():
        run()
        return [np.array(w, np.float64) for w in weights]

    return Runner(run, read)


def step_of_torch() -> Runner:
    import torch

    weights = [torch.tensor(w, requires_grad=True) for w in twelve()]
    optimizer = torch.optim.SGD(weights, 0.001, fused=True)

    def run():
        optimizer.zero_grad(set_to_none=True)
        loss = sum((w * w).sum() for w in weights)
        loss.backward()
        optimizer.step()
        return loss

    def read():
        run()
        return [w.detach().numpy().astype(np.float64) for w in weights]

    return Runner(run, read)


def step_by_hand() -> Runner:
    from numba import njit

    weights = twelve()

    @njit(**FAST)
    def descend(w):
        loss = np.float32(0.0)
        for i in range(w.shape[0]):
            loss += w[i] * w[i]
            w[i] -= np.float32(0.001) * np.float32(2.0) * w[i]
        return loss

    @njit(**FAST)
    def step(a, b, c, d, e, f, g, h, i, j, k, m):
        loss = descend(a) + descend(b) + descend(c) + descend(d) + descend(e) + descend(f)
        loss += descend(g) + descend(h) + descend(i) + descend(j) + descend(k) + descend(m)
        return loss

    run = partial(step, *weights)
    return Runner(run, lambda: moved(weights, run))


def step_of_autograd() -> Runner:
    import autograd.numpy as anp
    from autograd import value_and_grad

    weights = twelve()
    derived = value_and_grad(lambda ws: sum(anp.sum(w * w) for w in ws))

    def run():
        loss, gradients = derived(weights)
        for w, g in zip(weights, gradients):
            w -= np.float32(0.001) * g
        return loss

    return Runner(run, lambda: moved(weights, run))


ROWS = [
    gradient(
        square,
        ("x",),
        scalar_inputs,
        name="call-scalar",
        title="call: scalar function",
        group="overhead",
        jax=square_in_jax,
        torch=square_in_jax,
        autograd=square_in_jax,
        by_hand=square_by_hand,
    ),
    Row(
        "call-12-arrays",
        "overhead",
        "call: step over 12 arrays",
        {
            r.OURS: step_of_ours,
            r.HAND: step_by_hand,
            r.JAX: step_of_jax,
            r.TORCH: step_of_torch,
            r.AUTOGRAD: step_of_autograd,
        },
        dtype="float32",
        tolerance=1e-6,
    ),
]
