"""What has been asked is not asked again."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower import loop_ir as L
from s2s.transforms.lower.checks import drop_settled

I64 = "int64"
i, k, n = L.Name("i"), L.Name("k"), L.Name("n")


def fail(cond):
    return L.Branch(cond, [L.Fail("IndexError", "out of bounds")])


def beyond(e, stop=n):
    return L.Bin(">=", e, stop, "bool")


def y(index, buffer="y"):
    return L.Load(buffer, (index,), I64)


def loop(*body, var="i", stop=n):
    return L.Loop(var, L.ZERO, stop, L.ONE, list(body))


def dropped(*body, shares=lambda a, b: False):
    return drop_settled(copy.deepcopy(list(body)), shares)


FIRST = loop(L.Let("at", y(i)), fail(beyond(L.Name("at"))))
SECOND = loop(L.Let("at_1", y(k)), fail(beyond(L.Name("at_1"))), L.Put("z", (k,), L.ZERO), var="k")
QUIET = loop(L.Let("at_1", y(k)), L.Put("z", (k,), L.ZERO), var="k")


def test_a_condition():
    first = fail(beyond(k))
    assert dropped(first, first) == [first]
    changed = L.Let("k", L.ONE)
    assert dropped(first, changed, first) == [first, changed, first]


def test_each_round_of_a_loop_over_the_same_range():
    assert dropped(FIRST, SECOND) == [FIRST, QUIET]


@pytest.mark.parametrize(
    "between",
    [
        L.Put("y", (L.ZERO,), L.ZERO),
        L.Let("n", L.ONE),
        L.Bind("y", "z"),
        L.Do("rt.f", (L.Whole("y"),)),
        loop(L.Put("y", (L.Name("m"),), L.ZERO), var="m"),
    ],
)
def test_what_may_have_changed_is_asked_again(between):
    assert dropped(FIRST, between, SECOND) == [FIRST, between, SECOND]


def test_memory_that_is_shared():
    write = L.Put("w", (L.ZERO,), L.ZERO)
    assert dropped(FIRST, write, SECOND) == [FIRST, write, QUIET]
    shares = lambda a, b: {a, b} == {"w", "y"}  # noqa: E731
    assert dropped(FIRST, write, SECOND, shares=shares) == [FIRST, write, SECOND]


def test_other_ranges():
    longer = loop(*SECOND.body, var="k", stop=L.add(n, L.ONE))
    assert dropped(FIRST, longer) == [FIRST, longer]


def test_loops_that_do_not_ask_in_every_round():
    sometimes = loop(L.Branch(L.Bin(">", i, L.ONE, "bool"), [fail(beyond(y(i)))]))
    assert dropped(sometimes, SECOND) == [sometimes, SECOND]
    early = loop(L.Branch(L.Bin(">", i, L.ONE, "bool"), [L.Break()]), fail(beyond(y(i))))
    assert dropped(early, SECOND) == [early, SECOND]
    same = loop(fail(beyond(L.Name("c"))))
    once = fail(beyond(L.Name("c")))
    assert dropped(same, once) == [same, once]  # it may have made no round


def test_a_loop_that_writes_what_it_asks_about():
    writing = loop(fail(beyond(y(i))), L.Put("y", (i,), L.Lit(9, I64)))
    assert dropped(writing, SECOND) == [writing, SECOND]
    stepwise = loop(L.Let("at", y(i)), L.Put("y", (i,), L.Lit(9, I64)), fail(beyond(L.Name("at"))))
    assert dropped(stepwise, SECOND) == [stepwise, SECOND]


def test_a_sweep_does_not_ask_again():
    @s2s.value_and_grad(backend="loops")
    def f(x, y):
        total = 0.0
        for i in range(len(y)):
            total += x[y[i]] ** 2
        return total

    value, x_bar = f(np.arange(4.0), np.array([1, 3, -1]))
    assert value == 19 and list(x_bar) == [0, 2, 0, 12]
    assert f.lowered.count("raise") == 1
    with pytest.raises(IndexError):
        f(np.arange(4.0), np.array([1, 4]))
