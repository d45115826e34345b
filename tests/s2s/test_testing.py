"""check_grads accepts right gradients and reports wrong ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import s2s
from s2s.api import functions


@pytest.fixture(autouse=True)
def on_loops(monkeypatch):
    monkeypatch.setenv("S2S_BACKEND", "loops")


@dataclass
class Pair:
    a: np.ndarray
    b: float


def test_scalar_functions():
    report = s2s.check_grads(lambda x, y: np.sin(x) * y**2, 0.7, 1.3)
    assert report.ok and report.checked == 2 and "complex step" in report.judge


def test_arrays_containers_and_integers():
    def f(params, x, n):
        return (np.tanh(x @ params["W"] + params["b"]) ** 2).sum() * n

    rng = np.random.default_rng(0)
    params = {"W": rng.normal(size=(3, 2)), "b": rng.normal(size=2)}
    report = s2s.check_grads(f, params, rng.normal(size=(4, 3)), 3)
    assert report.checked == 6 + 2 + 12

    report = s2s.check_grads(lambda p: (p.a**3).sum() * p.b, Pair(np.ones(3), 2.0))
    assert report.checked == 4


def test_s2s_objects_keep_their_wrt():
    @s2s.grad(wrt="y")
    def f(x, y):
        return x * y**3

    assert s2s.check_grads(f, 2.0, 3.0).checked == 1
    assert s2s.check_grads(f, 2.0, 3.0, wrt=("x", "y")).checked == 2


def test_results_that_are_arrays_are_projected():
    s2s.check_grads(lambda x: np.exp(x) * x[::-1], np.array([0.1, 0.5, 1.0]))
    s2s.check_grads(lambda x: (x**2, (x.sum(), 2.0 * x)), np.array([0.1, 0.5]))


def test_single_precision():
    s2s.check_grads(lambda x: (np.sqrt(x) * x).sum(), np.linspace(0.5, 2, 5, dtype=np.float32))


def test_kinks_are_skipped():
    report = s2s.check_grads(lambda x: np.abs(x).sum(), np.array([-1.0, 0.0, 2.0]))
    assert report.checked + len(report.skipped) == 3


def test_functions_that_write_into_their_arguments():
    def f(x):
        x[0] = x[1] * x[2]
        return (x * x).sum()

    x = np.array([1.0, 2.0, 3.0])
    s2s.check_grads(f, x)
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_large_arrays_are_sampled():
    report = s2s.check_grads(lambda x: (x * x).sum(), np.linspace(0, 1, 500), samples=20)
    assert report.sampled and report.checked == 20


def wrong(monkeypatch, change):
    right = functions.ValueAndGradient.__call__

    def call(self, *args, **kwargs):
        value, gradients = right(self, *args, **kwargs)
        return value, tuple(change(g) for g in gradients)

    monkeypatch.setattr(functions.ValueAndGradient, "__call__", call)


def test_a_wrong_gradient_is_reported(monkeypatch):
    def change(g):
        g = g.copy()
        g[1, 2] *= 1.5
        return g

    wrong(monkeypatch, change)
    with pytest.raises(AssertionError) as info:
        s2s.check_grads(lambda x: (x**3).sum(), np.arange(1.0, 7.0).reshape(2, 3))
    text = str(info.value)
    assert "1 wrong" in text and "x[1, 2]: s2s 162, differences 108, relative error 0.33" in text


def test_a_slightly_wrong_gradient_is_reported(monkeypatch):
    wrong(monkeypatch, lambda g: g * (1 + 1e-5))
    with pytest.raises(AssertionError):
        s2s.check_grads(lambda x: x * x, 3.0)


def test_nan_is_wrong(monkeypatch):
    wrong(monkeypatch, lambda g: g * np.nan)
    with pytest.raises(AssertionError, match="nan"):
        s2s.check_grads(lambda x: x * x, 3.0)


def test_second_order():
    def f(x, p):
        return np.sum(np.sin(x) * p["k"] * x) + p["b"] ** 3

    report = s2s.check_grads(
        f, np.array([0.3, 0.7]), {"k": np.array([1.0, 2.0]), "b": 0.5}, order=2, backend="loops"
    )
    assert [e.where for e in report.crossed] == [
        "tangent, forward mode", "Hessian, symmetry", "Hessian, along a direction"
    ]  # fmt: skip


def test_second_order_finds_a_wrong_derivative():
    @s2s.custom_gradient
    def square(x):
        def grad(out_bar):
            return out_bar * 2.0 * s2s.stop_gradient(x)

        return x * x, grad

    def f(x):
        return np.sum(square(x) * x)

    x = np.array([0.3, 0.7])
    s2s.check_grads(f, x, backend="loops")
    with pytest.raises(AssertionError, match="Hessian"):
        s2s.check_grads(f, x, order=2, backend="loops")


def test_other_orders_are_refused():
    with pytest.raises(s2s.UnsupportedError, match="order is 1 or 2"):
        s2s.check_grads(lambda x: x, 1.0, order=3)


def complex_and_real(z, x):
    return np.sum(np.abs(z) ** 3 * x) + np.sum((z * z).imag)


def noisy(mu, sigma, rng):
    return np.sum(rng.normal(mu, sigma, size=3) ** 2)


def test_complex_arguments_are_checked_in_both_parts() -> None:
    z = np.array([0.3 + 0.4j, -0.7 + 0.1j])
    report = s2s.check_grads(complex_and_real, z, np.ones(2), order=2, backend="loops")
    assert {e.where for e in report.entries} >= {"z[0]", "z[0].imag", "x[1]"}


def test_generators_draw_the_same_numbers_in_every_evaluation() -> None:
    rng = np.random.default_rng(0)
    s2s.check_grads(noisy, 0.3, 0.5, rng, order=2, backend="loops")
    assert rng.random() == np.random.default_rng(0).random()
