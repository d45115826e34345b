"""Tapes in plain Python: the block runs in Python, its gradient is compiled from its source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Dense, Dropout
from s2s.losses import MeanSquaredError
from s2s.models import Model
from s2s.optimizers import SGD


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


MODULE_X = s2s.Variable(3.0)


def test_a_variable() -> None:
    x = s2s.Variable(3.0)
    with s2s.GradientTape() as tape:
        y = x**2
    assert y == 9.0 and tape.gradient(y, x) == 6.0
    assert tape.gradient(y, x) == 6.0  # the tape can be used again


def test_globals_and_closures() -> None:
    scale = np.array([2.0, 3.0])

    def helper(v: Any) -> Any:
        return v * scale

    with s2s.GradientTape() as tape:
        y = np.sum(helper(MODULE_X * 1.0))
    assert tape.gradient(y, MODULE_X) == 5.0


def test_watched_arrays_and_structures() -> None:
    a, b = np.array([1.0, 2.0]), 3.0
    with s2s.GradientTape() as tape:
        tape.watch([a, b])
        z = np.sum(a * a) * b
    got = tape.gradient(z, {"a": a, "b": b})
    np.testing.assert_allclose(got["a"], [6.0, 12.0])
    assert got["b"] == 5.0


def test_the_body_runs_once(capsys: Any) -> None:
    x = s2s.Variable(2.0)
    log: list[Any] = []
    counts = {"n": 0}
    with s2s.GradientTape() as tape:
        print("inside")
        y = x * x
        log.append(1)
        counts["n"] += 1
    assert tape.gradient(y, x) == 4.0 and tape.gradient(y, x) == 4.0
    assert capsys.readouterr().out == "inside\n" and log == [1] and counts == {"n": 1}


def test_values_the_block_saw() -> None:
    w, data = s2s.Variable(np.array(3.0)), np.array([2.0])
    with s2s.GradientTape() as tape:
        y = w**3 * data[0]
    w.assign(100.0)
    data[0] = 50.0
    assert tape.gradient(y, w) == 54.0


def test_assignment_inside_the_block() -> None:
    w = s2s.Variable(np.array(3.0))
    with s2s.GradientTape() as tape:
        y = w**2
        w.assign_add(1.0)
        z = y + w**2
    assert tape.gradient(z, w) == 14.0 and w.numpy() == 4.0


def test_arrays_written_inside_the_block() -> None:
    w, buffer = s2s.Variable(np.array([1.0, 2.0])), np.zeros(2)
    with s2s.GradientTape() as tape:
        buffer[0] = 5.0
        z = np.sum(w * (buffer + 1.0))
    np.testing.assert_allclose(tape.gradient(z, w), [6.0, 1.0])
    np.testing.assert_allclose(buffer, [5.0, 0.0])


def test_random_numbers_are_the_same() -> None:
    rng = np.random.default_rng(7)
    w = s2s.Variable(np.array([1.0, 2.0, 3.0]))
    with s2s.GradientTape() as tape:
        noise = rng.normal(size=3)
        z = np.sum(w * noise)
    np.testing.assert_allclose(tape.gradient(z, w), noise)
    assert rng.normal() == np.random.default_rng(7).normal(size=4)[3]


def test_what_is_not_connected() -> None:
    w, v = s2s.Variable(1.0), s2s.Variable(np.ones(2))
    with s2s.GradientTape() as tape:
        y = w * 2.0
    late = y * y
    assert tape.gradient(late, w) is None
    assert tape.gradient(y, [v, w]) == [None, 2.0]
    zero = tape.gradient(y, v, unconnected_gradients="zero")
    np.testing.assert_array_equal(zero, np.zeros(2))


def test_nested() -> None:
    x = s2s.Variable(np.array(3.0))
    with s2s.GradientTape() as outer:
        with s2s.GradientTape() as inner:
            y = x**3
        first = inner.gradient(y, x)
    assert first == 27.0 and outer.gradient(first, x) == 18.0


def test_in_a_method() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.w = s2s.Variable(np.array([1.0, -1.0]))
            self.rate = 0.5

        def step(self, x: Any) -> Any:
            with s2s.GradientTape() as tape:
                loss = np.sum((self.w * x) ** 2)
            self.w.assign_sub(self.rate * tape.gradient(loss, self.w))
            return loss

    trainer = Trainer()
    losses = [trainer.step(np.array([1.0, 0.5])) for _ in range(3)]
    np.testing.assert_allclose(losses, [1.25, 0.140625, 0.0791015625])


class Linear(Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = Dense(1)

    def call(self, inputs: Any) -> Any:
        return self.dense(inputs)


def test_a_training_loop() -> None:
    """The loop of a script: only the gradients are compiled."""
    model, loss_fn, optimizer = Linear(), MeanSquaredError(), SGD(0.1)
    x = np.linspace(-1, 1, 40, dtype=np.float32).reshape(-1, 1)
    y = 2 * x - 1
    for _ in range(15):
        for k in range(0, 40, 16):
            xb, yb = x[k : k + 16], y[k : k + 16]
            with s2s.GradientTape() as tape:
                predictions = model(xb, training=True)
                loss = loss_fn(yb, predictions)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    kernel, bias = model.dense.get_weights()
    np.testing.assert_allclose(bias, -1.0, atol=0.1)
    np.testing.assert_allclose(kernel, 2.0, atol=0.4)
    assert optimizer.iterations == 45


def test_output_gradients_and_targets_of_any_shape() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))
    with s2s.GradientTape() as tape:
        y = w * w
        z = w * 3.0
    np.testing.assert_allclose(tape.gradient([y, z], w), [5.0, 7.0])
    seed = np.array([10.0, 0.0])
    np.testing.assert_allclose(tape.gradient(y, w, output_gradients=seed), [20.0, 0.0])


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match=r"before the tape's `with` block"):
        s2s.GradientTape().gradient(1.0, 1.0)


class Holder:
    shared = 2.0

    def __init__(self) -> None:
        self.x = np.array([1.0, 2.0])
        self.scale = 3.0
        self.twice = False
        self.parts = [1.0, np.array([5.0, 6.0])]
        self.table: dict[str, Any] = {"k": 2.0}
        self.loss: Any = None
        self.rng = np.random.default_rng(3)

    def call(self, w: Any) -> Any:
        y = np.sum(w * self.x) * self.scale * self.shared * self.table["k"]
        for part in self.parts:
            y = y + np.sum(w * part)
        if self.twice:
            y = y * 2.0
        return y + np.sum(w * self.rng.normal(size=2))


GLOBAL = np.array([1.0, 2.0])
FACTOR = 2.0


def test_whatever_the_block_read_is_as_it_was() -> None:
    """The Variable is 0, so the values of both runs are equal although the gradient would
    differ."""
    w, h = s2s.Variable(np.zeros(2)), Holder()
    with s2s.GradientTape() as tape:
        y = h.call(w)
    noise = np.random.default_rng(3).normal(size=2)
    want = np.array([1.0, 2.0]) * 12.0 + 1.0 + np.array([5.0, 6.0]) + noise
    np.testing.assert_allclose(tape.gradient(y, w), want)
    later = h.rng.normal()

    h.x[0] = 77.0
    h.x = np.ones(2)
    h.scale, h.twice = -1.0, True
    h.parts[1][:] = 0.0
    h.parts.append(4.0)
    h.table["k"] = 9.0
    h.table["new"] = 1.0
    h.shared = 11.0  # set on the instance; before, the class had it
    now = dict(vars(h))
    contents = list(h.parts), dict(h.table)
    np.testing.assert_allclose(tape.gradient(y, w), want)
    assert vars(h) == now and (h.parts, h.table) == (contents[0], contents[1])
    assert all(vars(h)[k] is v for k, v in now.items())
    assert later == np.random.default_rng(3).normal(size=3)[2]


def test_globals_classes_and_closures_are_as_they_were() -> None:
    global GLOBAL, FACTOR
    w, k = s2s.Variable(np.zeros(2)), 3.0

    def helper(v: Any) -> Any:
        return np.sum(v * GLOBAL) * FACTOR * k * Holder.shared

    with s2s.GradientTape() as tape:
        y = helper(w)
    before = GLOBAL, FACTOR
    GLOBAL, FACTOR, k, Holder.shared = np.array([7.0, 7.0]), 9.0, 10.0, 5.0
    try:
        np.testing.assert_allclose(tape.gradient(y, w), [12.0, 24.0])
        assert (FACTOR, k, Holder.shared) == (9.0, 10.0, 5.0)
    finally:
        GLOBAL, FACTOR = before
        Holder.shared = 2.0


def test_what_the_block_itself_changes() -> None:
    w, counts, h = s2s.Variable(np.zeros(2)), [1.0], Holder()
    log: list[Any] = []
    table = {"n": 0}
    with s2s.GradientTape() as tape:
        counts[0] = counts[0] * 3.0
        log.append(1.0)
        table["n"] += 1
        h.scale = h.scale + 1.0
        h.x[0] = 10.0
        y = np.sum(w * h.x) * counts[0] * h.scale * table["n"]
    np.testing.assert_allclose(tape.gradient(y, w), [120.0, 24.0])
    np.testing.assert_allclose(tape.gradient(y, w), [120.0, 24.0])
    assert counts == [3.0] and log == [1.0] and table == {"n": 1} and h.scale == 4.0


def test_random_numbers_inside_objects_and_of_the_legacy_generator() -> None:
    w, dropout = s2s.Variable(np.zeros(20)), Dropout(0.5)
    with s2s.GradientTape() as tape:
        dropped = dropout(w + 1.0, training=True)
        y = np.sum(dropped)
    np.testing.assert_allclose(tape.gradient(y, w), dropped)
    np.testing.assert_allclose(tape.gradient(y, w), dropped)
    again = dropout(w + 1.0, training=True)
    assert not np.array_equal(again, dropped)

    np.random.seed(5)
    with s2s.GradientTape() as tape:
        noise = np.random.normal(size=20)
        y = np.sum(w * noise)
    np.testing.assert_allclose(tape.gradient(y, w), noise)
    after = np.random.normal()
    np.random.seed(5)
    assert after == np.random.normal(size=21)[20]


def test_variables_changed_by_compiled_functions() -> None:
    w = s2s.Variable(np.array([2.0, 3.0]))

    @s2s.function
    def double() -> Any:
        w.assign(2.0 * w)
        return np.sum(w)

    with s2s.GradientTape() as tape:
        y = np.sum(w * w)
    double()
    np.testing.assert_allclose(w.numpy(), [4.0, 6.0])
    np.testing.assert_allclose(tape.gradient(y, w), [4.0, 6.0])

    with s2s.GradientTape() as tape:
        y = np.sum(w * w)
        total = double()
        y = y + np.sum(w * w)
    np.testing.assert_allclose(tape.gradient(y, w), 2 * np.array([4.0, 6.0]) * 3)
    assert total == 20.0 and w[1] == 12.0


def test_what_cannot_be_followed_is_refused_and_not_computed_wrongly() -> None:
    class Odd:
        def __init__(self) -> None:
            self._x = 1.0

        @property
        def parts(self) -> Any:
            return self._x

    w, h = s2s.Variable(np.zeros(2)), Odd()
    with s2s.GradientTape() as tape:
        y = np.sum(w) * h.parts
    h._x = 5.0
    np.testing.assert_allclose(tape.gradient(y, w), [1.0, 1.0])

    with s2s.GradientTape() as tape:
        y = np.sum(w * 2.0)
        open("/dev/null").close()
    with pytest.raises(s2s.UnsupportedError, match="open has no rule") as error:
        tape.gradient(y, w)
    assert error.value.advice.startswith("move this line out of the tape's block")


def test_targets_are_known_by_identity_wherever_they_are() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def forward() -> Any:
        with s2s.GradientTape() as tape:
            a = np.sum(w**2)
            b = np.sum(w**3)
        return tape, a, b

    tape, b, a = forward()
    np.testing.assert_allclose(tape.gradient(b, w), [2.0, 4.0])
    np.testing.assert_allclose(tape.gradient(a, w), [3.0, 12.0])
    results: dict[Any, Any] = {}
    with s2s.GradientTape() as tape:
        results["loss"] = np.sum(w**2)
        values = [np.sum(w**k) for k in (2, 3)]
    np.testing.assert_allclose(tape.gradient(results["loss"], w), [2.0, 4.0])
    np.testing.assert_allclose(tape.gradient(values[1], w), [3.0, 12.0])
    holder = Holder()
    with s2s.GradientTape() as tape:
        holder.table["deep"] = [{"loss": (1.0, np.sum(w**2))}]
        holder.loss = np.sum(w**3)
    deep = holder.table["deep"][0]["loss"][1]
    np.testing.assert_allclose(tape.gradient(deep, w), [2.0, 4.0])
    np.testing.assert_allclose(tape.gradient(holder.loss, w), [3.0, 12.0])


def test_several_tapes_in_one_with_and_arrays_of_two_names() -> None:
    w, x = s2s.Variable(np.array([1.0, 2.0])), np.array([1.0, 3.0])
    with s2s.GradientTape() as one, s2s.GradientTape() as two:
        one.watch(x)
        y = np.sum(w * x * x)
    np.testing.assert_allclose(one.gradient(y, x), [2.0, 12.0])
    assert two.gradient(y, x) is None
    z = x
    with s2s.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x * z)
    np.testing.assert_allclose(tape.gradient(y, x), 2 * x)


def test_functions_inside_the_block() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))
    with s2s.GradientTape() as tape:

        def square(v: Any) -> Any:
            return v * v

        y = np.sum(square(w * 1.0))
    np.testing.assert_allclose(tape.gradient(y, w), [2.0, 4.0])


def test_jumps_out_of_the_block_are_refused() -> None:
    w = s2s.Variable(1.0)
    for i in range(3):
        with s2s.GradientTape() as tape:
            y = w * 2.0
            if i == 1:
                break
    with pytest.raises(s2s.UnsupportedError, match="a break inside this block"):
        tape.gradient(y, w)


def test_what_is_done_to_targets_and_containers_afterwards() -> None:
    w = s2s.Variable(np.array([0.0, 0.0]))
    losses: list[Any] = []
    with s2s.GradientTape() as tape:
        losses.append(np.sum(w * 2.0))
        loss = np.sum(w * 3.0)
    first, kept = losses[0], loss
    losses[0] = np.sum(w * 5.0)
    losses.append(np.sum(w * 7.0))
    loss *= 2.0  # a scalar: the name is rebound
    np.testing.assert_allclose(tape.gradient(first, w), [2.0, 2.0])
    np.testing.assert_allclose(tape.gradient(kept, w), [3.0, 3.0])
    assert tape.gradient(losses[0], w) is None and tape.gradient(losses[1], w) is None
    assert tape.gradient(loss, w) is None


def test_arrays_that_overlap_are_not_taken_apart() -> None:
    w, x = s2s.Variable(np.zeros(2)), np.ones(4)
    part = x[:2]
    with s2s.GradientTape() as tape:
        x[0] = 7.0
        y = np.sum(w * part)
    with pytest.raises(ValueError, match="overlap in memory"):
        tape.gradient(y, w)


def test_containers_that_hold_themselves() -> None:
    class Box:
        pass

    box: Any = Box()
    box.w = s2s.Variable(3.0)
    box.parts = [box, {}]
    box.parts[1]["all"] = box.parts
    box.parts.append(box.parts)
    with s2s.GradientTape() as tape:
        y = box.w * box.w
    assert tape.gradient(y, box.w) == 6.0
