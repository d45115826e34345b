"""Whole training steps as libraries, with their state."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import s2s
from s2s.aot import build, statuses
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
    assert caught.value.status == statuses.STATE
    library = ctypes.CDLL(str(trained[0].files["so"]))
    place = ctypes.c_void_p(net.block.ctypes.data)
    assert library.net_init(place, ctypes.c_size_t(net.block.size - 1)) == statuses.STATE
    assert library.net_init(None, ctypes.c_size_t(net.block.size)) == statuses.NULL


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
