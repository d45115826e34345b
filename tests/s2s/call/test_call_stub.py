"""Call stubs return the results of the general path, and miss calls that they do not match."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import s2s
from s2s.errors import MISS
from s2s.inspect import debug_nans
from s2s.layers import Dense
from s2s.models import Sequential
from s2s.objects.change_counter import Announces, changes
from s2s.objects.variable_versions import tapes
from s2s.optimizers import SGD


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S2S_BACKEND", raising=False)


def counted(function: Any) -> list[int]:
    """The number of calls that took the general path."""
    count = [0]
    slowly = type(function)._slow_path

    def spy(self: Any, args: Any, kwargs: Any) -> Any:
        if self._shared is function._shared:
            count[0] += 1
        return slowly(self, args, kwargs)

    function.__class__ = type("Spied", (type(function),), {"_slow_path": spy})
    return count


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Point:
    x: Any
    y: Any


def product(p: Any, q: Any) -> Any:
    return np.sum(p * q)


def of_structures(p: Any, t: Any, d: Any, z: Any) -> Any:
    return np.sum(p.a * p.b) + t[0] * t[1][0] + np.sum(d["w"] * z.x) + z.y


def test_a_second_call_is_written_out_for_all_sizes_and_the_same_types() -> None:
    f = s2s.value_and_grad(product)
    count = counted(f)
    for n in (3, 3, 5, 0, 1):
        x = np.arange(n, dtype=float)
        value, gradient = f(x, x + 1)
        assert value == np.sum(x * (x + 1)) and type(value) is np.float64
        np.testing.assert_array_equal(gradient, x + 1)
    assert count[0] <= 2


@pytest.mark.parametrize(
    "other",
    [
        np.ones(3, np.float32), np.ones((2, 3)), 2.0, np.ones(6)[::2], [1.0, 2.0],
        np.array(2.0), "text",
    ],
    ids=["dtype", "rank", "number", "strided", "list", "scalar array", "string"],
)  # fmt: skip
def test_what_does_not_fit_is_left_to_the_general_path(other: Any) -> None:
    f = s2s.function(product)
    x = np.arange(3.0)
    for _ in range(2):
        assert f(x, x) == 5.0
    if isinstance(other, (list, str)):
        with pytest.raises((ValueError, s2s.UnsupportedError)):
            f(x, other)
    else:
        for _ in range(2):
            np.testing.assert_allclose(f(x, other), product(x, other))
    assert f(x, x) == 5.0


def test_wrong_numbers_of_arguments() -> None:
    f = s2s.function(product)
    f(np.ones(2), np.ones(2))
    with pytest.raises(TypeError):
        f(np.ones(2))
    with pytest.raises(TypeError):
        f(np.ones(2), np.ones(2), np.ones(2))
    assert f(q=np.ones(2), p=np.ones(2)) == 2.0


def test_structures() -> None:
    f = s2s.grad(of_structures, wrt=("p", "d", "z"))
    count = counted(f)
    x = np.arange(3.0)
    for k in range(3):
        args = Pair(x + k, x), (2.0, [3.0]), {"w": x + 1}, Point(x, 1.5)
        p, d, z = f(*args)
        np.testing.assert_array_equal(p.b, x + k)
        np.testing.assert_array_equal(d["w"], x)
        np.testing.assert_array_equal(z.x, x + 1)
        assert type(p) is Pair and type(z) is Point and z.y == 1.0
    assert count[0] == 1
    with pytest.raises((IndexError, KeyError)):
        f(Pair(x, x), (2.0, [3.0, 4.0]), {"v": x}, Point(x, 1.5))


def test_static_arguments_and_bound_methods() -> None:
    class Power:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @s2s.grad(wrt="x", static_argnames="n")
        def of(self, x: Any, n: Any) -> Any:
            for _ in range(n):
                x = x * self.scale
            return np.sum(x)

    one, two = Power(2.0), Power(3.0)
    for _ in range(2):
        for owner in (one, two):
            for n in (1, 2):
                np.testing.assert_array_equal(owner.of(np.ones(2), n), owner.scale**n)
    one.scale = 5.0
    assert one.of(np.ones(1), 2) == 25.0


class Gate(Announces):
    def __init__(self) -> None:
        self.open = True
        self.steps = 0
        self.parts = [1.0, 2.0]
        self.weight = np.ones(2)


gate = Gate()


class Plain:
    def __init__(self) -> None:
        self.open = True
        self.steps = 0
        self.parts = [1.0, 2.0]
        self.weight = np.ones(2)


plain = Plain()


@pytest.mark.parametrize("owner", ["gate", "plain"])
def test_every_change_of_an_object_is_seen(owner: str) -> None:
    thing: Any = globals()[owner]
    thing.__init__()

    def announced(x: Any) -> Any:
        gate.steps += 1
        total = np.sum(x * gate.weight) if gate.open else 0.0
        for part in gate.parts:
            total = total + part
        return total

    def silent(x: Any) -> Any:
        plain.steps += 1
        total = np.sum(x * plain.weight) if plain.open else 0.0
        for part in plain.parts:
            total = total + part
        return total

    python = announced if owner == "gate" else silent
    f = s2s.function(python)
    x = np.ones(2)

    def check() -> None:
        for _ in range(2):
            thing.steps = 0
            want = python(x)
            assert thing.steps == 1
            assert f(x) == want
            assert thing.steps == 2 and type(thing.steps) is int

    check()
    thing.open = False
    check()
    thing.open = True
    thing.parts.append(4.0)
    check()
    thing.parts = [7.0]
    check()
    thing.parts[0] = 8.0
    check()
    thing.weight = np.full(2, 3.0)
    check()
    thing.weight[0] = 9.0
    check()
    thing.weight = np.full(2, 3, np.float32)
    check()


class Aloof(Announces):
    def __init__(self) -> None:
        self.open = True

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value


class Holder(Announces):
    def __init__(self) -> None:
        self.both = (Plain(), [1.0], {"k": 2.0})


aloof, holder = Aloof(), Holder()


def test_a_class_that_sets_attributes_in_its_own_way_announces_nothing() -> None:
    def f(x: Any) -> Any:
        return np.sum(x) if aloof.open else 0.0

    g = s2s.function(f)
    for opened in (True, True, False, True, False):
        aloof.open = opened
        assert g(np.ones(2)) == f(np.ones(2))


def test_what_is_in_a_tuple_may_change() -> None:
    def f(x: Any) -> Any:
        thing, numbers, table = holder.both
        total = np.sum(x * thing.weight) if thing.open else np.sum(x) * table["k"]
        for part in (*thing.parts, *numbers):
            total = total + part
        return total * 2 if "more" in table else total

    g = s2s.function(f)
    thing, numbers, table = holder.both

    def check() -> None:
        for _ in range(2):
            assert g(np.ones(2)) == f(np.ones(2))

    check()
    thing.open = False
    check()
    thing.parts.append(3.0)
    check()
    numbers.append(4.0)
    check()
    numbers[0] = 5.0
    check()
    table["k"] = 3.0
    check()
    table["more"] = 1.0
    check()


def test_numbers_in_place_of_numbers_are_not_announced() -> None:
    before = changes[0]
    gate.steps = 12
    assert changes[0] == before
    gate.steps = 1.5  # type: ignore[assignment]
    assert changes[0] == before + 1
    gate.steps = 0
    del gate.steps
    assert changes[0] == before + 3
    gate.__init__()


def test_layers_that_change() -> None:
    model = s2s.Sequential([s2s.layers.Dense(2, input_shape=(3,))])

    @s2s.function
    def step(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.sum(model(x) ** 2)
        return tape.gradient(loss, model.trainable_variables)

    x = np.ones((4, 3), np.float32)
    for _ in range(2):
        assert [g.shape for g in step(x)] == [(3, 2), (2,)]
    model.layers[0].trainable = False
    assert list(step(x)) == []
    model.layers[0].trainable = True
    model.layers[0].kernel.trainable = False
    assert [g.shape for g in step(x)] == [(2,)]
    model.layers[0].kernel.trainable = True
    model.layers[0] = s2s.layers.Dense(5, input_shape=(3,))
    for _ in range(2):
        assert [g.shape for g in step(x)] == [(3, 5), (5,)]


def scale(x: Any, y: Any) -> Any:
    x *= 2.0
    x += y
    return np.sum(x)


def test_overlap_is_found_by_the_kernel() -> None:
    f = s2s.function(scale)
    x, y = np.arange(4.0), np.ones(4)
    f(x, y)
    f(x, y)
    np.testing.assert_array_equal(x, [3, 7, 11, 15])
    with pytest.raises(ValueError, match="overlap in memory"):
        f(x[:2], x[1:3])
    np.testing.assert_array_equal(x, [3, 7, 11, 15])
    # Interleaved arrays share no element, though the ends of their memory overlap.
    z = np.arange(8.0)
    strided = s2s.function(scale)
    for _ in range(2):
        z[:] = range(8)
        strided(z[::2], z[1::2])
        np.testing.assert_array_equal(z, [1, 1, 7, 3, 13, 5, 19, 7])
    back = np.arange(8.0)
    with pytest.raises(ValueError, match="overlap in memory"):
        strided(back[::-2], back[:4])
    f(np.ones(0), np.ones(0))


@pytest.mark.parametrize("backend", ["loops", "numba", "python"])
def test_a_read_only_array_is_not_written_back(backend: str) -> None:
    def maybe(x: Any, t: Any) -> Any:
        if t > 2.0:
            x[1] *= t
        return t * np.sum(x)

    x = np.asfortranarray(np.ones((3, 2)))
    x.flags.writeable = False
    f = s2s.value_and_grad(maybe, wrt="t", backend=backend)
    for _ in range(2):
        assert f(x, 1.5) == (9.0, 6.0)
    with pytest.raises(ValueError, match="read-only"):
        f(x, 2.5)


def test_errors_are_the_users() -> None:
    @s2s.function
    def f(x: Any, i: Any) -> Any:
        x[0] += 1.0
        if i < 0:
            raise TypeError("no negative i")
        return x[i]

    x = np.zeros(3)
    assert f(x, 1) == 0.0
    with pytest.raises(IndexError):
        f(x, 3)
    with pytest.raises(TypeError, match="no negative i"):
        f(x, -1)
    assert x[0] == 3.0  # each call ran once


def test_the_backend_may_be_chosen_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    f = s2s.function(product)
    x = np.ones(2)
    for _ in range(2):
        f(x, x)
    (call,) = f._shared.calls
    assert call.run(x, x) == 2.0
    monkeypatch.setenv("S2S_BACKEND", "loops")
    assert call.run(x, x) is MISS
    assert f(x, x) == 2.0


def test_debugging_and_tapes_are_served() -> None:
    f = s2s.grad(lambda x: np.sum(np.sqrt(x)))
    f(np.ones(2))
    with debug_nans.debug_nans(), pytest.raises(FloatingPointError):
        f(np.zeros(2))
    w = s2s.Variable(3.0)

    @s2s.function
    def double() -> Any:
        w.assign(w * 2.0)
        return w + 0.0

    assert double() == 6.0
    assert double() == 12.0
    with s2s.GradientTape() as tape:
        y = w**2
    assert tapes
    double()
    assert tape.gradient(y, w) == 24.0


def test_classes_of_users_get_methods_of_their_own() -> None:
    """Also if they had a method of this package before."""

    class Own(Dense):
        pass

    def scaled(self: Any, x: Any, training: Any = None) -> Any:
        return self.call(x) * 3.0

    layer = Own(2)
    x = np.ones((3, 4), np.float32)
    layer(x)
    f = s2s.function(lambda x: layer(x), backend="numba")
    before = [f(x) for _ in range(4)][-1]
    Own.__call__ = scaled  # type: ignore[assignment]
    np.testing.assert_allclose(f(x), 3.0 * before, rtol=1e-6)
    del Own.__call__
    np.testing.assert_allclose(f(x), before, rtol=1e-6)
    Own.call = lambda self, x: x @ self.kernel - 1.0  # type: ignore[assignment]
    np.testing.assert_allclose(f(x), x @ layer.kernel.numpy() - 1.0, rtol=1e-6)


def test_classes_of_users_get_properties_of_their_own() -> None:
    class Own(Sequential):
        pass

    def first(self: Any) -> Any:
        return self.layers[0].trainable_variables

    model, optimizer = Own([Dense(3), Dense(2)]), SGD(0.1)
    x = np.ones((3, 4), np.float32)
    model(x)

    @s2s.function(backend="numba")
    def step(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.sum(model(x) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    for _ in range(4):
        step(x)
    Own.trainable_variables = property(first)  # type: ignore[assignment]
    before = [v.numpy().copy() for v in model.variables]
    step(x)
    same = [np.array_equal(v.numpy(), b) for v, b in zip(model.variables, before)]
    assert same == [False, False, True, True]
