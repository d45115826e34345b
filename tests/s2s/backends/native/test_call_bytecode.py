"""Calls by bytecode (plans): they apply if and only if nothing has changed."""

from __future__ import annotations

import copy
import functools
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.api import functions
from s2s.backends.native.call_vm import is_vm_layout_known
from s2s.errors import MISS
from s2s.objects.change_counter import Announces

pytest.importorskip("numba")
ROOT = Path(__file__).parents[4]
if not is_vm_layout_known():
    pytest.skip("objects are laid out in another way", allow_module_level=True)


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S2S_BACKEND", raising=False)
    monkeypatch.setattr("s2s.call.backend_choice.DEFAULT", "native")


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of calls that reach `Function._in_python`: those that no plan has answered."""
    calls: list[Any] = []
    general = functions.Function._in_python

    def noting(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return general(self, *args, **kwargs)

    monkeypatch.setattr(functions.Function, "_in_python", noting)
    return calls


def settled(f: Any, *args: Any) -> Any:
    """The result of a call by its plan, after several equal calls."""
    for _ in range(3):
        f(*args)
    assert f._plan is not None
    return f(*args)


def square(x: Any) -> Any:
    return x * x + 1.0


class Scale(Announces):
    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.count = 0

    def of(self, x: Any) -> Any:
        return x * self.factor


class Twice(Scale):
    def of(self, x: Any) -> Any:
        return x * self.factor * 2.0


def test_numbers_and_arrays(python: list[Any]) -> None:
    f = s2s.value_and_grad(square)
    value, gradient = settled(f, 1.5)
    assert (value, gradient) == (3.25, 3.0) and type(gradient) is np.float64
    g = s2s.value_and_grad(lambda x, y: np.sum(x * y), wrt=(0, 1))
    x, y = np.arange(3.0), np.ones(3)
    value, (dx, dy) = settled(g, x, y)
    assert value == 3.0 and dx is not y
    np.testing.assert_array_equal(dx, y)
    np.testing.assert_array_equal(dy, x)
    del python[:]
    f(2.0)
    g(x, y)
    assert not python


def test_what_does_not_fit_is_left_to_python(python: list[Any]) -> None:
    f = s2s.grad(lambda x, y=2.0: np.sum(x * x) * y)
    x = np.arange(3.0)
    settled(f, x, 2.0)
    del python[:]
    np.testing.assert_array_equal(f(x.astype(np.float32), 2.0), 4 * x)
    np.testing.assert_array_equal(f(x), 4 * x)
    np.testing.assert_array_equal(f(x, y=1.0), 2 * x)
    np.testing.assert_array_equal(f(x[::2], 2.0), 4 * x[::2])
    np.testing.assert_array_equal(f(x[None], 2.0), 4 * x[None])
    with pytest.raises(TypeError, match="argument"):
        f(x, 2.0, 3.0)
    with pytest.raises(TypeError):
        f()
    with pytest.raises(TypeError):
        f(x, z=3.0)
    assert len(python) == 8


def test_errors_name_the_line() -> None:
    def pick(x: Any, i: Any) -> Any:
        return x[i] * 2.0

    f = s2s.grad(pick)
    x = np.arange(3.0)
    settled(f, x, 1)
    before = [sys.getrefcount(x), sys.getrefcount(f._plan)]
    for _ in range(20):
        with pytest.raises(IndexError) as caught:
            f(x, 5)
        assert "x[i]" in str(caught.value)
    del caught
    assert [sys.getrefcount(x), sys.getrefcount(f._plan)] == before


def test_backends_chosen_from_outside(monkeypatch: pytest.MonkeyPatch, python: list[Any]) -> None:
    f = s2s.grad(square)
    settled(f, 1.5)
    del python[:]
    monkeypatch.setenv("S2S_BACKEND", "python")
    assert f(1.5) == 3.0 and len(python) == 1
    monkeypatch.delenv("S2S_BACKEND")
    assert f(1.5) == 3.0 and len(python) == 1


def test_looking_for_nan() -> None:
    f = s2s.grad(lambda x: np.log(x) * x)
    settled(f, 1.5)
    assert np.isnan(f(-1.0))
    with s2s.debug_nans(), pytest.raises(FloatingPointError):
        f(-1.0)
    assert np.isnan(f(-1.0))


def test_closures_and_globals() -> None:
    scale = Scale(2.0)

    def scaled(x: Any) -> Any:
        return scale.of(x)

    f = s2s.function(scaled)
    assert settled(f, 3.0) == 6.0
    scale = Scale(5.0)
    assert settled(f, 3.0) == 15.0
    scale = Twice(5.0)
    assert settled(f, 3.0) == 30.0


def test_attributes_of_objects_that_announce_changes() -> None:
    scale = Scale(2.0)
    f = s2s.function(lambda x: scale.of(x))
    assert settled(f, 3.0) == 6.0
    plan = f._plan
    scale.factor = 4.0
    assert f(3.0) == 12.0 and f._plan is plan
    scale.factor = 5  # type: ignore[assignment]
    assert settled(f, 3.0) == 15
    scale.factor = np.float32(2.5)  # type: ignore[assignment]
    assert settled(f, 3.0) == 7.5
    scale.of = types.MethodType(lambda self, x: x + self.factor, scale)  # type: ignore[method-assign]
    assert settled(f, 3.0) == 5.5
    del scale.of
    assert settled(f, 3.0) == 7.5
    scale.__dict__ = {"factor": 10.0, "count": 0}
    assert settled(f, 3.0) == 30.0
    scale.factor = 11.0
    assert f(3.0) == 33.0
    scale.__class__ = Twice
    assert settled(f, 3.0) == 66.0


def test_numbers_that_are_part_of_the_program(python: list[Any]) -> None:
    thing = Scale(2.0)
    thing.count = 1000

    def scaled(x: Any) -> Any:
        return thing.of(x) if thing.count == 1000 else x

    f = s2s.function(scaled)
    assert settled(f, 3.0) == 6.0
    thing.count = int("1000")
    del python[:]
    assert f(3.0) == 6.0 and not python
    for other, expected in ((1001, 3.0), (1000, 6.0), (1000.0, 6.0), (True, 3.0), ("1000", 3.0)):
        thing.count = other  # type: ignore[assignment]
        assert f(3.0) == expected


def test_classes_that_change() -> None:
    class Base(Announces):
        def of(self, x: Any) -> Any:
            return x * self.factor  # type: ignore[attr-defined]

    class Thing(Base):
        def __init__(self) -> None:
            self.factor = 2.0

    thing = Thing()
    f = s2s.function(lambda x: thing.of(x))
    assert settled(f, 3.0) == 6.0
    Base.of = lambda self, x: x + self.factor  # type: ignore[assignment, method-assign]
    assert settled(f, 3.0) == 5.0
    Thing.of = lambda self, x: x - self.factor  # type: ignore[assignment, method-assign]
    assert settled(f, 3.0) == 1.0
    Thing.factor = property(lambda self: 100.0, lambda self, value: None)  # type: ignore[attr-defined]
    assert f(3.0) == -97.0
    del Thing.factor, Thing.of  # type: ignore[attr-defined]
    assert settled(f, 3.0) == 5.0


def test_functions_with_new_code() -> None:
    class Thing(Announces):
        def of(self, x: Any) -> Any:
            return x * 2.0

    def other(self: Any, x: Any) -> Any:
        return x * 7.0

    thing = Thing()
    f = s2s.function(lambda x: thing.of(x))
    assert settled(f, 3.0) == 6.0
    Thing.of.__code__ = other.__code__
    assert f(3.0) == 21.0


def test_functions_with_new_defaults() -> None:
    class Thing(Announces):
        def of(self, x: Any, by: Any = 2.0, *, plus: Any = 1.0) -> Any:
            return x * by + plus

    thing = Thing()
    f = s2s.function(lambda x: thing.of(x))
    assert settled(f, 3.0) == 7.0
    Thing.of.__defaults__ = (5.0,)
    assert settled(f, 3.0) == 16.0
    Thing.of.__kwdefaults__ = {"plus": 2.0}
    assert settled(f, 3.0) == 17.0


def test_objects_that_are_called_and_change_class(python: list[Any]) -> None:
    class Once(Announces):
        def __init__(self) -> None:
            self.factor = 2.0

        def __call__(self, x: Any) -> Any:
            return x * self.scale

        @property
        def scale(self) -> Any:
            return self.factor

    class Again(Once):
        def __call__(self, x: Any) -> Any:
            return x * self.scale * 10.0

    thing = Once()
    f = s2s.function(lambda x: thing(x))
    assert settled(f, 3.0) == 6.0
    del python[:]
    assert f(3.0) == 6.0 and not python
    object.__setattr__(thing, "__class__", Again)  # the change counter does not count this
    assert settled(f, 3.0) == 60.0
    Once.scale = property(lambda self: self.factor + 1.0)  # type: ignore[assignment, method-assign]
    assert settled(f, 3.0) == 90.0


def test_attributes_that_change_places() -> None:
    scale = Scale(2.0)
    f = s2s.function(lambda x: scale.of(x))
    assert settled(f, 3.0) == 6.0
    attributes = vars(scale)
    attributes["factor"] = attributes.pop("factor") + 1.0
    assert f(3.0) == 9.0
    attributes.clear()
    with pytest.raises(AttributeError):
        f(3.0)
    attributes.update({str(k): k for k in range(20)}, factor=7.0)
    assert f(3.0) == 21.0


def test_how_objects_with_plans_are_called(python: list[Any]) -> None:
    f = s2s.function(square)
    settled(f, 3.0)
    del python[:]
    assert f(3.0) == f(*[3.0]) == f.__call__(3.0) == functools.partial(f, 3.0)() == 10.0
    assert [*map(f, [1.0, 2.0])] == [2.0, 5.0] and not python

    class Other(functions.Function):
        pass

    class Louder(functions.Function):
        def __call__(self, x: Any) -> Any:
            return super().__call__(x) * 100.0

    g, h = Other(square, f._shared.options), Louder(square, f._shared.options)
    assert settled(g, 3.0) == 10.0 and settled(h, 3.0) == 1000.0


def trained(kind: str) -> tuple[Any, Any, Any]:
    model = s2s.Sequential([s2s.layers.Dense(1)])
    x = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]
    model(x)
    model.set_weights([np.full((1, 1), 0.4, np.float32), np.zeros(1, np.float32)])
    loss_fn = s2s.losses.MeanSquaredError()
    optimizer = {"SGD": s2s.optimizers.SGD, "Adam": s2s.optimizers.Adam}[kind](0.01)

    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step, model, optimizer


@pytest.mark.filterwarnings("ignore:.*leaves dense/bias unchanged")
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_steps_do_what_they_do_in_python(kind: str, python: list[Any]) -> None:
    """Even after changes of rates, slots and layers between the steps."""
    gc.collect()  # tapes of other tests, in reference cycles with exceptions
    x = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]
    y = np.exp(x)
    runs = []
    for backend in ("native", "loops"):
        step, model, optimizer = trained(kind)
        f = s2s.function(step, backend=backend)
        losses = [f(x, y) for _ in range(5)]
        if backend == "native":
            assert f._plan is not None
            del python[:]
            losses.append(f(x, y))
            assert not python
        else:
            losses.append(f(x, y))
        optimizer.learning_rate = 0.1
        losses += [f(x, y) for _ in range(3)]
        model.layers[0].kernel.assign(np.full((1, 1), 3.0, np.float32))
        losses += [f(x, y) for _ in range(3)]
        model.layers[0].use_bias = False
        losses += [f(x, y) for _ in range(3)]
        if kind == "Adam":
            optimizer.slots["m"][0].assign(np.ones((1, 1), np.float32))
            losses += [f(x, y) for _ in range(3)]
        runs.append((losses, optimizer.steps, model.get_weights()))
    (a, steps_a, weights_a), (b, steps_b, weights_b) = runs
    np.testing.assert_allclose(a, b, rtol=1e-4)
    assert steps_a == steps_b
    for one, other in zip(weights_a, weights_b):
        np.testing.assert_allclose(one, other, rtol=1e-4)


def test_steps_beside_a_tape_that_is_alive(python: list[Any]) -> None:
    """A tape must be told of changes, which plans do not do, until they cannot affect it."""
    gc.collect()
    w, other = (s2s.Variable(np.array([1.0, 2.0])) for _ in range(2))

    def halve() -> Any:
        w.assign(w * 0.5)
        return np.sum(w)

    f = s2s.function(halve)
    assert settled(f) == 3.0 * 0.5**4
    del python[:]
    assert f() == 3.0 * 0.5**5 and not python
    w.assign(np.array([3.0, 4.0]))
    with s2s.GradientTape(persistent=True) as tape:
        total = np.sum(w * w)
    assert f() == 3.5 and python  # the tape saves `w`, and has nothing more to save
    f()
    del python[:]
    assert f() == 0.875 and not python
    np.testing.assert_array_equal(tape.gradient(total, w), [6.0, 8.0])
    with s2s.GradientTape() as tape:
        total = np.sum(other * other)
    f()
    del python[:]
    f(), f()
    assert len(python) == 2  # `other` may still change
    del tape
    f()
    del python[:]
    f()
    assert not python


def test_steps_that_are_recalled(tmp_path: Any) -> None:
    """Strings loaded from disk are equal but not identical to those of this process."""
    program = """
        import numpy as np, s2s
        from s2s.api import functions
        from tests.s2s.backends.native.test_call_bytecode import trained
        step, model, optimizer = trained("Adam")
        f = s2s.function(step, backend="native")
        x = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]
        for _ in range(3):
            f(x, x)
        functions.Function._in_python = None
        print(f(x, x), f._plan is not None)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    environment = os.environ | {"S2S_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    first, second = (
        subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    )
    assert first.stdout == second.stdout and "True" in second.stdout


def test_tapes_in_python_see_old_values() -> None:
    v = s2s.Variable(np.ones(3))

    @s2s.function
    def step() -> Any:
        v.assign_sub(v * 0.5)
        return np.sum(v)

    settled(step)
    v.assign(np.ones(3))
    with s2s.GradientTape() as tape:
        loss = np.sum(v * v)
    step()
    np.testing.assert_array_equal(tape.gradient(loss, v), 2 * np.ones(3))


def test_nothing_is_kept_or_lost() -> None:
    f = s2s.value_and_grad(lambda x, y: np.sum(x * y), wrt=(0, 1))
    x, y = np.arange(3.0), np.ones(3)
    settled(f, x, y)
    gc.collect()
    things = (x, y, f._plan, MISS, np.dtype(np.float64), True, None)

    def counts() -> list[int]:
        return [sys.getrefcount(t) for t in things]

    before = counts()
    for _ in range(2000):
        f(x, y)
        f(x, 2.0)
    apart = np.subtract(counts(), before)
    assert np.all(abs(apart) < 1000), apart


def test_plans_go_with_their_objects() -> None:
    import weakref

    scale = Scale(2.0)
    alive = weakref.ref(scale)

    def make(scale: Any) -> Any:
        f = s2s.function(lambda x: scale.of(x))
        assert settled(f, 3.0) == 6.0
        return None

    make(scale)
    del scale
    gc.collect()
    assert alive() is None


def test_threads_at_once() -> None:
    f = s2s.grad(lambda x: np.sum(np.sin(x)))
    xs = [np.full(n, float(n)) for n in range(1, 5)]
    settled(f, xs[0])
    wrong: list[int] = []

    def work(x: Any) -> None:
        for k in range(2000):
            if k % 500 == 0:
                f(x.astype(np.float32))
            if not np.allclose(f(x), np.cos(x)):
                wrong.append(len(x))

    workers = [threading.Thread(target=work, args=(x,)) for x in xs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


class Model:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    @s2s.grad
    def energy(self, x: Any) -> Any:
        return self.factor * x * x


def test_methods_and_copies() -> None:
    a, b = Model(1.0), Model(3.0)
    for _ in range(3):
        assert a.energy(2.0) == 4.0 and b.energy(2.0) == 12.0
    bound = copy.deepcopy(a.energy)
    assert bound(2.0) == 4.0
    f = s2s.grad(square)
    settled(f, 1.5)
    assert copy.copy(f) is f and copy.deepcopy(f) is f
    for _ in range(3):
        assert pickle.loads(pickle.dumps(f))(1.5) == 3.0
    assert f.__call__(1.5) == functions.Function.__call__(f, 1.5) == 3.0
    with pytest.raises(TypeError):
        functions.Function.__call__(square, 1.5)  # type: ignore[arg-type]


def test_defaults_and_keywords(python: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments are bound in order; then the call is like any other."""

    def scaled(x: Any, y: Any = 2.0, *, z: Any = 1.0) -> Any:
        return np.sum(x * x) * y * z

    f = s2s.grad(scaled)
    x, out = np.arange(3.0), np.zeros(3)
    for _ in range(3):
        f(x)
    monkeypatch.setattr(functions.Gradient, "_slow_path", None)
    for args, named, factor in [
        ((x,), {}, 4.0), ((x, 3.0), {}, 6.0), ((x,), {"y": 3.0}, 6.0), ((), {"x": x}, 4.0),
        ((x,), {"z": 5.0}, 20.0), ((), {"z": 5.0, "y": 1.0, "x": x}, 10.0),
    ]:  # fmt: skip
        np.testing.assert_array_equal(f(*args, **named), factor * x)
    monkeypatch.undo()
    assert f(x, out=out) is out
    np.testing.assert_array_equal(out, 4.0 * x)
    for args, named in [((), {}), ((x, 1.0, 2.0), {}), ((x,), {"w": 1.0}), ((x,), {"x": x})]:
        with pytest.raises(TypeError, match="scaled"):
            f(*args, **named)


def test_arguments_that_are_gathered() -> None:
    """A tuple in place of the separate arguments is another call."""

    def total(*xs: Any, **named: Any) -> Any:
        return sum(np.sum(x) for x in xs) + sum(named.values())

    f = s2s.function(total)
    for _ in range(3):
        assert f(1.0, 2.0) == 3.0
        assert f(1.0, 2.0, a=4.0) == 7.0
    with pytest.raises(TypeError):
        f((1.0, 2.0), {"a": 4.0})
    pair = s2s.function(lambda *xs: len(xs))
    for _ in range(3):
        assert pair(1.0, 2.0) == 2 and pair((1.0, 2.0)) == 1


def test_containers(python: list[Any]) -> None:
    f = s2s.function(lambda d, t: [d["a"] * t[0], {"s": t[1][0] + d["b"], 3: (t[0],)}, []])
    d, t = {"a": 2.0, "b": 3.0}, (4.0, [5.0])
    expected = [8.0, {"s": 8.0, 3: (4.0,)}, []]
    assert settled(f, d, t) == expected
    del python[:]
    assert f(d, t) == expected and not python
    assert f({"".join("a"): 2.0, str(b"b", "ascii"): 3.0}, t) == expected and not python
    assert f({"b": 3.0, "a": 2.0}, t) == expected and python
    assert f({"a": 2.0, "b": 3.0, "c": 1.0}, t) == expected
    assert f(d, (4.0, [5.0, 6.0])) == expected
    assert f(d, (4.0, (5.0,))) == expected
    assert f(d, [4.0, [5.0]]) == expected
    with pytest.raises(KeyError):
        f({"a": 2.0}, t)


def test_values_that_are_part_of_the_program(python: list[Any]) -> None:
    f = s2s.function(lambda x, how: x + 1 if how is None else x * 2 if how == "twice" else x)
    assert settled(f, 3.0, None) == 4.0
    assert settled(f, 3.0, "twice") == 6.0
    del python[:]
    assert f(3.0, "twice") == 6.0 and not python
    assert f(3.0, "".join(["tw", "ice"])) == 6.0
    assert f(3.0, "once") == 3.0
    assert f(3.0, None) == 4.0


def test_the_latest_specialisation_is_shown() -> None:
    f = s2s.grad(lambda x: np.sum(x * x))
    for _ in range(3):
        for x in (np.ones(2, np.float32), np.ones(3)):
            f(x)
            latest = f._specialiser("vjp").latest
            assert latest.compiled.params[0].type.dtype == str(x.dtype)


def test_signatures() -> None:
    import inspect

    f = s2s.grad(square)
    assert str(inspect.signature(f)) == "(x: 'Any') -> 'Any'"
    assert not hasattr(functions.Function, "__signature__")
    assert "target" in inspect.signature(functions.Function).parameters
    with pytest.raises(AttributeError, match="'Gradient' object has no attribute 'other'"):
        f.other()
