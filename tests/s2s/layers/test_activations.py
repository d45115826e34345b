"""Activation functions: values against formulas in scalar Python, derivatives, extreme inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import activations
from tests.s2s.layers.checks import differences, numbers

FORMULAS: dict[str, Callable[[float], float]] = {
    "linear": lambda x: x,
    "relu": lambda x: max(x, 0.0),
    "tanh": math.tanh,
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "selu": lambda x: 1.05070098735548 * (x if x > 0 else 1.67326324235438 * math.expm1(x)),
    "gelu": lambda x: x * 0.5 * (1.0 + math.erf(x / math.sqrt(2.0))),
    "silu": lambda x: x / (1.0 + math.exp(-x)),
    "swish": lambda x: x / (1.0 + math.exp(-x)),
    "softsign": lambda x: x / (1.0 + abs(x)),
    "exponential": math.exp,
    "leaky_relu": lambda x: x if x > 0 else 0.2 * x,
    "relu6": lambda x: min(max(x, 0.0), 6.0),
    "hard_sigmoid": lambda x: min(max(x + 3.0, 0.0), 6.0) / 6.0,
}
ROWS = ("softmax", "log_softmax")
# Away from the points where a derivative jumps.
POINTS = np.array([-7.5, -2.9, -0.6, -1e-3, 2e-3, 0.4, 2.9, 5.9, 6.1])


def test_every_function_has_a_formula_here() -> None:
    assert {*FORMULAS, *ROWS} == {name for name in activations.NAMES if name}


@pytest.mark.parametrize("name", FORMULAS)
def test_values(name: str) -> None:
    got = activations.get(name)(POINTS)
    np.testing.assert_allclose(got, [FORMULAS[name](float(x)) for x in POINTS], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:invalid value encountered in logaddexp")
@pytest.mark.parametrize("name", [*FORMULAS, *ROWS])
def test_float32_and_nan(name: str) -> None:
    given, function = np.array([[-8.0, np.nan, 8.0]], np.float32), activations.get(name)
    for call in (function, s2s.function(function, backend="loops")):
        got = call(given)
        assert got.dtype == np.float32 and np.isnan(got[0, 1])


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives(name: str) -> None:
    function = activations.get(name)
    gradient = s2s.grad(lambda x: np.sum(function(x)), backend="loops")(POINTS)
    h = 1e-6
    want = [(FORMULAS[name](x + h) - FORMULAS[name](x - h)) / (2 * h) for x in POINTS.tolist()]
    np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    x, function = 3.0 * numbers(2, 4), activations.get(name)
    exact = np.array([[math.exp(v) / sum(map(math.exp, row)) for v in row] for row in x.tolist()])
    np.testing.assert_allclose(function(x), exact if name == "softmax" else np.log(exact))
    probe = numbers(2, 4, phase=2.0)
    gradient = s2s.grad(lambda x: np.sum(function(x) * probe), backend="loops")(x)
    want = differences(lambda x: np.sum(function(x) * probe), x)
    np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_of_extreme_logits(dtype: str) -> None:
    x = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]], dtype)
    got = activations.softmax(x)
    np.testing.assert_allclose(got, [[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-6)
    np.testing.assert_allclose(activations.log_softmax(x)[0], [0.0, -2e4, -1e4])
    both = s2s.grad(
        lambda x: np.sum(activations.softmax(x) ** 2 + activations.log_softmax(x)), backend="loops"
    )(x)
    assert both.dtype == dtype and np.all(np.isfinite(both))


@pytest.mark.parametrize("name", ["softplus", "elu", "selu", "softsign", "tanh", "gelu", "relu"])
def test_large_inputs_give_finite_derivatives(name: str) -> None:
    function = activations.get(name)
    gradient = s2s.grad(lambda x: np.sum(function(x)), backend="loops")
    assert np.all(np.isfinite(gradient(np.array([-1e4, 1e4]))))


@pytest.mark.parametrize(
    "name, slope",
    [("relu", 0.0), ("relu6", 0.0), ("elu", 1.0), ("selu", 1.05070098735548), ("leaky_relu", 0.2)],
)
def test_derivative_at_zero(name: str, slope: float) -> None:
    """The values are those of TensorFlow."""
    function = activations.get(name)
    gradient = s2s.grad(lambda x: np.sum(function(x)), backend="loops")(np.zeros(1))
    np.testing.assert_allclose(gradient, [slope], rtol=1e-12)


def test_options() -> None:
    x = np.array([-2.0, 0.5])
    np.testing.assert_allclose(activations.elu(x, 0.5), [0.5 * math.expm1(-2.0), 0.5])
    np.testing.assert_allclose(activations.leaky_relu(x, 0.01), [-0.02, 0.5])
    cubic = [0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in x]
    np.testing.assert_allclose(activations.gelu(x, approximate=True), cubic)


def test_softsign_of_infinity() -> None:
    assert np.isnan(activations.softsign(np.array([np.inf, -np.inf]))).all()


def test_lookup() -> None:
    def double(x: Any) -> Any:
        return 2.0 * x

    assert activations.get(double) is double
    assert activations.get(None) is activations.linear
    assert activations.get("swish") is activations.silu
    with pytest.raises(ValueError, match="no activation 'gela'; choose from linear, relu"):
        activations.get("gela")
