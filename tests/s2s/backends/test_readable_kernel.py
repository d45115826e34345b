"""`backend="python"` runs the readable source on the user's objects."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.backends.readable_kernel import ReadableKernel

BACKENDS = ("loops", "python")
X = np.array([1.0, 2.0, 3.0])


def counting(state, x):
    state.count += 1
    state.rate = state.rate * 0.5
    state.last = (x * state.rate, {"n": state.count})
    return np.sum(x) / state.zero


def fresh() -> Any:
    return SimpleNamespace(count=0, rate=1.0, last=None, zero=0.0)


def test_what_it_sets_and_in_which_types() -> None:
    states = [fresh() for _ in BACKENDS]
    for state, backend in zip(states, BACKENDS):
        f = s2s.function(counting, backend=backend)
        for _ in range(3):
            assert f(state, X) == np.inf  # as in compiled code
        assert (state.count, state.rate) == (3, 0.125)
        assert type(state.count) is int and type(state.rate) is float
        np.testing.assert_allclose(state.last[0], X * 0.125)
        assert state.last[1] == {"n": 3}


def swapped(pair, x):
    pair.a, pair.b = pair.b, pair.a
    return np.sum(pair.a * x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_that_change_places(backend: str) -> None:
    a, b = X.copy(), X + 1.0
    pair = SimpleNamespace(a=a, b=b)
    f = s2s.function(swapped, backend=backend)
    np.testing.assert_allclose(f(pair, X), np.sum(b * X))
    assert pair.a is b and pair.b is a
    f(pair, X)
    assert pair.a is a and pair.b is b


@dataclasses.dataclass
class Model:
    W: Any
    name: str
    gain: float


def loss(model, x):
    return np.sum(np.tanh(model.W @ x) * model.gain)


def test_gradients_have_the_structure_of_the_argument() -> None:
    model = Model(np.eye(3), "linear", 2.0)
    one, other = (s2s.value_and_grad(loss, backend=backend)(model, X) for backend in BACKENDS)
    np.testing.assert_allclose(one[0], other[0])
    assert type(other[1]) is Model and other[1].name == one[1].name
    np.testing.assert_allclose(one[1].W, other[1].W)
    np.testing.assert_allclose(one[1].gain, other[1].gain)


def test_stand_ins_for_values_that_objects_do_not_hold_any_more() -> None:
    """A tape in plain Python replays its block with the values that it had then."""
    variable = s2s.Variable(X)
    with s2s.GradientTape() as tape:
        y = np.sum(variable * variable)
    variable.assign(X * 10.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("S2S_BACKEND", "python")
        np.testing.assert_allclose(tape.gradient(y, variable), 2.0 * X)


def of_a_sum(a, b):
    return np.sum(np.tanh(a + b))


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_share_no_memory(backend: str) -> None:
    """The text returns one array for both."""
    f = s2s.grad(of_a_sum, wrt=("a", "b"), backend=backend)
    first, second = f(X, X + 1.0)
    before = second.copy()
    np.testing.assert_array_equal(first, before)
    first *= 2.0
    np.testing.assert_array_equal(second, before)


class Own(np.ndarray):
    pass


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_plain_arrays(backend: str) -> None:
    """Those of compiled kernels are, where Variables and subclasses yield arrays of a subclass."""
    variable = s2s.Variable(X)
    holder = SimpleNamespace(last=None)

    def f(x):
        holder.last = variable * x
        return variable * 2.0, {"v": variable.numpy()}, x + 1.0, x[0]

    doubled, held, more, number = s2s.function(f, backend=backend)(X.view(Own))
    assert [*map(type, (doubled, held["v"], more, holder.last))] == [np.ndarray] * 4
    assert type(number) is np.float64
    np.testing.assert_array_equal(holder.last, X * X)


def test_a_kernel_alone() -> None:
    f = s2s.function(counting, backend="loops")
    f(fresh(), X)
    specialiser, bound = f._bind("primal", (fresh(), X), {})
    entry, params = specialiser.find(bound, "python")
    kernel = entry.kernel("python", params)
    assert isinstance(kernel, ReadableKernel)
    results = kernel(params, None)
    assert all(found is not None for found in results)
