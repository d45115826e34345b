"""Assignments to attributes and items of non-local objects are applied after the call."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.objects.compiler_hints import built_last, built_now, looks_only

BACKENDS = ("loops", "python")


@dataclass
class State:
    position: Any
    steps: int = 0


class Momentum:
    """A user-defined optimizer: counters, slots in a dict, in-place updates of arrays."""

    def __init__(self) -> None:
        self.t = 0
        self.rate = 0.5
        self.slots = {"v": np.zeros(3)}
        self.last = 0.0

    def step(self, w: Any, g: Any) -> Any:
        self.t += 1
        self.rate = self.rate * 0.9
        self.slots["v"] = 0.9 * self.slots["v"] + g
        w -= self.rate * self.slots["v"]
        self.last = np.sum(w)
        return self.last * self.t


def replay(calls: int) -> tuple[Any, Any, list[Any]]:
    optimizer, w = Momentum(), np.ones(3)
    return optimizer, w, [optimizer.step(w, np.arange(3.0)) for _ in range(calls)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_object_is_written_as_in_python(backend: str) -> None:
    optimizer, w = Momentum(), np.ones(3)
    step = s2s.function(optimizer.step, backend=backend)
    values = [step(w, np.arange(3.0)) for _ in range(4)]
    other, other_w, other_values = replay(4)
    np.testing.assert_allclose(values, other_values)
    np.testing.assert_allclose(w, other_w)
    assert (optimizer.t, type(optimizer.t)) == (other.t, int)
    assert (optimizer.rate, type(optimizer.rate)) == (pytest.approx(other.rate), float)
    np.testing.assert_allclose(optimizer.slots["v"], other.slots["v"])
    np.testing.assert_allclose(optimizer.last, other.last)


def test_counters_do_not_recompile_for_ever() -> None:
    optimizer = Momentum()
    step = s2s.function(optimizer.step, backend="loops")

    def made() -> int:
        return sum(len(e) for e in step._specialiser("primal").entries.values())

    before = made()
    for _ in range(12):
        step(np.ones(3), np.ones(3))
    # The second is for `last`, a Python number at first and a NumPy number from then on.
    assert made() - before == 2 and optimizer.t == 12


def test_gradient_has_the_same_effects() -> None:
    state = State(np.array([1.0, 2.0]))

    @s2s.value_and_grad(wrt="k", backend="loops")
    def move(state: State, k: float) -> Any:
        state.position = state.position * k
        state.steps += 1
        return np.sum(state.position**2)

    value, slope = move(state, 3.0)
    assert (value, slope, state.steps) == (45.0, 30.0, 1)
    np.testing.assert_allclose(state.position, [3.0, 6.0])
    assert move(state, 1.0)[0] == 45.0 and state.steps == 2


def test_effects_in_branches_and_loops() -> None:
    def f(log: dict[str, Any], xs: Any) -> Any:
        for x in xs:
            if x > log["best"]:
                log["best"] = x
                log["count"] += 1
        return xs.sum()

    log = {"best": 0.0, "count": 0}
    s2s.function(f, backend="loops")(log, np.array([0.5, 2.0, 1.0, 3.0]))
    assert log == {"best": 3.0, "count": 3}


def test_new_keys_and_items() -> None:
    def f(cache: dict[str, Any], pair: list[Any], x: float) -> float:
        cache["square"] = x * x
        pair[1] = (x, x + 1.0)
        return x

    cache: dict[str, Any] = {}
    pair = [1.0, 2.0]
    s2s.function(f, backend="loops")(cache, pair, 3.0)
    assert cache == {"square": 9.0} and pair == [1.0, (3.0, 4.0)]


def test_what_is_read_after_a_write_is_what_was_written() -> None:
    class Counter:
        n = 0.0

        def bump(self) -> float:
            self.n = self.n + 1.0
            return self.n

    counter = Counter()

    def f(x: float) -> float:
        counter.n = x
        return counter.bump() * counter.bump()

    assert s2s.function(f, backend="loops")(2.0) == 3.0 * 4.0
    assert counter.n == 4.0
    slope = s2s.grad(f, backend="loops")(2.0)
    assert slope == 7.0 and counter.n == 4.0


def test_an_array_handed_over_is_the_array_itself() -> None:
    holder: dict[str, Any] = {"x": None}

    def f(holder: dict[str, Any], x: Any) -> Any:
        holder["x"] = x
        return x.sum()

    x = np.ones(2)
    s2s.function(f, backend="loops")(holder, x)
    assert holder["x"] is x


def test_nothing_is_set_when_an_error_is_raised() -> None:
    def f(d: dict[str, Any], x: float) -> float:
        d["x"] = x
        if x < 0.0:
            raise ValueError("negative")
        return x

    d = {"x": 0.0}
    with pytest.raises(ValueError, match="negative"):
        s2s.function(f, backend="loops")(d, -1.0)
    assert d == {"x": 0.0}


def test_one_object_under_two_names_is_refused() -> None:
    def f(a: dict[str, Any], b: dict[str, Any]) -> Any:
        a["x"] = 2.0
        return b["x"]

    d = {"x": 1.0}
    with pytest.raises(ValueError, match="a and b are one object"):
        s2s.function(f, backend="loops")(d, d)
    assert s2s.function(f, backend="loops")(d, {"x": 5.0}) == 5.0


def test_appending_is_refused() -> None:
    def f(losses: list[Any], x: float) -> float:
        losses.append(x)
        return x

    with pytest.raises(s2s.UnsupportedError, match="changing the length of a list") as error:
        s2s.function(f, backend="loops")([], 1.0)
    assert error.value.source_line.strip() == "losses.append(x)"


def test_compiled_by_numba() -> None:
    optimizer, w = Momentum(), np.ones(3)
    step = s2s.function(optimizer.step)
    values = [step(w, np.arange(3.0)) for _ in range(2)]
    np.testing.assert_allclose(values, replay(2)[2])


class Counter:
    n = 0.0


COUNT = Counter()


def test_an_attribute_carried_through_a_loop() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            COUNT.n += x[i]
            total += COUNT.n * x[i]
        return total

    x = np.array([0.5, -1.0, 2.0])
    COUNT.n = 1.0
    got = s2s.grad(f, backend="loops")(x)
    np.testing.assert_allclose(COUNT.n, 2.5)
    # d/dx of sum_i x_i (1 + sum_{j <= i} x_j)
    np.testing.assert_allclose(got, 1.0 + x.sum() + x)


class Part:
    """A layer that is built at the first call, for the size of its input."""

    seen = 0

    def __init__(self, broken: bool = False) -> None:
        self.broken, self.ready, self.built = broken, False, 0

    @built_now
    def build(self, size: int) -> None:
        if self.broken:
            raise ValueError("a part that cannot be built")
        self.ready, self.built = True, self.built + 1
        self.weight: Any = np.full(size, 2.0)

    def __call__(self, x: Any) -> Any:
        if not self.ready:
            self.build(x.shape[0])
        count(x)
        return x * self.weight


@looks_only
def count(_: Any) -> None:
    Part.seen += 1


def test_objects_are_built_in_one_pass() -> None:
    parts = [Part() for _ in range(6)]

    @s2s.function(backend="loops")
    def through(x):
        for part in parts:
            x = part(x)
        return parts[0](x)

    Part.seen = 0
    assert through(np.ones(3)).tolist() == [128.0] * 3
    assert [part.built for part in parts] == [1] * 6
    assert Part.seen == 2 * 7  # one pass to build, one to compile


class Stepper:
    """An object that is built late and has a counter."""

    def __init__(self) -> None:
        self.slots: Any = ()
        self.steps = 0

    @built_last("steps")
    def build(self, size: int) -> None:
        assert not self.slots
        self.slots = (np.zeros(size),)

    def __call__(self, x: Any) -> Any:
        if len(self.slots) == 0:
            self.build(x.shape[0])
        count(x)
        self.steps += 1
        self.slots[0][:] = self.slots[0] + x
        return self.slots[0] / self.steps


def test_what_is_built_late_is_compiled_anew_at_once() -> None:
    part, first, second = Part(), Stepper(), Stepper()

    @s2s.function(backend="loops")
    def through(x):
        return second(first(part(x)))

    Part.seen = 0
    for steps in range(1, 4):
        assert through(np.ones(3)).tolist() == [2.0] * 3
        assert first.steps == second.steps == steps
    assert first.slots[0].tolist() == [6.0] * 3
    # Up to the first late build, up to the second one, and to the end.
    assert Part.seen == 1 + 2 + 3


def test_an_object_that_cannot_be_built_says_so() -> None:
    parts = [Part(), Part(broken=True)]

    @s2s.function(backend="loops")
    def through(x):
        return parts[1](parts[0](x))

    with pytest.raises(ValueError, match="a part that cannot be built"):
        through(np.ones(3))


def test_a_container_that_is_reached_twice_is_one() -> None:
    class Owner:
        def __init__(self, numbers: list[float]) -> None:
            self.numbers = numbers

    numbers = [1.0, 2.0]
    a, b = Owner(numbers), Owner(numbers)

    @s2s.function(backend="loops")
    def f(x: float) -> float:
        a.numbers[0] = x
        return b.numbers[0] + a.numbers[1]

    assert f(5.0) == 7.0 and numbers == [5.0, 2.0]
    b.numbers = [10.0, 20.0]
    assert f(3.0) == 12.0 and numbers == [3.0, 2.0] and b.numbers == [10.0, 20.0]
    b.numbers = numbers
    assert f(4.0) == 6.0


def test_objects_with_attributes_of_their_own_making() -> None:
    class Settings(dict[str, Any]):
        __getattr__ = dict.__getitem__

    class Lazy:
        def __init__(self) -> None:
            self.known = {"rate": 0.5}

        def __getattr__(self, name: str) -> Any:
            return self.known[name]

    settings, lazy = Settings(rate=2.0, name="a"), Lazy()
    space = types.SimpleNamespace(count=1, inner=types.SimpleNamespace(rate=3.0))

    def f(x: float) -> float:
        space.count += 1
        space.inner.rate = space.inner.rate * x
        return x * settings.rate * settings["rate"] * lazy.rate * space.count

    compiled = s2s.function(f, backend="loops")
    assert compiled(2.0) == 8.0 and (space.count, space.inner.rate) == (2, 6.0)
    settings["rate"] = 1.0
    lazy.known["rate"] = 2.0
    assert compiled(2.0) == 12.0 and (space.count, space.inner.rate) == (3, 12.0)
    with pytest.raises(AttributeError, match="nothing"):
        s2s.function(lambda x: x * lazy.nothing, backend="loops")(1.0)


@pytest.mark.parametrize("backend", ["loops", "python"])
def test_an_array_set_in_a_branch_is_the_array_itself(backend: str) -> None:
    best = Best()

    @s2s.function(backend=backend)
    def keep(x, size):
        if size < best.size:
            best.size = size
            best.x = x
        else:
            best.worse = x * 2.0
        return size * 1.0

    first, x, y = best.x, np.ones(2), np.ones(2)
    keep(x, 1.0)
    assert best.x is x and best.size == 1.0 and best.worse is not x
    keep(y, 2.0)
    assert best.x is x and best.worse.tolist() == [2.0, 2.0]
    keep(y, 0.5)
    assert best.x is y and first.tolist() == [0.0, 0.0]


class Best:
    def __init__(self) -> None:
        self.size, self.x, self.worse = 9.0, np.zeros(2), np.zeros(2)


@pytest.mark.parametrize("backend", ["python", "loops"])
def test_no_check_overtakes_a_write_that_the_caller_sees(backend):
    def f(a, b, x, j):
        t = np.exp(x)
        a[0] = 5.0
        q = b[j]
        u = x * q + t
        return np.sum(u * t) + np.sum(t)

    a = np.zeros(3)
    with pytest.raises(IndexError):
        s2s.function(f, backend=backend)(a, np.zeros(3), np.ones((2, 3)), 7)
    assert a[0] == 5.0
