"""Whole training steps as libraries, with their state."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import s2s
from s2s.aot import build, status_codes
from s2s.layers import Conv2D, Dense, Dropout, Flatten, MaxPool2D, initializers
from s2s.models import Sequential
from s2s.optimizers import SGD
from tests.s2s.aot.drawing import drawing
from tests.s2s.aot.programs import batch, needs_compiler, network

pytestmark = needs_compiler


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    step, predict, model = network()
    wanted = {"step": (step, "float32[n,64], int64[n]"), "predict": (predict, "float32[n,64]")}
    built = build(wanted, out=tmp_path_factory.mktemp("aot") / "net")
    return built, step, predict, model


def test_a_run_equals_the_compiled_step_to_the_last_bit(trained, monkeypatch) -> None:
    monkeypatch.setenv("S2S_GEMM", "builtin")
    built, step, predict, model = trained
    net = built.load().Net.load()
    rng = np.random.default_rng(0)
    for k in range(20):
        x, y = batch(rng, 1 if k == 7 else 32)
        assert net.step(x, y) == step(x, y)
    kernel, bias = model.trainable_variables[:2]
    np.testing.assert_array_equal(net.state["dense/kernel"], kernel.numpy())
    np.testing.assert_array_equal(net.state["dense/bias"], bias.numpy())
    np.testing.assert_array_equal(net.predict(x), predict(x))
    steps = [v for name, v in net.state.items() if name.endswith("steps")]
    assert [int(v) for v in steps] == [20]


def test_convolutions(tmp_path) -> None:
    """Windows are read in place.  Weights agree within rounding, not to the last bit."""
    model = Sequential(
        [
            Conv2D(6, 3, padding="same", activation="relu"),
            MaxPool2D(),
            Conv2D(9, (2, 3), strides=(1, 2), activation="tanh"),
            Flatten(),
            Dense(3),
        ]
    )
    rng = np.random.default_rng(4)
    images = [rng.normal(size=(n, 9, 10, 2)).astype(np.float32) for n in (5, 1, 32)]
    model(images[0])
    loss_fn, optimizer = s2s.losses.SparseCategoricalCrossentropy(from_logits=True), SGD(0.05)

    @s2s.function
    def step(x, y):
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    net = build(step, "float32[n,9,10,2], int64[n]", out=tmp_path / "cnn").load().Cnn.load()
    for x in images * 2:
        y = rng.integers(0, 3, len(x))
        assert net(x, y) == pytest.approx(step(x, y), rel=1e-5)
    for name, variable in zip(("conv2d/kernel", "conv2d/bias"), model.trainable_variables):
        np.testing.assert_allclose(net.state[name], variable.numpy(), rtol=1e-4, atol=1e-6)


def test_states_are_saved_and_independent(trained, tmp_path) -> None:
    module = trained[0].load()
    a, b = module.Net.load(), module.Net.load()
    x, y = batch(np.random.default_rng(1), 32)
    first = a.step(x, y)
    a.save(tmp_path / "a.npz")
    assert b.step(x, y) == first
    second = a.step(x, y)
    c = module.Net.load(tmp_path / "a.npz")
    assert c.step(x, y) == second != first
    with np.load(tmp_path / "a.npz") as file:
        arrays = {k: v for k, v in file.items() if k != "dense/bias"}
    np.savez(tmp_path / "b.npz", **arrays)
    with pytest.raises(ValueError, match="has no dense/bias"):
        module.Net.load(tmp_path / "b.npz")


def test_threads_with_states_of_their_own(trained) -> None:
    module = trained[0].load()
    x, y = batch(np.random.default_rng(5), 32)

    def losses(_: int) -> list[float]:
        net = module.Net.load()
        return [float(net.step(x, y)) for _ in range(200)]

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(losses, range(4))
    assert all(other == first for other in others)


def test_a_rate_is_part_of_the_state(trained) -> None:
    net = trained[0].load().Net.load()
    (rate,) = [v for name, v in net.state.items() if name.endswith("rate")]
    rate[...] = 0.0
    before = net.state["dense/kernel"].copy()
    net.step(*batch(np.random.default_rng(2), 8))
    np.testing.assert_array_equal(net.state["dense/kernel"], before)


def test_a_foreign_state_is_refused(trained) -> None:
    module = trained[0].load()
    net = module.Net.load()
    net.block[16] ^= 1
    with pytest.raises(module.LibraryError, match="not one of this library's") as caught:
        net.step(*batch(np.random.default_rng(2), 8))
    assert caught.value.status == status_codes.STATE
    library = ctypes.CDLL(str(trained[0].files["so"]))
    place = ctypes.c_void_p(net.block.ctypes.data)
    assert library.net_init(place, ctypes.c_size_t(net.block.size - 1)) == status_codes.STATE
    assert library.net_init(None, ctypes.c_size_t(net.block.size)) == status_codes.NULL


def test_a_wrong_label_is_an_error_and_no_crash(trained) -> None:
    net = trained[0].load().Net.load()
    x, y = batch(np.random.default_rng(2), 8)
    with pytest.raises(IndexError, match="losses.py"):
        net.step(x, y + 10)


def test_variables_and_numbers_of_a_module(tmp_path) -> None:
    weight = s2s.Variable(np.zeros(3), name="weight")
    rate = 0.1

    @s2s.function
    def step(x, y):
        with s2s.GradientTape() as tape:
            loss = np.mean((x @ weight - y) ** 2)
        weight.assign_sub(rate * tape.gradient(loss, weight))
        return loss

    module = build(step, "float64[n,3], float64[n]", out=tmp_path / "step").load()
    s = module.Step.load()
    x = np.random.default_rng(0).normal(size=(20, 3))
    for _ in range(5):
        loss = s(x, x @ np.arange(3.0))
        expected = step(x, x @ np.arange(3.0))
        np.testing.assert_allclose(loss, expected, rtol=1e-12)
    np.testing.assert_allclose(s.state["weight"], weight.numpy(), rtol=1e-12)
    assert s.state["rate"] == 0.1


class Holder:
    pass


def test_state_that_is_replaced(tmp_path) -> None:
    """State is replaced by arrays of the same size; another size gives an error status."""
    holder = Holder()
    holder.total, holder.count = np.zeros(3), 0  # type: ignore[attr-defined]

    @s2s.function
    def add(x):
        holder.total = holder.total[: x.shape[0]] + x  # type: ignore[attr-defined]
        holder.count = holder.count + 1  # type: ignore[attr-defined]
        return holder.total.sum()  # type: ignore[attr-defined]

    module = build(add, (np.ones(3),), out=tmp_path / "add").load()
    s = module.Add.load()
    assert [s(np.ones(3)) for _ in range(2)] == [3.0, 6.0]
    assert s.state["holder/count"] == 2
    with pytest.raises((ValueError, module.LibraryError), match="sizes"):
        s(np.ones(2))
    np.testing.assert_array_equal(s.state["holder/total"], [2.0, 2.0, 2.0])


def test_a_number_that_changes_its_type_is_refused(tmp_path) -> None:
    holder = Holder()
    holder.rate = 1  # type: ignore[attr-defined]

    @s2s.function
    def halve(x):
        holder.rate = holder.rate * 0.5  # type: ignore[attr-defined]
        return x * holder.rate  # type: ignore[attr-defined]

    with pytest.raises(s2s.UnsupportedError, match="int64 at first and float64 later"):
        build(halve, "float64", out=tmp_path / "halve")


def test_random_numbers_are_part_of_the_state(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("S2S_GEMM", "builtin")
    initializers.set_seed(0)
    model = Sequential([Dense(8), Dropout(0.5), Dense(1)])
    optimizer = SGD(0.01)

    @s2s.function
    def step(x):
        with s2s.GradientTape() as tape:
            loss = np.mean(model(x, training=True) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    module = build(step, "float32[n,4]", out=tmp_path / "step").load()
    a, b = module.Step.load(), module.Step.load()
    x = np.random.default_rng(1).normal(size=(7, 4)).astype(np.float32)
    losses = [a(x) for _ in range(5)]
    assert losses == [step(x) for _ in range(5)]
    assert losses == [b(x) for _ in range(5)]


@pytest.mark.parametrize("method", ["standard_normal", "random"])
def test_draws_are_those_of_numpy(tmp_path, method) -> None:
    generator, function = drawing(method)
    expected = np.random.default_rng(7)
    library = build(function, "float64", out=tmp_path / "draw").load().Draw.load()
    for _ in range(3):
        want = sum(getattr(expected, method)() for _ in range(10))
        assert library(2.0) == pytest.approx(2.0 * want, rel=1e-12)
    assert generator.bit_generator.state == np.random.default_rng(7).bit_generator.state


def test_what_python_draws_is_refused(tmp_path) -> None:
    with pytest.raises(s2s.UnsupportedError, match=r"Generator.gumbel .* \(line \d+"):
        build(drawing("gumbel")[1], "float64", out=tmp_path / "draw")
