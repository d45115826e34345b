"""Whole training steps, with SGD and with Adam: loss, gradient, update, in each library.

A model is given by its initial weights (in one order for all libraries), one batch, and for each
library the loss as a function of weights and batch; for s2s by its layers.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import row as r
from .row import Maker, Row, Runner

RATES = {"sgd": 0.01, "adam": 0.001}
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
# Number of steps whose losses and weight changes are compared.
COMPARED = 3

Weights = list[np.ndarray]
# Inputs and targets.
Batch = tuple[np.ndarray, np.ndarray]


def training(
    name: str,
    title: str,
    initial: Callable[[], Weights],
    batch: Callable[[], Batch],
    *,
    ours: Callable[[], tuple[Any, Any]],
    jax: Callable[[], Any] | None = None,
    torch: Callable[[], Any] | None = None,
    tf: Callable[[], Any] | None = None,
    by_hand: Callable[[str], Callable[[Weights, Batch], Callable[[], Any]]] | None = None,
    compiled: bool = True,
    ahead_of_best: float = 1.0,
    ahead_of_jax: float = 1.0,
) -> list[Row]:
    """The rows `name-sgd` and `name-adam`.  `ours()` gives a model and its loss."""
    rows = []
    for optimizer, tolerance in (("sgd", 2e-3), ("adam", 0.1)):
        makers: dict[str, Maker] = {
            r.OURS: partial(with_ours, ours, optimizer, initial, batch),
            r.PRIMAL: partial(forward, ours, initial, batch),
        }
        if by_hand:
            makers[r.HAND] = partial(with_hand, by_hand, optimizer, initial, batch)
        if jax:
            makers[r.JAX] = partial(with_jax, jax, optimizer, initial, batch)
        if torch:
            makers[r.TORCH] = partial(with_torch, torch, optimizer, initial, batch, False)
            if compiled:
                makers[r.TORCH_COMPILED] = partial(
                    with_torch, torch, optimizer, initial, batch, True
                )
        if tf:
            makers[r.TF_EAGER] = partial(with_tf, tf, optimizer, initial, batch, "eager")
            makers[r.TF_FUNCTION] = partial(with_tf, tf, optimizer, initial, batch, "function")
            makers[r.TF_XLA] = partial(with_tf, tf, optimizer, initial, batch, "xla")
        spelled = f"{title}, {optimizer.upper() if optimizer == 'sgd' else 'Adam'}"
        made = Row(f"{name}-{optimizer}", "training", spelled, makers, "float32", tolerance)
        made.ahead_of_best, made.ahead_of_jax = ahead_of_best, ahead_of_jax
        rows.append(made)
    return rows


def stepping(run: Callable[[], Any], weights: Callable[[], Weights], initial: Weights) -> Runner:
    """The losses of the first steps and the changes of the weights are compared."""

    def read() -> list[np.ndarray]:
        losses = [float(np.asarray(run())) for _ in range(COMPARED)]
        moved = [np.ravel(np.asarray(w) - w0) for w, w0 in zip(weights(), initial)]
        return [np.array(losses), np.concatenate(moved)]

    return Runner(run, read)


# ---------------------------------------------------------------- s2s


def built(ours: Callable[[], tuple[Any, Any]], initial: Weights, x: np.ndarray) -> tuple[Any, Any]:
    model, loss_fn = ours()
    model(x)
    model.set_weights(initial)
    return model, loss_fn


def with_ours(ours: Any, kind: str, initial: Any, batch: Any) -> Runner:
    import s2s

    x, y = batch()
    model, loss_fn = built(ours, initial(), x)
    make = {"sgd": s2s.optimizers.SGD, "adam": s2s.optimizers.Adam}[kind]
    optimizer = make(RATES[kind])

    @s2s.function
    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return stepping(partial(step, x, y), model.get_weights, initial())


def forward(ours: Any, initial: Any, batch: Any) -> Runner:
    import s2s

    x, y = batch()
    model, loss_fn = built(ours, initial(), x)

    @s2s.function
    def loss(x: Any, y: Any) -> Any:
        return loss_fn(y, model(x, training=True))

    run = partial(loss, x, y)
    return Runner(run, lambda: [np.asarray(run(), np.float64)])


# ---------------------------------------------------------------- by hand


def with_hand(by_hand: Any, kind: str, initial: Any, batch: Any) -> Runner:
    weights = [w.copy() for w in initial()]
    run = by_hand(kind)(weights, batch())
    return stepping(run, lambda: weights, initial())


# ---------------------------------------------------------------- JAX


def with_jax(factory: Any, kind: str, initial: Any, batch: Any) -> Runner:
    import jax
    import jax.numpy as jnp

    loss_of, rate = factory(), RATES[kind]

    def sgd(weights: Any, state: Any, gradients: Any) -> Any:
        return [w - rate * g for w, g in zip(weights, gradients)], state

    def adam(weights: Any, state: Any, gradients: Any) -> Any:
        count, first, second = state
        count = count + 1
        first = [BETA_1 * m + (1 - BETA_1) * g for m, g in zip(first, gradients)]
        second = [BETA_2 * v + (1 - BETA_2) * g * g for v, g in zip(second, gradients)]
        scale = rate * jnp.sqrt(1 - BETA_2**count) / (1 - BETA_1**count)
        moved = [w - scale * m / (jnp.sqrt(v) + EPSILON) for w, m, v in zip(weights, first, second)]
        return moved, (count, first, second)

    update = {"sgd": sgd, "adam": adam}[kind]

    def step(weights: Any, state: Any, *batch: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(weights, *batch)
        weights, state = update(weights, state, gradients)
        return weights, state, loss

    compiled = jax.jit(step, donate_argnums=(0, 1))
    given = [jnp.asarray(a) for a in batch()]
    weights: Any = [jnp.array(w) for w in initial()]
    zeros = [[jnp.zeros_like(w) for w in weights] for _ in range(2)]
    state: Any = (jnp.float32(0), *zeros) if kind == "adam" else ()

    def run() -> Any:
        nonlocal weights, state
        weights, state, loss = compiled(weights, state, *given)
        # One execution computes all results, so waiting for the loss waits for all.
        return loss.block_until_ready()

    return stepping(run, lambda: [np.asarray(w) for w in weights], initial())


# ---------------------------------------------------------------- PyTorch


def with_torch(factory: Any, kind: str, initial: Any, batch: Any, compiled: bool) -> Runner:
    import torch

    loss_of = factory()
    given = [torch.tensor(a) for a in batch()]
    weights = [torch.tensor(w, requires_grad=True) for w in initial()]
    optimizer: Any = {
        "sgd": lambda: torch.optim.SGD(weights, RATES["sgd"], fused=True),
        "adam": lambda: torch.optim.Adam(
            weights, RATES["adam"], (BETA_1, BETA_2), EPSILON, fused=True
        ),
    }[kind]()
    if compiled:
        loss_of = torch.compile(loss_of)

    def run() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(weights, *given)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return stepping(run, lambda: [w.detach().numpy() for w in weights], initial())


# ---------------------------------------------------------------- TensorFlow


def with_tf(factory: Any, kind: str, initial: Any, batch: Any, how: str) -> Runner:
    import tensorflow as tf

    loss_of = factory()
    given = [tf.constant(a) for a in batch()]
    weights = [tf.Variable(w) for w in initial()]
    slots = [[tf.Variable(tf.zeros_like(w)) for w in weights] for _ in range(2)]
    count: Any = tf.Variable(tf.constant(0.0))
    ops = tf.raw_ops

    def sgd(gradients: Any) -> None:
        for w, g in zip(weights, gradients):
            ops.ResourceApplyGradientDescent(var=w.handle, alpha=RATES["sgd"], delta=g)

    def adam(gradients: Any) -> None:
        count.assign_add(1.0)
        powers = {"beta1_power": BETA_1**count, "beta2_power": BETA_2**count}
        fixed = {"lr": RATES["adam"], "beta1": BETA_1, "beta2": BETA_2, "epsilon": EPSILON}
        for w, m, v, g in zip(weights, *slots, gradients):
            ops.ResourceApplyAdam(var=w.handle, m=m.handle, v=v.handle, grad=g, **powers, **fixed)

    update = {"sgd": sgd, "adam": adam}[kind]

    def step(*batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(weights, *batch)
        # The gradient of a gathered table is a list of rows.
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, weights)]
        update(gradients)
        return loss

    if how != "eager":
        step = tf.function(step, jit_compile=how == "xla")

    def run() -> Any:
        return step(*given).numpy()

    return stepping(run, lambda: [w.numpy() for w in weights], initial())
