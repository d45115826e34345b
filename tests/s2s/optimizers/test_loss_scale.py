"""Scaled losses; Keras's own numbers are in tests/training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.optimizers import SGD, Adam, LossScaleOptimizer


def compiled(function: Any) -> int:
    return sum(len(entries) for entries in function._specialiser("primal").entries.values())


def make_step(optimizer: Any, w: Any, style: str, backend: str | None) -> Any:
    def step(factor: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.sum((w - 1.0) ** 2) * factor
            scaled = optimizer.scale_loss(loss)
        if style == "new":
            gradients = tape.gradient(scaled, [w])
        else:
            gradients = optimizer.get_unscaled_gradients(tape.gradient(scaled, [w]))
            gradients = [s2s.clip_by_norm(g, 1e3) for g in gradients]
        optimizer.apply_gradients(zip(gradients, [w]))
        return loss

    return step if backend is None else s2s.function(step, backend=backend)


@pytest.mark.filterwarnings("ignore:invalid value")  # inf / inf, in a skipped step
@pytest.mark.parametrize("backend", [None, "loops", "numba"])
@pytest.mark.parametrize("style", ["new", "old"])
def test_it_is_the_inner_optimizer_and_the_scale_adapts(style: str, backend: str | None) -> None:
    start = np.array([3.0, -2.0], np.float32)
    w, plain = s2s.Variable(start), s2s.Variable(start)
    optimizer = LossScaleOptimizer(SGD(0.1, momentum=0.9), 256.0, dynamic_growth_steps=2)
    step = make_step(optimizer, w, style, backend)
    reference = SGD(0.1, momentum=0.9)
    scales = []
    for factor in (1.0, 1.0, np.inf, np.nan, 1.0, 1.0, 1.0):
        before = w.numpy()
        step(np.float32(factor))
        scales.append(optimizer.dynamic_scale)
        if np.isfinite(factor):
            reference.apply_gradients([(2.0 * (plain.numpy() - 1.0), plain)])
        else:
            np.testing.assert_array_equal(w.numpy(), before)
        np.testing.assert_allclose(w.numpy(), plain.numpy(), rtol=1e-5)
    assert scales == [256.0, 512.0, 256.0, 128.0, 128.0, 256.0, 256.0]
    assert optimizer.iterations == 5 and optimizer.step_counter == 1
    assert backend is None or compiled(step) == 1


def test_rates_slots_and_state_are_those_inside(tmp_path: Any) -> None:
    w = s2s.Variable(np.ones(2, np.float32))
    optimizer = LossScaleOptimizer(Adam(0.1), dynamic_growth_steps=1)
    step = make_step(optimizer, w, "new", "loops")
    step(np.float32(1.0))
    optimizer.learning_rate = 0.05
    assert optimizer.inner_optimizer.learning_rate == optimizer.learning_rate == 0.05
    assert optimizer.dynamic_scale == 2.0**16 and optimizer.variables[0] is w
    step(np.float32(1.0))
    assert compiled(step) == 1


def test_a_scaled_loss_keeps_its_dtype() -> None:
    optimizer = LossScaleOptimizer(SGD(0.1))
    assert optimizer.scale_loss(np.float32(2.0)).dtype == np.float32
    assert SGD(0.1).scale_loss(3.0) == 3.0
    step = make_step(optimizer, s2s.Variable(np.ones(2, np.float32)), "new", "loops")
    assert all(step(np.float32(1.0)).dtype == np.float32 for _ in range(3))
