"""A check that an earlier check implies is removed."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.checks.redundant import eliminate_redundant_checks
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import drawn, loop

I64 = "int64"
i, k, n = L.Name("i"), L.Name("k"), L.Name("n")


def fail(cond):
    return L.If(cond, [L.Fail("IndexError", "out of bounds")])


def beyond(e, stop=n):
    return L.Bin(">=", e, stop, "bool")


def y(index, buffer="y"):
    return L.Load(buffer, (index,), I64)


def dropped(*body, may_alias=lambda a, b: False):
    return eliminate_redundant_checks(copy.deepcopy(list(body)), may_alias)


FIRST = loop(L.Let("at", y(i)), fail(beyond(L.Name("at"))))
SECOND = loop(
    L.Let("at_1", y(k)), fail(beyond(L.Name("at_1"))), L.Store("z", (k,), L.ZERO), var="k"
)
QUIET = loop(L.Let("at_1", y(k)), L.Store("z", (k,), L.ZERO), var="k")


def test_a_condition():
    first = fail(beyond(k))
    assert dropped(first, first) == [first]
    changed = L.Let("k", L.ONE)
    assert dropped(first, changed, first) == [first, changed, first]


def test_each_iteration_of_a_loop_over_the_same_range():
    assert dropped(FIRST, SECOND) == [FIRST, QUIET]


@pytest.mark.parametrize(
    "between",
    [
        L.Store("y", (L.ZERO,), L.ZERO),
        L.Let("n", L.ONE),
        L.Rebind("y", "z"),
        drawn("y"),
        loop(L.Store("y", (L.Name("m"),), L.ZERO), var="m"),
    ],
)
def test_what_may_have_changed_is_asked_again(between):
    assert dropped(FIRST, between, SECOND) == [FIRST, between, SECOND]


def test_memory_that_is_shared():
    write = L.Store("w", (L.ZERO,), L.ZERO)
    assert dropped(FIRST, write, SECOND) == [FIRST, write, QUIET]
    may_alias = lambda a, b: {a, b} == {"w", "y"}  # noqa: E731
    assert dropped(FIRST, write, SECOND, may_alias=may_alias) == [FIRST, write, SECOND]


def test_other_ranges():
    longer = loop(*SECOND.body, var="k", stop=L.add(n, L.ONE))
    assert dropped(FIRST, longer) == [FIRST, longer]


def test_loops_that_do_not_ask_in_every_iteration():
    sometimes = loop(L.If(L.Bin(">", i, L.ONE, "bool"), [fail(beyond(y(i)))]))
    assert dropped(sometimes, SECOND) == [sometimes, SECOND]
    early = loop(L.If(L.Bin(">", i, L.ONE, "bool"), [L.Break()]), fail(beyond(y(i))))
    assert dropped(early, SECOND) == [early, SECOND]
    same = loop(fail(beyond(L.Name("c"))))
    once = fail(beyond(L.Name("c")))
    assert dropped(same, once) == [same, once]  # the loop may have no iterations


def test_a_loop_that_writes_what_it_asks_about():
    writing = loop(fail(beyond(y(i))), L.Store("y", (i,), L.Lit(9, I64)))
    assert dropped(writing, SECOND) == [writing, SECOND]
    stepwise = loop(
        L.Let("at", y(i)), L.Store("y", (i,), L.Lit(9, I64)), fail(beyond(L.Name("at")))
    )
    assert dropped(stepwise, SECOND) == [stepwise, SECOND]


# ---------------------------------------------------------------- loops in loops, and branches

j, m = L.Name("j"), L.Name("m")


def nest(*inner, outer="i", var="j", before=(), stop=m):
    return loop(*before, loop(*inner, var=var, stop=stop), var=outer)


def down(*body, var, stop):
    return L.Loop(var, L.sub(stop, L.ONE), L.Lit(-1, I64), L.Lit(-1, I64), list(body))


def test_iterations_of_a_nest():
    index = lambda a, b: L.Bin("+", y(L.Name(a)), L.Name(b), I64)  # noqa: E731
    first = nest(fail(beyond(index("i", "j"))))
    touch = L.Store("z", (k,), L.ZERO)
    again = down(
        L.Let("b", y(k)),
        down(L.Let("at", L.Bin("+", L.Name("b"), L.Name("r"), I64)), fail(beyond(L.Name("at"))),
             touch, var="r", stop=m),
        var="k", stop=n,
    )  # fmt: skip
    rest = dropped(first, again)[1]
    assert not any(isinstance(s, L.Fail) for s in L.walk([rest]))
    swapped = nest(fail(beyond(index("j", "i"))))
    assert dropped(first, swapped) == [first, swapped]
    other = nest(fail(beyond(index("i", "j"))), stop=n)
    assert dropped(first, other) == [first, other]


def test_a_nest_whose_inner_range_is_read():
    inner = lambda v: L.Loop("j", y(v), y(L.add(v, L.ONE)), L.ONE, [fail(beyond(y(j, "c")))])  # noqa: E731
    first, second = loop(inner(i)), loop(inner(k), var="k")
    assert dropped(first, second) == [
        first,
        loop(L.Loop("j", y(k), y(L.add(k, L.ONE)), L.ONE, []), var="k"),
    ]
    write = L.Store("y", (L.ZERO,), L.ZERO)
    assert dropped(first, write, second) == [first, write, second]


def positive(e):
    return L.Bin(">", e, L.ZERO, "bool")


def test_under_a_condition():
    sometimes = loop(L.If(positive(y(i, "c")), [fail(beyond(y(i)))]))
    asked = fail(beyond(y(k)))
    again = loop(L.If(positive(y(k, "c")), [asked, L.Store("z", (k,), L.ZERO)]), var="k")
    rest = loop(L.If(positive(y(k, "c")), [L.Store("z", (k,), L.ZERO)]), var="k")
    assert dropped(sometimes, again) == [sometimes, rest]
    otherwise = loop(L.If(positive(y(k, "c")), [], [asked]), var="k")
    assert dropped(sometimes, otherwise) == [sometimes, otherwise]
    write = L.Store("c", (L.ZERO,), L.ZERO)
    assert dropped(sometimes, write, again) == [sometimes, write, again]
    always = loop(fail(beyond(y(i))))
    assert dropped(always, again) == [always, rest]


def test_a_branch_that_changes_its_condition():
    once = loop(L.If(positive(y(i, "c")), [fail(beyond(y(i))), L.Store("c", (i,), L.ONE)]))
    again = loop(L.If(positive(y(k, "c")), [fail(beyond(y(k)))]), var="k")
    assert dropped(once, again) == [once, again]
    flag = L.Name("flag", "bool")
    set_off = L.If(flag, [fail(beyond(k)), L.Let("flag", L.lit(False, "bool"))])
    later = L.If(flag, [fail(beyond(k))])
    assert dropped(set_off, later) == [set_off, later]


def test_a_number_that_is_kept():
    made = L.Alloc("t", I64, (n,))
    chosen = [L.Let("a", L.Lit(-1, I64)), loop(L.Let("a", L.add(L.Name("a"), y(j))), var="j")]
    kept, asked = L.Store("t", (i,), L.Name("a")), fail(beyond(L.Name("a")))
    again = loop(L.Let("b", y(k, "t")), fail(beyond(L.Name("b"))), var="k")
    rest = loop(L.Let("b", y(k, "t")), var="k")
    for order in ((kept, asked), (asked, kept)):
        first = loop(*chosen, *order)
        assert dropped(made, first, again) == [made, first, rest]
    # The scalar is changed after it is stored, or all iterations store to one element.
    first = loop(*chosen, kept, L.Let("a", L.ZERO), asked)
    assert dropped(made, first, again) == [made, first, again]
    first = loop(*chosen, L.Store("t", (L.ZERO,), L.Name("a")), asked)
    assert dropped(made, first, again) == [made, first, again]
    # Other statements write to the buffer, or read it before.
    first = loop(*chosen, kept, asked)
    other = L.Store("t", (L.ZERO,), L.Lit(9, I64))
    assert dropped(made, first, other, again) == [made, first, other, again]
    early = loop(L.Let("e", y(k, "t")), *chosen, asked, kept)
    assert dropped(made, early, again) == [made, early, again]
    # The buffer is allocated in each iteration of an enclosing loop.
    whole = loop(made, first, again, var="q")
    assert dropped(whole) == [loop(made, first, rest, var="q")]
    outside = loop(first, again, var="q")
    assert dropped(made, outside) == [made, outside]


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_data_dependent_indices_in_nests(bad):
    def f(x, ptr, col, val):
        total = 0.0
        for i in range(len(ptr) - 1):
            row = 0.0
            for k in range(ptr[i], ptr[i + 1]):
                if val[k] > 0.0:
                    row += val[k] * x[col[k]] ** 2
            total += row * row
        return total

    g = s2s.value_and_grad(f, backend="loops")
    x, ptr = np.arange(1.0, 5.0), np.array([0, 2, 2, 3])
    col, val = np.array([1, -1, 0]), np.array([1.0, 2.0, -1.0])
    value, x_bar = g(x, ptr, col, val)
    assert value == 36.0**2 and list(x_bar) == [0, 2 * 36 * 2 * 2, 0, 2 * 36 * 2 * 2 * 4]
    sweep = g.lowered[g.lowered.index("x_bar") :]
    assert "raise" not in sweep[sweep.index("-1, -1)") :]
    ptr[-1], col[bad] = 3, 7
    if bad < 2:
        with pytest.raises(IndexError):
            g(x, ptr, col, val)
    else:
        assert g(x, ptr, col, val)[0] == value  # no check where the element is not read


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
