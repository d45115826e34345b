"""Guards are checked as written."""

from __future__ import annotations

import types

import numpy as np
import pytest

import s2s
from s2s.call.guards import PathResolver, failed_guard_text, write_enter
from s2s.transforms.frontend.kernel_interface import ObjectGuard, Param
from s2s.transforms.frontend.pytree import describe, leaf_type, spec_leaves
from s2s.transforms.ir.symbolic_dims import Dim, Guard, floordiv, max0, remainder, slice_length

number = 3
weights = np.ones(2)


def function(x, y, o=None):
    return number, weights


def made(args, guards=(), object_guards=(), lifted=(), holders=()):
    """A hand-made specialisation for `function`: its parameters and guards."""
    specs = {n: describe(a) for n, a in zip("xyo", args)}
    params = [
        Param(path[0][1], path, leaf, leaf_type(leaf, path[0][1]))
        for n, s in specs.items()
        for path, leaf in spec_leaves(s, (("arg", n),))
    ]
    reach = PathResolver(function, ("x", "y", "o"))
    for path in lifted:
        spec = describe(reach.value(args, path))
        params.append(Param("lifted", path, spec, leaf_type(spec, "lifted")))
    compiled = types.SimpleNamespace(
        params=params, guards=guards, object_guards=object_guards, holders=holders
    )
    return compiled, reach, write_enter(compiled, reach, specs, args)


x0, x1, y0 = (Dim.of(s) for s in ("x.0", "x.1", "y.0"))


@pytest.mark.parametrize(
    "guard, fits, unfit",
    [
        (Guard("equal", x0, y0), (3, 4, 3), (2, 4, 3)),
        (Guard("one", x1), (3, 1, 3), (3, 2, 3)),
        (Guard("least", x0 + 1, y0), (3, 1, 4), (3, 1, 5)),
        (Guard("equal", x0 * x1, y0 + 1), (2, 3, 5), (2, 3, 6)),
        (Guard("equal", max0(x0 - 5), y0), (2, 1, 0), (6, 1, 0)),
        (Guard("equal", floordiv(x0, x1), y0), (7, 2, 3), (8, 2, 3)),
        (Guard("equal", remainder(x0, x1), y0), (7, 2, 1), (8, 2, 1)),
        (Guard("equal", slice_length(x0, x1, None, Dim.of(3)), y0), (8, 2, 2), (9, 2, 2)),
    ],
)
def test_sizes(guard, fits, unfit):
    def arguments(sizes):
        return (np.ones(sizes[:2]), np.ones(sizes[2]), None)

    compiled, reach, enter = made(arguments(fits), [guard])
    assert len(enter(arguments(fits))) == 2
    assert enter(arguments(unfit)) is None
    assert "sizes" in failed_guard_text(compiled, reach, arguments(unfit))


def test_integer_values_in_guards():
    compiled, _, enter = made((3, np.ones(3), None), [Guard("equal", Dim.of("x"), y0)])
    assert enter((3, np.ones(3), None)) is not None
    assert enter((4, np.ones(3), None)) is None


class Thing:
    pass


@pytest.mark.parametrize(
    "kind, expected, other",
    [
        ("equals", 3, 4),
        ("equals", 1, True),
        ("equals", "a", "b"),
        ("is", function, len),
        ("is", 7, 8),
        ("type", list, ()),
        ("length", 2, [1]),
        ("keys", ("a", "b"), {"b": 1, "a": 2}),
    ],
)
def test_objects(kind, expected, other):
    good = {"type": [], "length": [1, 2], "keys": {"a": 1, "b": 2}}.get(kind, expected)
    thing = Thing()
    thing.v = good
    path = (("arg", "o"), (".", "v"))
    compiled, reach, enter = made(
        (1.0, 2.0, thing), object_guards=[ObjectGuard(path, kind, expected)]
    )
    assert enter((1.0, 2.0, thing)) == (1.0, 2.0)
    thing.v = other
    assert enter((1.0, 2.0, thing)) is None
    assert "o.v" in failed_guard_text(compiled, reach, (1.0, 2.0, thing))
    del thing.v
    assert enter((1.0, 2.0, thing)) is None


def test_what_several_paths_share_is_reached_once():
    class Counted:
        asked = 0

        @property
        def variables(self):
            self.asked += 1
            return [weights, weights]

    path = (("arg", "o"), (".", "variables"))
    items = [(*path, ("[]", k)) for k in range(2)]
    guards = [ObjectGuard(path, "length", 2), *(ObjectGuard(i, "is", weights) for i in items)]
    thing = Counted()
    _, _, enter = made((1.0, 2.0, thing), object_guards=guards, lifted=items)
    thing.asked = 0
    assert enter((1.0, 2.0, thing))[2:] == (weights, weights)
    assert thing.asked == 1


def test_holders_that_are_one_object_are_refused():
    holders = [(("arg", "x"),), (("arg", "o"),)]
    thing, other = Thing(), Thing()
    _, _, enter = made((thing, 2.0, other), holders=holders)
    assert enter((thing, 2.0, other)) == (2.0,)
    assert enter((thing, 2.0, thing)) is None


def test_lifted_values_are_read_anew_and_keep_their_type(monkeypatch):
    _, _, enter = made((1.0, 2.0, None), lifted=[(("global", "weights"),)])
    assert enter((1.0, 2.0, None))[2] is weights
    other = np.zeros(5)
    monkeypatch.setitem(globals(), "weights", other)
    assert enter((1.0, 2.0, None))[2] is other
    monkeypatch.setitem(globals(), "weights", other.astype(np.float32))
    assert enter((1.0, 2.0, None)) is None
    monkeypatch.delitem(globals(), "weights")
    assert enter((1.0, 2.0, None)) is None


class Rated:
    rate = 2.0

    def __init__(self, x):
        self.x = x

    @classmethod
    def by_class(cls, x):
        return x * cls.rate

    def by_type(self, x):
        return x * type(self).rate

    def scaled(self):
        return self.x * self.rate


class Doubled(Rated):
    def scaled(self):
        return super().scaled() + super().rate


RATED, DOUBLED, BARE, SEEN = Rated(1.0), Doubled(3.0), Thing(), {1, 2}


def scaled_by(x, factor=2.0, *, more=0.0):
    return x * factor + more


def divided_by(x, factor=2.0, *, more=0.0):
    return x / factor - more


def thrice(self):
    return 3.0


class Patched:
    def of(self, x):
        return x * 2.0

    def other(self, x):
        return x * 3.0

    def __call__(self, x):
        return x * 4.0

    def __getitem__(self, i):
        return i * 5.0

    def __mul__(self, x):
        return x * 6.0

    @property
    def much(self):
        return 8.0


PATCHED, FRESH = Patched(), Patched()


class Repatched(Patched):
    def of(self, x):
        return x * 7.0


@pytest.mark.parametrize(
    "function, changes",
    [
        (
            lambda x: x * 3.0 if hasattr(BARE, "extra") else x,
            [lambda: setattr(BARE, "extra", 1.0), lambda: delattr(BARE, "extra")],
        ),
        (
            lambda x: x * getattr(BARE, "more", 2.0),
            [lambda: setattr(BARE, "more", 5.0), lambda: delattr(BARE, "more")],
        ),
        (lambda x: Rated.by_class(x), [lambda: setattr(Rated, "rate", 3.0)]),
        (lambda x: RATED.by_class(x), [lambda: setattr(Rated, "rate", 4.0)]),
        (lambda x: RATED.by_type(x), [lambda: setattr(Rated, "rate", 5.0)]),
        (lambda x: Rated(x).scaled(), [lambda: setattr(Rated, "rate", 6.0)]),
        (lambda x: Doubled(x).scaled(), [lambda: setattr(Rated, "rate", 7.0)]),
        (lambda x: DOUBLED.scaled() * x, [lambda: setattr(Rated, "rate", 8.0)]),
        (lambda x: x if 3 in SEEN else 2.0 * x, [lambda: SEEN.add(3), SEEN.clear]),
        (
            lambda x: PATCHED.of(x),
            [
                lambda: setattr(PATCHED, "of", FRESH.other),
                lambda: delattr(PATCHED, "of"),
                lambda: setattr(PATCHED, "__class__", Repatched),
                lambda: setattr(Repatched, "of", Patched.other),
                lambda: setattr(PATCHED, "__class__", Patched),
            ],
        ),
        (
            lambda x: scaled_by(x),
            [
                lambda: setattr(scaled_by, "__defaults__", (3.0,)),
                lambda: setattr(scaled_by, "__kwdefaults__", {"more": 1.0}),
                lambda: setattr(scaled_by, "__code__", divided_by.__code__),
            ],
        ),
        (lambda x: PATCHED(x), [lambda: setattr(Patched, "__call__", Patched.other)]),
        (lambda x: PATCHED[x], [lambda: setattr(Patched, "__getitem__", Patched.other)]),
        (lambda x: PATCHED * x, [lambda: setattr(Patched, "__mul__", Patched.other)]),
        (lambda x: PATCHED.much * x, [lambda: setattr(Patched, "much", property(thrice))]),
    ],
)
def test_what_was_decided_is_decided_again_when_it_changes(function, changes):
    compiled = s2s.function(function, backend="loops")
    for change in (lambda: None, *changes):
        change()
        assert compiled(2.0) == compiled(2.0) == function(2.0)


chosen = np.tanh
wanted = np.float32


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_names_of_functions_of_libraries_may_come_to_mean_others(backend, monkeypatch):
    """Functions of libraries do not change, but a name for one may be rebound."""
    holder = types.SimpleNamespace(function=np.tanh)
    enclosed = np.tanh

    def by_global(x):
        return chosen(x)

    def by_attribute(x):
        return holder.function(x)

    def by_closure(x):
        return enclosed(x)

    def dtype(x):
        return x.astype(wanted)

    functions = [s2s.function(f, backend=backend) for f in (by_global, by_attribute, by_closure)]
    gradient = s2s.grad(lambda x: np.sum(holder.function(x)), backend=backend)
    x = np.arange(3.0)
    for library in (np.tanh, np.sin, np.negative, np.tanh):
        monkeypatch.setitem(globals(), "chosen", library)
        holder.function = enclosed = library
        for f in functions:
            for _ in range(3):
                np.testing.assert_allclose(f(x), library(x), rtol=1e-14)
        slope = (library(x + 1e-6) - library(x - 1e-6)) / 2e-6
        np.testing.assert_allclose(gradient(x), slope, rtol=1e-8)
    cast = s2s.function(dtype, backend=backend)
    for kind in (np.float32, np.float64, np.int64):
        monkeypatch.setitem(globals(), "wanted", kind)
        assert all(cast(x).dtype == kind for _ in range(3))


def test_what_was_a_list_may_become_a_number():
    held = types.SimpleNamespace(value=[1.0])

    def f(x):
        return x * (1.0 if held.value else 2.0)

    g = s2s.function(f, backend="python")
    for value in ([1.0], None, np.bool_(True), [], 3.0, {}):
        held.value = value
        assert g(1.0) == f(1.0)


def one_path(A, x, sign):
    u = x
    if sign > 0:
        u = A @ x
    return np.sum(np.tanh(u))


def again(A, v, n):
    for _ in range(n):
        v = A @ v
    return np.sum(v * v)


def test_sizes_that_two_paths_agree_on_are_relied_on():
    f = s2s.grad(one_path, wrt="x", backend="loops")
    rng = np.random.default_rng(0)
    x = rng.normal(size=3)
    assert "unbroadcast" not in f.source_for(rng.normal(size=(3, 3)), x, 1.0)
    for A in (rng.normal(size=(3, 3)), rng.normal(size=(2, 3)), rng.normal(size=(1, 3))):
        np.testing.assert_allclose(f(A, x, 1.0), A.T @ (1 - np.tanh(A @ x) ** 2))
        np.testing.assert_allclose(f(A, x, -1.0), 1 - np.tanh(x) ** 2)


def test_sizes_that_iterations_agree_on_are_relied_on():
    f = s2s.grad(again, wrt="v", backend="loops")
    A, v = np.arange(4.0).reshape(2, 2), np.ones(2)
    np.testing.assert_allclose(f(A, v, 2), 2 * (A @ A).T @ (A @ A) @ v)
    assert "unbroadcast" not in f.source and "append" not in f.source
    # With at most one iteration the matrix need not be square.
    B = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(f(B, v, 1), 2 * B.T @ B @ v)
    np.testing.assert_allclose(f(B, v, 0), 2 * v)
    with pytest.raises(ValueError):
        f(B, v, 2)


def blurred(x, k):
    width = x.shape[0] - k.shape[0] + 1
    out = np.zeros(max(width, 0))
    for i in range(k.shape[0]):
        out = out + x[i : i + width] * k[i]
    return np.sum(out * out)


def test_slices_that_a_counter_moves_out_of_the_array_are_another_program():
    gradient = s2s.grad(blurred, backend="loops")
    k = np.array([1.0, 2.0, 3.0])
    for n in (7, 4, 3, 9):
        x = np.arange(1.0, n + 1)
        full = np.convolve(x, k[::-1], "valid")
        np.testing.assert_allclose(gradient(x, k), 2 * np.convolve(full, k))
    assert gradient.explain(np.ones(5), k).recompiled.count == 1
    # the stop -1 of a slice is relative to the end of the array: the empty slice has gradient 0
    assert not gradient(np.ones(1), k).any()
    assert (
        "a relation of sizes (x.0 + 1 >= k.0)" in gradient.explain(np.ones(1), k).recompiled.reason
    )
