"""`Optimizer`: rates, slots, clipping, weight decay, moving averages, arguments of a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.objects.variable import Variable
from s2s.optimizers import SGD, Adam
from s2s.optimizers.base import Optimizer, shrink
from s2s.optimizers.schedules import InverseTimeDecay
from tests.s2s.optimizers.steps import check_steps


def variable(*values: float, name: str = "w") -> Variable:
    return s2s.Variable(np.array(values), name=name)


# ---------------------------------------------------------------- clipping


def step(optimizer: Any, *gradients: list[float]) -> list[Any]:
    """The changes that a step makes to variables of zeros."""
    variables = [variable(*np.zeros(len(g))) for g in gradients]
    optimizer.apply_gradients(zip([np.array(g) for g in gradients], variables))
    return [w.numpy() for w in variables]


def test_clipvalue() -> None:
    (change,) = step(SGD(1.0, clipvalue=0.5), [3.0, -0.2, -4.0])
    np.testing.assert_allclose(change, [-0.5, 0.2, 0.5])


def test_clipnorm_of_each_gradient() -> None:
    one, other = step(SGD(1.0, clipnorm=1.0), [3.0, 4.0], [0.3, 0.4])
    np.testing.assert_allclose(one, [-0.6, -0.8])
    np.testing.assert_allclose(other, [-0.3, -0.4])


def test_global_clipnorm() -> None:
    one, other = step(SGD(1.0, global_clipnorm=1.3), [3.0, 4.0], [12.0])
    np.testing.assert_allclose(one, [-0.3, -0.4])
    np.testing.assert_allclose(other, [-1.2])


@pytest.mark.parametrize("option", ["clipnorm", "clipvalue", "global_clipnorm"])
def test_zero_gradients_stay_zero(option: str) -> None:
    (change,) = step(SGD(1.0, **{option: 0.5}), [0.0, 0.0])
    np.testing.assert_array_equal(change, [0.0, 0.0])


def test_one_limit_only() -> None:
    with pytest.raises(ValueError, match="clipnorm and clipvalue are set; choose one"):
        SGD(clipnorm=1.0, clipvalue=1.0)


def test_shrink() -> None:
    assert shrink(4.0, 1.0) == 0.5 and shrink(0.25, 1.0) == 1.0 and shrink(0.0, 2.0) == 1.0


# ---------------------------------------------------------------- decay and averages


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weight_decay_precedes_the_update(dtype: str) -> None:
    def formula(w: float, gradients: list[float]) -> float:
        for g in gradients:
            w = w - 0.1 * 0.2 * w - 0.1 * g
        return w

    check_steps(SGD(0.1, weight_decay=0.2), formula, dtype)


def test_moving_average_replaces_the_variable() -> None:
    optimizer = SGD(1.0, use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=2)
    w, mean = variable(0.0), 0.0
    value = 0.0
    for k in range(1, 5):
        optimizer.apply_gradients([(np.ones(1), w)])
        value -= 1.0
        mean = value if k == 1 else 0.75 * mean + 0.25 * value
        value = mean if k % 2 == 0 else value
        np.testing.assert_allclose(w, [value])


def test_moving_average_on_demand() -> None:
    optimizer, w = SGD(1.0, use_ema=True, ema_momentum=0.5), variable(0.0)
    for _ in range(3):
        optimizer.apply_gradients([(np.ones(1), w)])
    np.testing.assert_allclose(w, [-3.0])
    optimizer.finalize_variable_values([w])
    np.testing.assert_allclose(w, [-2.25])
    plain = SGD(1.0)
    plain.apply_gradients([(np.ones(1), w)])
    plain.finalize_variable_values([w])  # without averages it changes nothing
    np.testing.assert_allclose(w, [-3.25])


# ---------------------------------------------------------------- rates and counts


def test_a_rate_may_be_set() -> None:
    optimizer, w = SGD(0.5), variable(0.0)
    optimizer.apply_gradients([(np.ones(1), w)])
    optimizer.learning_rate = 0.25
    optimizer.apply_gradients([(np.ones(1), w)])
    np.testing.assert_allclose(w, [-0.75])
    assert optimizer.learning_rate == 0.25 and optimizer.iterations == 2
    optimizer.iterations = 7
    assert optimizer.iterations == 7


def test_a_schedule_sets_the_rate_of_each_step() -> None:
    optimizer, w = SGD(InverseTimeDecay(1.0, 1, 1.0)), variable(0.0)
    for rate in (1.0, 1 / 2, 1 / 3):
        before = w.numpy()
        optimizer.apply_gradients([(np.ones(1), w)])
        np.testing.assert_allclose(before - w.numpy(), [rate])
        assert optimizer.learning_rate == pytest.approx(rate)
    with pytest.raises(TypeError, match="the learning rate follows a schedule"):
        optimizer.learning_rate = 0.1
    optimizer.learning_rate = lambda step: 10.0 * step
    assert optimizer.learning_rate == 30.0


# ---------------------------------------------------------------- slots


def test_slots_follow_the_variables_whatever_their_order() -> None:
    optimizer = SGD(1.0, momentum=0.5)
    a, b = variable(0.0, name="a"), variable(0.0, 0.0, name="b")
    optimizer.apply_gradients([(np.ones(1), a), (np.ones(2), b)])
    optimizer.apply_gradients([(np.zeros(2), b), (np.zeros(1), a)])
    optimizer.apply_gradients([(np.zeros(2), b)])
    np.testing.assert_allclose(a, [-1.5])
    np.testing.assert_allclose(b, [-1.75, -1.75])
    assert [s.name for s in optimizer.slots["momentum"]] == ["sgd/a/momentum", "sgd/b/momentum"]


def test_build_adds_variables_before_the_first_step() -> None:
    optimizer, a, b = Adam(), variable(0.0, name="a"), variable(0.0, name="b")
    optimizer.build([a])
    optimizer.build([a, b])
    assert [v.name for v in optimizer.variables] == ["a", "b"]
    assert (optimizer.position(a), optimizer.position(b)) == (0, 1)
    assert optimizer.position(a, likely=1) == 0 and optimizer.position(b, likely=5) == 1
    assert optimizer.position(variable(0.0)) == -1
    optimizer.apply_gradients([(np.ones(1), b)])
    with pytest.raises(ValueError, match="adam has not seen c"):
        optimizer.apply_gradients([(np.ones(1), variable(0.0, name="c"))])


def test_pairs_without_gradient_are_skipped() -> None:
    optimizer, a, b = SGD(1.0, momentum=0.9), variable(1.0, name="a"), variable(1.0, name="b")
    with pytest.warns(UserWarning, match="sgd.apply_gradients leaves b unchanged"):
        optimizer.apply_gradients([(np.ones(1), a), (None, b)])
    assert (a.numpy(), b.numpy()) == (0.0, 1.0)
    assert len(optimizer.slots["momentum"]) == 2


def test_apply_with_separate_lists() -> None:
    optimizer, a, b = SGD(1.0), variable(0.0), variable(0.0)
    optimizer.apply([np.ones(1), np.full(1, 2.0)], [a, b])
    optimizer.apply([np.ones(1), np.zeros(1)])  # for the variables of the first step
    assert (a.numpy(), b.numpy()) == (-2.0, -2.0)


def test_a_failed_step_changes_nothing() -> None:
    optimizer, w = SGD(1.0), variable(1.0, 1.0)
    with pytest.raises(ValueError, match="not in the same order"):
        optimizer.apply_gradients([(np.ones(3), w)])
    np.testing.assert_array_equal(w, [1.0, 1.0])
    assert optimizer.iterations == 0


def test_subclasses_define_the_update() -> None:
    with pytest.raises(NotImplementedError):
        Optimizer(0.1).apply_gradients([(np.ones(1), variable(0.0))])


def test_loss_scaling_is_left_to_the_wrapper() -> None:
    loss = np.float32(2.0)
    assert SGD().scale_loss(loss) is loss
    assert SGD(name="mine").name == "mine"
