"""`f.explain()`: the statements of the report are true for the program."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.call.tree_copy import map_leaves
from s2s.dispatch.persistent import Recalled
from tests.corpus import load
from tests.corpus.known import KNOWN
from tests.judge import transform

SCALE = 2.0


def explain(function, *args, wrt: Any = 0, make: Any = s2s.grad):
    return make(function, wrt=wrt, backend="python").explain(*args)


def why(report) -> dict[str, str]:
    return {x.name: x.reason for x in report.inactive}


# ---------------------------------------------------------------- activity


def helper(z):
    w = np.sqrt(z)
    return w * w


def model(x, y, n, mode, unused=0.0):
    h = np.tanh(x) * SCALE
    for _ in range(n):
        h = h * helper(h + 2.0)
    return np.sum(h * y)


def test_active_variables_and_their_lines():
    report = explain(model, np.ones(3), np.ones(3), 2, "fast")
    first = model.__code__.co_firstlineno
    assert report.wrt == ("x",) and report.arguments == ["x"]
    found = {v.name: (v.inside, [p.line for p in v.places]) for v in report.active}
    assert found["h"] == ("", [first + 1, first + 3])
    assert found["w"][0].endswith(f":{helper.__code__.co_firstlineno} helper")
    assert "n" not in found and "y" not in found


def test_arguments_that_were_not_asked_for():
    report = explain(model, np.ones(3), np.ones(3), 2, "fast")
    assert why(report) == {
        "y": "is not in wrt",
        "n": "is int",
        "mode": "is no number or array (str)",
        "unused": "is not in wrt",
        "SCALE": "a global: a constant here",
    }
    assert all(x.gradient == "" for x in report.inactive)


def test_integer_arrays_are_named_as_such():
    report = explain(lambda x, i: x[i].sum(), np.ones(3), np.array([0, 2]))
    assert why(report) == {"i": "is an array of int64"}


def floor(x, z):
    return np.floor(z) * x


def stop(x, z):
    return x * s2s.stop_gradient(z)


def compared(x, z):
    return x * x if z > 1.0 else x


def looped(x, z):
    while x < z:
        x = x * 2.0
    return x


def as_index(x, z):
    return x[int(z)]


def as_integer(x, z):
    return x * int(z)


def lost(x, z):
    t = z * 2.0
    t = t + 1.0
    return x


def never(x, z):
    return x


def by_shape(x, z):
    return x * z.shape[0] + np.sum(np.zeros_like(z))


def by_position(x, z):
    return x * np.argmax(z)


def both(x, z):
    return x * np.floor(z) if z > 1.0 else x


@pytest.mark.parametrize(
    "function, x, z, reason",
    [
        (floor, 1.0, 1.5, "only through np.floor, whose derivative is 0 (L{1})"),
        (stop, 1.0, 1.5, "only through s2s.stop_gradient (L{1})"),
        (compared, 1.0, 1.5, "only in a comparison (L{1})"),
        (looped, 1.0, 1.5, "only in a comparison (L{1})"),
        (as_index, np.ones(3), 1.5, "only as an index (L{1})"),
        (as_integer, 1.0, 1.5, "only converted to int (L{1})"),
        (lost, 1.0, 1.5, "does not reach the result (what L{1} computes from it is not used)"),
        (never, 1.0, 1.5, "is never read"),
        (by_shape, 1.0, np.ones(3), "only by its shape (L{1})"),
        (by_position, 1.0, np.ones(3), "only through argmax, which gives ints (L{1})"),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)
def test_why_a_gradient_is_zero(function, x, z, reason):
    line = function.__code__.co_firstlineno
    report = explain(function, x, z, wrt=("x", "z"))
    found = {i.name: i for i in report.inactive}
    assert found["z"].gradient == "0"
    assert found["z"].reason.endswith(reason.replace("L{1}", f"L{line + 1}"))
    assert "x" in report.arguments
    z_bar = s2s.grad(function, wrt="z", backend="python")(x, z)
    assert np.all(z_bar == 0)


def test_two_ways_that_pass_no_derivative():
    reason = why(explain(both, 1.0, 1.5, wrt=("x", "z")))["z"]
    assert "in a comparison" in reason and " and " in reason and "np.floor" in reason


@dataclass
class Parameters:
    W: Any
    name: str
    parts: Any


def structured(p, x):
    return np.sum(p.W * x) + np.floor(p.parts[1])


def test_parts_of_structured_arguments():
    p = Parameters(np.ones(2), "first", (1.0, 2.0))
    report = explain(structured, p, np.ones(2))
    assert report.arguments == ["p.W"]
    found = {x.name: (x.gradient, x.reason) for x in report.inactive}
    assert found["p.name"] == ("None", "is no number or array (str)")
    assert found["p.parts[0]"] == ("0", "is never read")
    assert found["p.parts[1]"][0] == "0" and "np.floor" in found["p.parts[1]"][1]
    gradient = s2s.grad(structured, backend="python")(p, np.ones(2))
    assert gradient.name is None and gradient.parts == (0.0, 0.0)


# ---------------------------------------------------------------- memory


def repeated(x, n):
    h = x
    for _ in range(n):
        h = np.sin(h) * h
    return h.sum()


def test_bytes_per_iteration_and_in_all():
    report = explain(repeated, np.ones(5), 7)
    for s in report.saved:
        assert s.per_iteration.formula == "8 * x.shape[0]" and s.per_iteration.number == 40
        assert (s.iterations.formula, s.iterations.number) == ("n", 7)
        assert s.total.number == 280
        (loop,) = s.loops
        assert loop.place.text == "for _ in range(n):"
    assert report.saved and report.saved_bytes == 280 * len(report.saved)


def test_sizes_follow_the_arguments_and_their_dtype():
    report = explain(repeated, np.ones(6, np.float32), 2)
    assert {s.per_iteration.formula for s in report.saved} == {"4 * x.shape[0]"}
    assert {s.total.number for s in report.saved} == {48}


def triangle(x, n):
    for i in range(n):
        for _ in range(i, n):
            x = x * np.sin(x)
    return x


def test_triangular_loops_are_counted():
    report = explain(triangle, 0.5, 4)
    assert {s.iterations.formula for s in report.saved} == {"n * (n - i)"}
    assert {s.iterations.number for s in report.saved} == {10}


def endless(x):
    k = 0
    while x > 0.1 and k < 100:
        x = x * np.cos(x) * 0.5
        k += 1
    return x


def test_of_a_while_loop_only_the_iteration_is_known():
    report = explain(endless, 0.5)
    assert report.saved_bytes is None
    assert {s.per_iteration.number for s in report.saved if s.kind == "stack"} == {8}
    assert all(s.total is None for s in report.saved if s.kind == "stack")
    assert "as often as the loop runs" in str(report)


def test_linear_loops_save_nothing():
    def heat(u, n):
        u = u.copy()
        for _ in range(n):
            u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        return u.sum()

    report = explain(heat, np.ones(8), 3)
    assert report.saved == [] and "Saved for the adjoint sweep: nothing" in str(report)


def kept(x):
    h = x * 2.0
    s = np.sum(np.sin(h))
    h[0] = 5.0
    return s + np.sum(h)


def test_copies_count_as_saved():
    report = explain(kept, np.ones(4))
    source = s2s.grad(kept, backend="python").source_for(np.ones(4))
    copied = [s for s in report.saved if s.kind == "copy"]
    assert [s.name in source and s.total.number for s in copied] == [32] * source.count("h.copy()")


def network(W, x):
    h = np.tanh(x @ W)
    first = h[0]
    return np.mean(h * h) + np.sum(first)


def test_arrays_that_are_kept():
    report = explain(network, np.ones((5, 2)), np.ones((3, 5)))
    assert report.saved == []
    (h,) = report.kept
    assert (h.name, h.kind, h.total.formula) == ("h", "kept", "8 * x.shape[0] * W.shape[1]")
    assert "Kept in memory until then, without a copy: 48 B" in str(report)


def test_what_is_recomputed():
    report = explain(model, np.ones(3), np.ones(3), 2, "fast")
    line = helper.__code__.co_firstlineno
    found = {r.name: (r.why, r.place.line) for r in report.recomputed}
    assert found == {"w": ("cheap", line + 1), "w * w": ("cheap", line + 2)}


@s2s.checkpoint
def layer(x):
    return np.sin(np.sin(x) * 2.0)


def test_checkpoints_are_recomputed():
    report = explain(lambda x: layer(x) * x, 0.5)
    (r,) = [r for r in report.recomputed if r.why == "checkpoint"]
    assert r.expression == "layer(x)"


def long(x, n):
    for _ in s2s.checkpoint(range(n), snapshots=5):
        x = np.sin(x) * x
    return x.sum()


def test_loops_under_a_checkpoint():
    report = explain(long, np.ones(10), 1000)
    (s,) = [s for s in report.saved if s.kind == "snapshots"]
    assert (s.name, s.total.number) == ("x", 400)
    (r,) = [r for r in report.recomputed if r.why == "checkpoint"]
    assert r.place.line == long.__code__.co_firstlineno + 1


def fall(x, depth):
    return x if depth <= 0 else np.sin(fall(x * 0.9, depth - 1))


def test_recursive_calls_are_not_recomputed():
    report = explain(lambda x, d: fall(x, d), 0.5, 3)
    assert not report.recomputed


# ---------------------------------------------------------------- compilation


def test_why_it_was_compiled_again():
    state = {"n": 2, "flag": "a"}

    def f(x):
        return x * state["n"] if state["flag"] == "a" else x

    g = s2s.grad(f, backend="python")
    assert str(g.explain(1.0)).endswith("Not compiled yet")
    g(1.0)
    assert g.explain().recompiled.count == 1 and g.explain().recompiled.reason == ""
    state["flag"] = "b"
    assert "state['flag'] ('a' before, 'b' now)" in g.explain(1.0).recompiled.again
    g(1.0)
    r = g.explain().recompiled
    assert (r.count, r.again) == (2, "")
    assert r.reason == "what changed is state['flag'] ('a' before, 'b' now)"
    g(np.float32(1.0))
    assert g.explain().recompiled.reason == "x is float32, and was float before"


def test_sizes_that_were_related():
    g = s2s.grad(lambda x, y: np.sum(x * y), backend="python")
    g(np.ones(3), np.ones(3))
    g(np.ones(3), np.ones(1))
    assert "sizes" in g.explain().recompiled.reason


def test_types_inside_containers():
    g = s2s.grad(lambda p: np.sum(p["W"]) * p["b"], backend="python")
    g({"W": np.ones(3), "b": 1.0})
    g({"W": np.ones((3, 3)), "b": 1.0})
    reason = g.explain().recompiled.reason
    assert reason == "p['W'] is float64[:, :], and was float64[:] before"


# ---------------------------------------------------------------- every object


@pytest.mark.parametrize("make", [s2s.jvp, s2s.vjp, s2s.hvp], ids=lambda m: m.__name__)
def test_derivatives_in_a_direction(make):
    g = make(repeated, backend="python")
    direction = 1.0 if make is s2s.vjp else np.ones(4)
    g(np.ones(4), direction, 3)
    report = g.explain()
    assert report.arguments == ["x"] and [v.name for v in report.active] == ["h"]
    assert why(report) == {"n": "is int"}
    assert bool(report.saved) == (make is not s2s.jvp)


def test_gradients_of_gradients():
    inner = s2s.grad(lambda x, k: x**3 * k, backend="python")
    report = s2s.grad(lambda x, k: inner(x, k) * x, backend="python").explain(2.0, 1.0)
    assert report.arguments == ["x"] and why(report) == {"k": "is not in wrt"}


def test_functions_without_a_derivative():
    f = s2s.function(repeated, backend="python")
    f(np.ones(3), 2)
    assert not f.explain().derivative
    assert "No derivative is taken" in str(f.explain())


def test_derivatives_taken_inside():
    def f(x):
        slope = s2s.grad(endless)(x)
        return slope * 2.0

    report = s2s.function(f, backend="python").explain(0.5)
    assert report.derivative and report.saved
    assert "x" in [v.name for v in report.active]


def test_why_a_tape_gives_none():
    w, b = s2s.Variable(np.ones(3)), s2s.Variable(np.zeros(3))

    def step(x):
        with s2s.GradientTape() as tape:
            loss = np.sum(w * x) + np.sum(np.floor(b))
        g = tape.gradient(loss, [w, b, x])
        return loss, g[0], g[1] is None, g[2] is None

    f = s2s.function(step, backend="python")
    assert f(np.ones(3))[2:] == (True, True)
    report = f.explain()
    line = step.__code__.co_firstlineno
    found = {x.name: (x.gradient, x.reason, x.place.line) for x in report.inactive}
    floor = f"reaches the result only through np.floor, whose derivative is 0 (L{line + 2})"
    assert found == {
        "b": ("None", floor, line + 3),
        "x": ("None", "is not watched by the tape", line + 3),
    }
    assert f"x  gradient None in L{line + 3}: is not watched by the tape" in str(report)


def test_jacobians():
    report = s2s.jacobian(lambda x, k: np.sin(x) * k, backend="python").explain(np.ones(2), 3.0)
    assert report.arguments == ["x"] and why(report) == {"k": "is not in wrt"}


class Model:
    def __init__(self):
        self.scale = 2.0

    @s2s.grad(wrt="x", backend="python")
    def loss(self, x):
        return np.sum(x * self.scale)


def test_methods():
    m = Model()
    m.loss(np.ones(3))
    report = m.loss.explain()
    assert report.arguments == ["x"]
    assert why(report) == {"self": "is no number or array (Model)", "self.scale": "is not in wrt"}


def test_before_the_first_call():
    with pytest.raises(TypeError, match="has not been called yet"):
        s2s.grad(repeated, static_argnames="n", backend="python").explain()


def test_explaining_changes_nothing():
    g = s2s.grad(repeated, backend="python")
    g(np.ones(3), 2)
    before, source = len(g._specialiser("vjp").entries), g.source
    x = np.ones(3, np.float32)
    g.explain(x, 2)
    assert len(g._specialiser("vjp").entries) == before and g.source == source
    assert repr(g.explain()) == str(g.explain()) == str(g.explain(np.ones(3), 2))


def test_the_arguments_are_not_kept_alive():
    g = s2s.grad(lambda x: np.sum(x * x), backend="python")
    g(np.ones(100_000))
    entry = g._specialiser("vjp").latest
    assert entry.example[0].shape == (100_000,) and entry.example[0].base.nbytes == 8


def warm(x, n):
    for _ in range(n):
        x = x * np.sin(x)
    return x.sum()


def test_after_a_warm_start():
    """Code loaded from disk, which this process did not translate, is explained as well."""
    pytest.importorskip("numba")
    texts = []
    for _ in range(2):
        vars(warm).pop("__s2s__", None)
        g = s2s.grad(warm, backend="numba")
        g(np.ones(3), 2)
        texts.append(str(g.explain()))
    assert isinstance(g._specialiser("vjp").latest.compiled, Recalled)
    assert texts[0] == texts[1] and "8 * x.shape[0] bytes = 24 B" in texts[0]


# ---------------------------------------------------------------- threads


def loops_of_all_kinds(x, steps):
    y = x * 1.0
    for _ in range(steps):
        y = np.sin(y) * x
    for i in range(1, x.shape[0]):
        y[i] = y[i] + np.cos(y[i - 1])
    return np.sum(y)


def test_what_runs_on_threads(monkeypatch):
    monkeypatch.setattr("s2s.runtime.thread_pool.thread_count", lambda: 2)
    f = s2s.function(loops_of_all_kinds)
    assert f.explain(np.ones(100), 3).threads == []
    report = f.explain(np.ones(1_000_000), 3)
    lines = {row.line.partition(": ")[2]: row.why_not for row in report.threads}
    assert lines["y = np.sin(y) * x"] == ""
    assert "may touch the same elements of y" in lines["for i in range(1, x.shape[0])"]
    assert "On threads\n" in str(report) and "in order: iterations" in str(report)
    assert "parallel=False" in str(
        s2s.function(loops_of_all_kinds, parallel=False).explain(np.ones(1_000_000), 3)
    )
    monkeypatch.setattr("s2s.runtime.thread_pool.thread_count", lambda: 1)
    assert "(this process has one core)" in str(f.explain(np.ones(1_000_000), 3))


# ---------------------------------------------------------------- a sample of the corpus

SAMPLE = [case for case in load().values() if case.gradient and case.name not in KNOWN][::60]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_what_is_said_to_be_zero_is_zero(case):
    f = transform(case, "python")
    args, kwargs = case.arguments(case.trips[-1], np.float64)
    report = f.explain(*args, **kwargs)
    assert max(map(len, str(report).splitlines())) <= 88
    zero = {x.name for x in report.inactive if x.gradient == "0"}
    _, gradients = f(*args, **kwargs)
    for name, gradient in zip(case.wrt, (gradients,) if case.single else gradients):
        assert name not in zero or not np.any(gradient)


# A `while` may wait forever for a NaN to become small.
ENDING = [case for case in SAMPLE if "while" not in inspect.getsource(case.function)]


@pytest.mark.parametrize("case", ENDING, ids=lambda case: case.name)
def test_bad_arguments_are_found(case):
    args, kwargs = case.arguments(case.trips[-1], np.float64)
    spoil = functools.partial(map_leaves, change=_nan)
    with s2s.debug_nans(), np.errstate(all="ignore"):
        try:
            transform(case, "python")(*spoil(args), **kwargs)
        except FloatingPointError as error:
            assert "NaN" in str(error) and "not found" not in str(error)
        except (ValueError, IndexError, AssertionError):
            pass  # the program itself raises


def _nan(leaf):
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f":
        return np.full_like(leaf, np.nan)
    return float("nan") if type(leaf) is float else leaf
