"""Sums of shifted copies become one nest exactly where that is legal."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.scatter_to_gather import scatter_to_gather
from tests.transforms.lower.loop_ir_text import drawn, run_body

I, J = L.Name("i"), L.Name("j")  # noqa: E741
N, M = L.Name("n"), L.Name("m")


def t(*index):
    return L.Load("t", index, "float64")


def times(k, e):
    return L.Bin("*", L.Lit(k, "float64"), e, "float64")


def nest(*body, over=((I, N),)):
    inner = list(body)
    for var, stop in reversed(over):
        inner = [L.Loop(var.name, L.ZERO, stop, L.ONE, inner)]
    return inner[0]


def fill(*between):
    """Fill `t`, a separate array, with multiples of `x`."""
    return [
        L.Alloc("t", "float64", (N,)),
        nest(L.Store("t", (I,), times(1.5, L.Load("x", (I,), "float64")))),
    ]


def scatter(shift, expr=None, into="y"):
    return nest(L.Store(into, (L.add(I, L.lit(shift)),), expr or t(I), add=True))


def gathered(body, may_alias=lambda a, b: a == b):
    new = copy.deepcopy(body)
    scatter_to_gather(new, may_alias)
    return new


def run(body, n, **arrays):
    found = run_body(body, **arrays, n=n, m=n + 1)
    return {name: found[name] for name in arrays}


def loops(body):
    return sum(isinstance(s, L.Loop) for s in body)


@pytest.mark.parametrize("shifts", [(0, 1), (0, 1, 2), (2, 0), (3, 1, 1), (0, 8)])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_the_same_sums(shifts, n):
    body = [*fill(), *(scatter(s, times(s + 0.5, t(I))) for s in shifts)]
    new = gathered(body)
    assert loops(new) == 3 < loops(body) + 1  # the fill of t, its border, the sum
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=n), rng.normal(size=n + max(shifts) if n else 0)
    was, now = run(body, n, x=x, y=y), run(new, n, x=x, y=y)
    np.testing.assert_allclose(now["y"], was["y"], rtol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_two_axes(n):
    box = ((I, N), (J, M))
    places = list(itertools.product((0, 1, 2), (0, 2)))[1:]
    body = [
        L.Alloc("t", "float64", (N, M)),
        nest(L.Store("t", (I, J), L.Load("x", (I, J), "float64")), over=box),
        *(
            nest(
                L.Store("y", (L.add(I, L.lit(a)), L.add(J, L.lit(b))), t(I, J), add=True), over=box
            )
            for a, b in places
        ),
    ]
    new = gathered(body)
    assert loops(new) == 4
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(n, n + 1)), rng.normal(size=(n + 2, n + 3))
    was, now = run(body, n, x=x, y=y), run(new, n, x=x, y=y)
    np.testing.assert_allclose(now["y"], was["y"], rtol=1e-14)


def unchanged(body, **options):
    assert gathered(body, **options) == body


def test_one_shift_stays_as_it_is():
    unchanged([*fill(), scatter(1), scatter(1)])


def test_far_shifts_stay_as_they_are():
    unchanged([*fill(), scatter(0), scatter(9)])


def test_a_sum_that_is_read_between_stays():
    reads = nest(L.Store("z", (I,), L.Load("y", (I,), "float64")))
    unchanged([*fill(), scatter(0), reads, scatter(1)])


def test_a_sum_that_is_doubled_between_stays():
    twice = nest(L.Store("y", (I,), L.Load("y", (I,), "float64"), add=True))
    unchanged([*fill(), scatter(0), twice, scatter(1)])


def test_an_addend_that_changes_between_stays():
    unchanged([*fill(), scatter(0), nest(L.Store("t", (I,), L.Lit(0.0, "float64"))), scatter(1)])


def test_another_sum_between_does_not_matter():
    body = [*fill(), scatter(0), scatter(0, into="z"), scatter(1), scatter(1, into="z")]
    assert loops(gathered(body)) == 5


def test_a_check_between_stays_between():
    check = L.If(L.compare("==", N, L.lit(7)), [L.Fail("ValueError", "seven")])
    unchanged([*fill(), scatter(0), check, scatter(1)])


def test_a_range_that_changes_between_stays():
    unchanged([*fill(), scatter(0), L.Let("n", L.sub(N, L.ONE)), scatter(1)])


def test_an_addend_seen_as_a_whole_stays():
    use = drawn("t")
    unchanged([*fill(), scatter(0), scatter(1), use])


def test_an_addend_that_is_larger_than_the_range_stays():
    body = [*fill(), scatter(0), scatter(1)]
    body[0] = L.Alloc("t", "float64", (L.add(N, L.ONE),))
    unchanged(body)


def test_an_addend_of_the_caller_stays():
    unchanged([scatter(0), scatter(1)])


def test_factors_that_may_be_infinite_stay():
    """0 times infinity is not 0."""
    c = L.Name("c", "float64")
    for factor in (c, L.Lit(np.inf, "float64")):
        product = L.Bin("*", t(I), factor, "float64")
        unchanged([*fill(), scatter(0, product), scatter(1, product)])


def test_shared_memory_stays():
    unchanged(
        [*fill(), scatter(0), scatter(1)], may_alias=lambda a, b: a == b or {a, b} == {"t", "y"}
    )


def test_what_is_widened_is_not_gathered_into():
    """The indices of accumulations into it would have to be shifted, too."""
    less = L.sub(N, L.ONE)

    def adds(into, addend, shift, stop):
        e = L.Load(addend, (I,), "float64")
        return nest(L.Store(into, (L.add(I, L.lit(shift)),), e, add=True), over=((I, stop),))

    def sets(buffer, e, stop):
        return nest(L.Store(buffer, (I,), e), over=((I, stop),))

    round_ = [
        adds("y", "t", 0, N),
        adds("y", "t", 1, N),
        sets("t", L.Lit(0.0, "float64"), N),
        L.Alloc("u", "float64", (less,)),
        sets("u", L.Load("x", (I,), "float64"), less),
        adds("t", "u", 0, less),
        adds("t", "u", 1, less),
    ]
    body = [
        L.Alloc("t", "float64", (N,)),
        sets("t", L.Lit(1.0, "float64"), N),
        L.Loop("k", L.ZERO, L.lit(3), L.ONE, round_),
    ]
    x, y = np.arange(1.0, 6.0), np.zeros(6)
    was, now = run(body, 5, x=x, y=y), run(gathered(body), 5, x=x, y=y)
    np.testing.assert_allclose(now["y"], was["y"])
