"""Random draws: equal to NumPy's, drawn once, on every backend."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.errors import UnsupportedError

BACKENDS = ("loops", "python")


def agrees(f: Any, args: tuple[Any, ...], rng: Any, backend: str) -> tuple[Any, Any]:
    """Value and gradient, after a check that the value equals that of the plain function and that
    the generator is in the same state afterwards."""
    ours, theirs = copy.deepcopy(rng), copy.deepcopy(rng)
    value, gradient = s2s.value_and_grad(f, backend=backend)(*args, ours)
    assert np.isclose(value, f(*args, theirs), rtol=1e-12)
    assert str(ours.bit_generator.state) == str(theirs.bit_generator.state)
    return value, gradient


def scaled_noise(x, rng):
    return np.sum(x * rng.normal(size=x.shape)) + rng.normal()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_a_generator_as_argument(backend: str, bits: Any) -> None:
    rng = np.random.Generator(bits(5))
    _, gradient = agrees(scaled_noise, (np.ones(3),), rng, backend)
    np.testing.assert_array_equal(gradient, copy.deepcopy(rng).normal(size=3))


GENERATOR = np.random.default_rng(0)


def global_noise(x):
    return np.sum(x * GENERATOR.normal(size=3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_global_and_enclosed_generators_are_read_at_each_call(backend, monkeypatch) -> None:
    own = np.random.default_rng(2)

    def enclosed(x):
        return np.sum(x * own.normal(size=3))

    for f, seed in ((global_noise, 1), (enclosed, 2)):
        monkeypatch.setitem(globals(), "GENERATOR", np.random.default_rng(1))
        reference = np.random.default_rng(seed)
        g = s2s.grad(f, backend=backend)
        for _ in range(3):
            np.testing.assert_array_equal(g(np.ones(3)), reference.normal(size=3))


class Model:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(8)

    def loss(self, x):
        return np.sum(x * self.rng.uniform(size=2))


def test_a_generator_of_an_object() -> None:
    reference = np.random.default_rng(8)
    gradient = s2s.grad(Model().loss, backend="loops")(np.ones(2))
    np.testing.assert_array_equal(gradient, reference.uniform(size=2))


def drawn_in_vain(x, rng):
    rng.normal(x[0], size=4)
    for _ in range(3):
        rng.random()
    return np.sum(x * rng.random(2))


@pytest.mark.parametrize("backend", BACKENDS)
def test_unused_draws_advance_the_generator(backend: str) -> None:
    agrees(drawn_in_vain, (np.ones(2),), np.random.default_rng(3), backend)


def equal_draws(x, rng):
    return x * rng.normal(0.0, 1.0) - x * rng.normal(0.0, 1.0)


def test_equal_draws_are_not_shared() -> None:
    value, gradient = agrees(equal_draws, (1.5,), np.random.default_rng(3), "loops")
    assert value != 0.0 and np.isclose(gradient * 1.5, value)


def second(x, rng):
    y = x
    for _ in range(3):
        y = y + 0.3 * np.sin(y) * rng.normal(size=2)
    return np.sum(y)


def test_forward_mode_and_second_order_draw_once() -> None:
    x, v = np.array([0.3, 0.7]), np.array([1.0, -0.5])
    rng = np.random.default_rng(1)
    gradient = s2s.grad(second, backend="loops")(x, copy.deepcopy(rng))
    later = copy.deepcopy(rng)
    second(x, later)
    once, twice = copy.deepcopy(rng), copy.deepcopy(rng)
    _, tangent = s2s.jvp(second, backend="loops")(x, v, once)
    assert np.isclose(tangent, gradient @ v)
    curvature = s2s.hvp(second, backend="loops")(x, v, twice)
    for ours in (once, twice):
        assert str(ours.bit_generator.state) == str(later.bit_generator.state)
    h = 1e-6
    ends = [s2s.grad(second, backend="loops")(x + s * v, copy.deepcopy(rng)) for s in (h, -h)]
    np.testing.assert_allclose(curvature, (ends[0] - ends[1]) / (2 * h), rtol=1e-5)


# ---------------------------------------------------------------- refusals


def gamma_by_its_shape(x, rng):
    return rng.gamma(x, 1.0)


def beta_by_its_shape(x, rng):
    return np.sum(rng.beta(x, 2.0, size=3))


@pytest.mark.parametrize("f", [gamma_by_its_shape, beta_by_its_shape])
def test_shape_parameters_are_refused(f: Any) -> None:
    with pytest.raises(UnsupportedError, match="derivative of a .* draw") as error:
        s2s.grad(f, backend="loops")(1.5, np.random.default_rng(0))
    assert error.value.line == f.__code__.co_firstlineno + 1
    assert "standard" in error.value.advice
    # The function itself can be compiled.
    expected = f(1.5, np.random.default_rng(0))
    assert s2s.function(f, backend="loops")(1.5, np.random.default_rng(0)) == expected


def counted(x, rng):
    return x * rng.poisson(x)


def test_counts_have_no_derivative() -> None:
    gradient = s2s.grad(counted, backend="loops")(4.0, np.random.default_rng(0))
    assert gradient == np.random.default_rng(0).poisson(4.0)


def recursive(x, n, rng):
    if n > x:
        return x
    return rng.normal() * recursive(x * 1.5, n, rng)


def spawning(x, rng):
    return x * rng.spawn(2)[0].normal()


def test_other_refusals() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(UnsupportedError, match=r"Generator\.spawn"):
        s2s.grad(spawning, backend="loops")(1.0, rng)
    with pytest.raises(UnsupportedError, match="RandomState"):
        s2s.grad(scaled_noise, backend="loops")(np.ones(3), np.random.RandomState(0))


def negative_scale(x, rng):
    return rng.normal(0.0, x)


def test_a_negative_scale_is_numpys_error() -> None:
    with pytest.raises(ValueError, match="scale < 0"):
        s2s.grad(negative_scale, backend="loops")(-1.0, np.random.default_rng(0))


WRONG = {
    "poisson(x)": "lam < 0", "binomial(5, 1.0 - x)": "p < 0", "beta(x, 2.0, 3)": "a <= 0",
    "standard_gamma(x)": "shape < 0", "gamma(np.array([1.0, x]))": "shape < 0",
    "chisquare(x)": "df <= 0", "geometric(x)": "p <= 0", "zipf(x)": "a <= 1",
    "triangular(0.0, x, 2.0)": "left > mode", "normal(0.0, np.array([1.0, x]))": "scale < 0",
    "integers(5, 2)": "low >= high", "weibull(-2.0)": "a < 0",
}  # fmt: skip


@pytest.mark.parametrize("call", WRONG)
def test_parameters_out_of_range_are_numpys_errors(call: str, tmp_path: Any) -> None:
    import importlib.util

    file = tmp_path / "wrong_draw.py"
    file.write_text(f"import numpy as np\n\n\ndef f(x, rng):\n    return rng.{call}\n")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for f in (module.f, s2s.function(module.f, backend="loops")):
        with pytest.raises(ValueError, match=WRONG[call]):
            f(-1.0, np.random.default_rng(0))
