"""Calls that stay calls: which do, how many variants a function has, and that numbers agree."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.nodes import Module
from s2s.transforms.specialise import Specialised, specialise
from tests import oracle

R = np.random.default_rng(0)


def specialised(f: Callable[..., Any], *args: Any) -> Specialised:
    values = dict(zip(inspect.signature(f).parameters, args))
    return specialise(f, {k: describe(v) for k, v in values.items()}, values, keep=True)


def names(module: Module) -> list[str]:
    return [name for name in module.functions if name != module.entry]


def reasons(f: Callable[..., Any], *args: Any) -> dict[str, str | None]:
    return dict(specialised(f, *args).decisions)


def check(monkeypatch: pytest.MonkeyPatch, f: Callable[..., Any], *args: Any) -> None:
    """Value and gradient with calls that stay calls, against finite differences."""
    want = oracle.finite_differences(f, args, {}, tuple(inspect.signature(f).parameters)[:1])
    for mode in ("keep", "keep+inline"):
        monkeypatch.setenv("S2S_CALLS", mode)
        for backend in ("loops", "python"):
            value, gradient = s2s.value_and_grad(f, backend=backend)(*args)
            oracle.assert_close(value, f(*args), 1e-12, f"value, {mode}, {backend}")
            oracle.assert_close((gradient,), want, 1e-6, f"gradient, {mode}, {backend}")


# ---------------------------------------------------------------- sizes


def dense(x, W, b):
    z = x @ W + b
    return np.tanh(z)


def network(params, x):
    h = x
    for W, b in params:
        h = dense(h, W, b)
    return np.mean(h * h)


def layers(*sizes: int) -> list[Any]:
    return [(R.normal(size=(m, n)), R.normal(size=n)) for m, n in zip(sizes, sizes[1:])]


def test_layers_of_different_sizes_are_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    args = layers(4, 5, 5, 3), R.normal(size=(7, 4))
    made = specialised(network, *args)
    assert names(made.module) == ["dense"]
    needs = made.module.functions["dense"].notes["needs"]
    assert [str(g) for g in needs] == ["#0.1 == #1.0", "#1.1 == #2.0"]
    guards = {str(g) for g in made.facts.guards}
    assert {"x.1 == params_0_0.0", "params_0_0.1 == params_0_1.0"} <= guards
    check(monkeypatch, network, *args)


def add(x, y):
    z = x + y
    return z * x


def sums(x, y, z):
    return np.sum(add(x, y)) + np.sum(add(x, z)) + np.sum(add(y, z))


@pytest.mark.parametrize(
    ("shapes", "count"),
    [(((4,), (4,), (4,)), 1), (((4,), (1,), (4,)), 3), (((1,), (1,), (1,)), 1)],
)
def test_relations_of_sizes_are_variants(
    shapes: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = tuple(R.normal(size=s) for s in shapes)
    assert len(names(specialised(sums, *args).module)) == count
    check(monkeypatch, sums, *args)


def test_the_relations_may_change_from_call_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """One transformed function, arguments of several sizes."""
    monkeypatch.setenv("S2S_CALLS", "keep")
    f = s2s.value_and_grad(sums, wrt=(0, 1, 2), backend="loops")
    for shapes in ((4, 4, 4), (4, 1, 4), (1, 1, 1), (3, 3, 3), (1, 4, 4), (4, 4, 1)):
        args = tuple(R.normal(size=s) for s in shapes)
        value, gradients = f(*args)
        oracle.assert_close(value, sums(*args), 1e-12, str(shapes))
        want = oracle.finite_differences(sums, args, {}, ("x", "y", "z"))
        oracle.assert_close(gradients, want, 1e-6, str(shapes))


def test_at_most_eight_variants() -> None:
    def f(x):
        return sum(np.sum(rows(x, np.ones(x.shape[:1] + (1,) * k))) for k in range(10))

    def rows(x, y):
        z = x[:, 0]
        return z.sum() * y

    made = specialised(f, R.normal(size=(3, 2)))
    assert len(names(made.module)) == 8
    assert [why for _, why in made.decisions].count("more than 8 variants") == 2


def half(x):
    n = x.shape[0] // 2
    return x[:n] + x[n : 2 * n]


def test_sizes_of_results_are_in_terms_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        y = half(half(x))
        return np.sum(y * y)

    x = R.normal(size=13)
    made = specialised(f, x)
    call = next(s for s in made.module.main.body if hasattr(s, "function"))
    assert str(call.targets[0].type.shape[0]) == "len(range(x.0)[:(x.0) // (2)])"
    check(monkeypatch, f, x)


# ---------------------------------------------------------------- what is inlined


BUFFER = np.zeros(3)


def write(x):
    BUFFER[0] = x[0]
    return x.sum()


def identity(x):
    y = x
    return y


RNG = np.random.default_rng(0)


def draw(x):
    y = x * RNG.normal()
    return y


def factorial(x, n):
    return x if n == 0 else factorial(x, n - 1) * n


class Counter:
    def __init__(self) -> None:
        self.calls = 0


COUNTER = Counter()


def counted(x):
    COUNTER.calls = 1
    return x * 2.0


@pytest.mark.parametrize(
    ("callee", "why"),
    [
        (write, "may not write into it"),
        (identity, "may share memory"),
        (draw, "random generator"),
        (counted, "write into a container from outside"),
        (lambda x: x + 1.0, "a lambda"),
    ],
)
def test_why_a_call_is_inlined(callee: Any, why: str) -> None:
    def f(x):
        y = x * 1.0
        return np.sum(callee(y))

    made = specialised(f, np.ones(3))
    assert not names(made.module)
    ((_, reason),) = made.decisions
    assert reason is not None and why in reason


def noisy(x):
    y = x * np.random.normal(size=3)
    return np.tanh(y) * np.random.normal()


def test_draws_of_numpys_own_generator_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return np.sum(noisy(x) * noisy(x * 2.0))

    x = np.array([0.3, 0.5, 0.7])
    assert names(specialised(f, x).module) == ["noisy"]
    found: list[Any] = []
    for mode in ("inline", "keep", "keep+inline"):
        monkeypatch.setenv("S2S_CALLS", mode)
        for backend in ("python", "loops"):
            np.random.seed(7)
            found.append(s2s.value_and_grad(f, backend=backend)(x))
    np.random.seed(7)
    for value, gradient in found:
        oracle.assert_close(value, found[0][0], 1e-12, "value")
        oracle.assert_close(gradient, found[0][1], 1e-12, "gradient")
    oracle.assert_close(found[0][0], f(x), 1e-12, "value")


def test_a_recursion_of_known_depth_is_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return factorial(x, 3) * dense(x * np.ones((1, 1)), np.ones((1, 1)), np.ones(1))[0, 0]

    made = specialised(f, 0.5)
    assert names(made.module) == ["dense"]
    assert ("factorial", "a recursion that is unrolled") in made.decisions
    check(monkeypatch, f, 0.5)


def test_a_program_that_cannot_keep_its_calls_is_inlined() -> None:
    """The caller needs to know a number that the callee computes."""

    def count(x):
        n = len(x.shape) + 1
        return n * 1

    def f(x):
        return np.sum(np.ones((2,) * count(x)) * x)

    made = specialised(f, np.ones(2))
    assert made.module.main.results


# ---------------------------------------------------------------- arrays that are written


def fill(out, x, k):
    out[k] = x[k] * x[k]
    out[0] += np.sin(x[k])


def scale(a, s):
    if s > 1.0:
        a *= s
    return a.sum()


def through(out, x):
    fill(out, x, 0)
    fill(out[1:], x, 1)


def whole_and_views(x):
    out = np.zeros(x.shape[0])
    tail = out[2:]
    fill(out, x, 1)
    fill(tail, x, 0)
    fill(out[::-1], x * 2.0, 3)
    through(out, x)
    s = scale(out, 3.0) + scale(out[1:3], np.sum(x))
    return np.sum(out * out * x) + s + tail[0]


def in_a_loop(x):
    rows = np.zeros((3, x.shape[0]))
    for i in range(3):
        fill(rows[i], x * (i + 1.0), 1)
    return np.sum(rows * rows)


def shared(x):
    y = x * 1.0
    fill(y, y, 1)
    fill(y[1:], y[:-1], 0)
    return np.sum(y * y)


@pytest.mark.parametrize("f", [whole_and_views, in_a_loop, shared])
def test_written_arguments(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, f, np.array([0.3, 0.5, 0.7, 0.9]))


def test_a_function_that_writes_takes_its_arrays_for_distinct_ones() -> None:
    decisions = specialised(shared, np.ones(4)).decisions
    assert len(decisions) == 2 and all("may share memory" in str(why) for _, why in decisions)
    made = specialised(whole_and_views, np.ones(4))
    assert {"fill", "scale"} <= {*names(made.module)}, "the views do not overlap an argument"


def test_the_argument_of_the_program_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(a, x):
        fill(a, x, 1)
        return np.sum(a * a)

    x = np.array([0.3, 0.5])
    want = np.array([1.0, 2.0])
    value = f(want, x)
    for mode in ("keep", "keep+inline"):
        monkeypatch.setenv("S2S_CALLS", mode)
        for backend in ("loops", "python"):
            a = np.array([1.0, 2.0])
            assert s2s.function(f, backend=backend)(a, x) == pytest.approx(value)
            np.testing.assert_allclose(a, want)


@pytest.mark.parametrize("mode", ["inline", "keep", "keep+inline"])
def test_a_read_only_argument_is_not_written(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_CALLS", mode)

    def f(a, x):
        fill(a, x, 1)
        return np.sum(a * a)

    a = np.array([1.0, 2.0])
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only") as error:
        s2s.function(f, backend="loops")(a, np.ones(2))
    assert str(error.value) == "assignment destination is read-only"
    np.testing.assert_array_equal(a, [1.0, 2.0])


# ---------------------------------------------------------------- closures, methods, structures


class Cell:
    def __init__(self, w: Any) -> None:
        self.w = w

    def step(self, h, x):
        z = h @ self.w + x
        return np.tanh(z), z


CELL = Cell(R.normal(size=(3, 3)))


def scan(h, xs):
    def out(h):
        s = h * scale
        return s.sum()

    scale = xs[0, 0] + 1.0
    total = 0.0
    for t in range(xs.shape[0]):
        h, z = CELL.step(h, xs[t])
        total += out(h) + z[0]
    return total


def test_methods_and_closures_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    args = R.normal(size=3), R.normal(size=(4, 3))
    assert sorted(names(specialised(scan, *args).module)) == ["out", "step"]
    check(monkeypatch, scan, *args)
    check(monkeypatch, scan, args[0], np.zeros((1, 3)))


def test_a_module_is_the_same_every_time() -> None:
    args = layers(4, 5, 5), R.normal(size=(2, 4))
    texts = {str([*specialised(network, *args).module.functions]) for _ in range(2)}
    assert len(texts) == 1
