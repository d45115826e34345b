"""Properties that a call stub does not check in every call are covered by other checks."""

from __future__ import annotations

import abc
import types
from typing import Any, Protocol

import numpy as np
import pytest

import s2s
from s2s.backends.native.native_loader import same_items
from s2s.errors import MISS
from s2s.objects.change_counter import Announces

pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S2S_BACKEND", raising=False)


def check(f: Any, python: Any, *args: Any) -> None:
    for _ in range(2):
        np.testing.assert_array_equal(f(*args), python(*args))


def test_arrays_of_variables_that_are_replaced() -> None:
    v = s2s.Variable(np.arange(3.0))

    def python(x: Any) -> Any:
        return np.sum(v * x)

    f = s2s.function(python)
    check(f, python, 2.0)
    v.assign(np.ones(3))
    check(f, python, 2.0)
    for array in (np.full(3, 5.0), np.ones(5), np.ones((2, 2)), np.ones(3, np.float32)):
        v._array = array
        check(f, python, 2.0)
    v._array[0] = 7.0
    check(f, python, 2.0)


def test_lists_of_variables_that_change() -> None:
    parts = [s2s.Variable(np.full(2, float(i))) for i in range(4)]

    def python(x: Any) -> Any:
        total = x
        for k, p in enumerate(parts):
            total = total + np.sum(p) * (k + 1)
        return total

    f = s2s.function(python)
    check(f, python, 1.0)
    parts[1] = s2s.Variable(np.full(2, 9.0))
    check(f, python, 1.0)
    parts[0], parts[2] = parts[2], parts[0]
    check(f, python, 1.0)
    parts.append(s2s.Variable(np.ones(2)))
    check(f, python, 1.0)
    del parts[0]
    check(f, python, 1.0)
    parts[0] = parts[1]
    check(f, python, 1.0)
    parts = [*parts[::-1]]
    check(f, python, 1.0)
    parts = (*parts,)  # type: ignore[assignment]
    check(f, python, 1.0)
    parts = [s2s.Variable(p.numpy()) for p in parts]
    check(f, python, 1.0)


def test_same_items() -> None:
    same, a, b = same_items(), object(), object()
    kept = [a, b]
    assert same(kept, kept) is True and same([a, b], kept) is True and same([], []) is True
    for other in ([b, a], [a], [a, b, a], [], (a, b), "ab", None, 3):
        assert same(other, kept) is False


class Net(Announces):
    def __init__(self) -> None:
        self.scale = 2.0
        self.count = 0
        self.width = 1

    def call(self, x: Any, k: float = 1.0) -> Any:
        return x * self.scale * k

    def other(self, x: Any, k: float = 1.0) -> Any:
        return x + self.scale * k


class Twice(Net):
    def call(self, x: Any, k: float = 1.0) -> Any:
        return x * self.scale * k * 2.0


net = Net()


def run(x: Any) -> Any:
    net.count += 1
    return net.call(x) if net.width == 1 else net.call(x) * 10.0


@pytest.fixture
def fresh():
    global net
    net = Net()
    kept = dict(vars(Net))
    f = s2s.function(run)
    check(f, run, 3.0)
    yield f
    for name in ("call", "other"):
        setattr(Net, name, kept[name])
    if "call" in vars(Twice) and Twice.__bases__ != (Net,):
        Twice.__bases__ = (Net,)


def test_a_method_that_is_replaced_in_its_class(fresh: Any) -> None:
    Net.call = Net.other  # type: ignore[method-assign]
    check(fresh, run, 3.0)


def test_a_method_that_an_object_gets_for_itself(fresh: Any) -> None:
    net.call = types.MethodType(Net.other, net)  # type: ignore[method-assign]
    check(fresh, run, 3.0)
    del net.call
    check(fresh, run, 3.0)


def test_an_object_that_becomes_one_of_another_class(fresh: Any) -> None:
    net.__class__ = Twice
    check(fresh, run, 3.0)


def test_a_function_that_gets_other_code(fresh: Any) -> None:
    before = Net.call.__code__
    Net.call.__code__ = Net.other.__code__
    try:
        check(fresh, run, 3.0)
    finally:
        Net.call.__code__ = before


def test_defaults_that_are_replaced(fresh: Any) -> None:
    Net.call.__defaults__ = (4.0,)
    try:
        check(fresh, run, 3.0)
    finally:
        Net.call.__defaults__ = (1.0,)
    check(fresh, run, 3.0)


@pytest.mark.parametrize("width", [2, 1, 1.0, True, np.int64(1), 10**6, -5, 257])
def test_integers_that_decide(fresh: Any, width: Any) -> None:
    net.width = width
    check(fresh, run, 3.0)
    net.width = 1
    check(fresh, run, 3.0)


def test_large_integers_are_compared_by_value() -> None:
    thing = types.SimpleNamespace(n=100_000)

    def python(x: Any) -> Any:
        return x if thing.n == 100_000 else -x

    f = s2s.function(python)
    check(f, python, 1.0)
    entries = f._specialiser("primal").entries
    for n in (int("100000"), 99_999, int("100000")):
        thing.n = n
        check(f, python, 1.0)
    assert sum(map(len, entries.values())) == 2


def test_attributes_that_a_call_sets(fresh: Any) -> None:
    net.count = 0
    for n in range(1, 4):
        fresh(1.0)
        assert net.count == n and type(net.count) is int
    net.__dict__ = {**vars(net), "count": 10}
    for n in range(11, 14):
        fresh(1.0)
        assert net.count == n
    net.count = 2.5  # type: ignore[assignment]
    fresh(1.0)
    assert net.count == 3.5
    del net.count
    with pytest.raises(AttributeError):
        fresh(1.0)


def test_calls_in_turns() -> None:
    f = s2s.grad(lambda x: np.sum(x * x))
    single, double = np.ones(2, np.float32), np.ones(3)
    for _ in range(3):
        for x in (single, double, 2.0):
            assert f(x).dtype == np.asarray(x).dtype
    assert type(f) is not f._plain and f._shared.calls[0].run(2.0) is not MISS
    assert f(x=double)[0] == 2.0
    with pytest.raises(TypeError):
        f()


def test_bound_methods_have_no_call_of_their_own() -> None:
    class Scale:
        def __init__(self, k: float) -> None:
            self.k = k

        @s2s.function
        def of(self, x: Any) -> Any:
            return x * self.k

    a, b = Scale(2.0), Scale(3.0)
    of_a, of_b = a.of, b.of
    for _ in range(3):
        assert (of_a(1.0), of_b(1.0), Scale.of(a, 1.0), Scale.of(b, 1.0)) == (2, 3, 2, 3)
    assert (of_a(2.0), a.of(2.0)) == (4.0, 4.0)


def test_calls_that_were_written_before_a_method_was_known() -> None:
    free = s2s.function(lambda self, x: x * 2.0)
    assert free(None, 1.0) == free(None, 1.0) == 2.0
    owner: Any = type("Owner", (), {"of": free})()
    assert owner.of(3.0) == owner.of(3.0) == 6.0
    assert free(None, 4.0) == 8.0


class Doubled(Announces):
    factor_of_class: Any = None

    def of(self, x: Any) -> Any:
        return x * 2.0


class Base(Doubled):
    pass


class Mixin:
    pass


class Mixed(Mixin, Doubled):
    pass


def changed_of(self: Any, x: Any) -> Any:
    return x * 3.0


@pytest.mark.parametrize("backend", ["numba", "native"])
@pytest.mark.parametrize("cls", [Doubled, Base, Mixed])
def test_methods_that_are_replaced_in_classes(
    cls: Any, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method is replaced in the class, in a base, in a class without a change counter; or its
    code is."""
    thing = cls()
    f = s2s.function(lambda x: thing.of(x), backend=backend)

    def now() -> Any:
        return [f(4.0) for _ in range(3)]

    assert now() == [8.0] * 3
    for holder in cls.__mro__[:-1]:
        if holder is Announces:
            continue
        had = "of" in vars(holder)
        before = vars(holder).get("of")
        holder.of = changed_of
        assert now() == [4.0 * (3 if type(thing).of is changed_of else 2)] * 3
        if had:
            holder.of = before
        else:
            del holder.of
        assert now() == [8.0] * 3
    code = Doubled.of.__code__
    monkeypatch.setattr(Doubled.of, "__code__", changed_of.__code__)
    assert now() == [12.0] * 3
    monkeypatch.setattr(Doubled.of, "__code__", code)
    assert now() == [8.0] * 3


def test_attributes_of_classes() -> None:
    class Scaled(Doubled):
        kind = "twice"
        power = 1

        def of(self, x: Any) -> Any:
            return x * 2.0**self.power if self.kind == "twice" else x

    thing = Scaled()
    f = s2s.function(lambda x: thing.of(x))

    def now() -> Any:
        return [f(3.0) for _ in range(3)]

    assert now() == [6.0] * 3
    Scaled.kind = "once"
    assert now() == [3.0] * 3
    thing.kind = "twice"
    assert now() == [6.0] * 3
    thing.power = 1
    assert now() == [6.0] * 3
    thing.power = 2
    assert now() == [12.0] * 3
    del thing.power, thing.kind
    assert now() == [3.0] * 3


class Callable(Protocol):
    def call(self, x: Any) -> Any: ...


def test_abstract_classes_can_be_mixed_in() -> None:
    class Abstract(s2s.layers.Layer, abc.ABC):
        @abc.abstractmethod
        def call(self, x: Any) -> Any: ...

    class Concrete(Abstract, Callable):
        def call(self, x: Any) -> Any:
            return x * 2.0

    layer = Concrete()
    assert isinstance(layer, Abstract) and not isinstance(3, Abstract)
    f = s2s.function(lambda x: layer(x))
    assert [f(2.0) for _ in range(3)] == [4.0] * 3
    with pytest.raises(TypeError, match="abstract"):
        Abstract()
