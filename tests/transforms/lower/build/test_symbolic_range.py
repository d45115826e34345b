"""Proofs about integers: signs over all iterations of loops, and freedom from overflow."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from s2s.transforms.ir.symbolic_dims import Dim, Facts, floordiv, mask_count, max0, slice_length
from s2s.transforms.lower.build.symbolic_range import (
    MAX_COEFFICIENT,
    MAX_CONSTANT,
    Ranges,
    RefinedFacts,
    lower_bound,
)

N, M, I, J, K = (Dim.of(s) for s in ("x.0", "y.0", "i", "j", "k"))  # noqa: E741
ZERO = Dim.of(0)


@contextmanager
def in_loops(*loops: tuple[Dim, Dim, Dim]) -> Iterator[Ranges]:
    """In loops (symbol, least, greatest), from the outermost."""
    ranges = Ranges(Facts())
    with ExitStack() as stack:
        for symbol, low, high in loops:
            stack.enter_context(ranges.inside(symbol, low, high, low))
        yield ranges


UP = (I, ZERO, N - 1)  # for i in range(n)


@pytest.mark.parametrize(
    ("dim", "loops", "proven"),
    [
        (N, [], True),
        (N - 1, [], False),
        (I, [], False),
        (I, [UP], True),
        (N - 1 - I, [UP], True),
        (N - I, [UP], True),
        (N - 2 - I, [UP], False),
        (I - 1, [UP], False),
        (I * 2, [UP], True),
        (-I, [UP], False),
        (K, [UP], False),
        (I - J, [UP, (J, ZERO, I)], True),  # for j in range(i + 1)
        (J - I, [UP, (J, I, N - 1)], True),  # for j in range(i, n)
        (I - J - 1, [UP, (J, ZERO, I - 1)], True),  # for j in range(i)
        (I - J - 1, [UP, (J, ZERO, I)], False),
        (I * J, [UP, (J, ZERO, I)], False),  # the sign of a factor is not looked at
        (N * M - I * M - M, [UP], True),  # the last row of a flat matrix
        (N - 1, [UP], True),  # in the loop, it has an iteration
        (M - 1, [UP], False),
    ],
)
def test_signs(dim, loops, proven):
    with in_loops(*loops) as ranges:
        assert ranges.nonnegative(dim) is proven
    if proven:  # oracle: all iterations at small sizes
        for sizes in itertools.product(range(4), range(3)):
            for point in points(loops, dict(zip(("x.0", "y.0"), sizes))):
                assert dim.substitute(point).const >= 0


def points(loops, values):
    """The values of the symbols in each iteration."""
    if not loops:
        return [values]
    (symbol, low, high), *rest = loops
    first, last = (end.substitute(values).const for end in (low, high))
    return [p for v in range(first, last + 1) for p in points(rest, {**values, symbol.symbol: v})]


def test_nothing_is_known_of_nothing():
    ranges = Ranges(Facts())
    assert not ranges.nonnegative(None) and not ranges.is_far_from_overflow(None)
    assert not ranges.exact_if_nonnegative(None)


def test_a_range_ends_with_its_loop():
    ranges = Ranges(Facts())
    with ranges.inside(I, ZERO, N - 1, ZERO):
        assert ranges.nonnegative(I) and ranges.is_far_from_overflow(I)
    assert not ranges.nonnegative(I) and not ranges.is_far_from_overflow(I)


@pytest.mark.parametrize("unknown", [0, 1, 2])
def test_a_loop_with_an_unknown_end_adds_nothing(unknown):
    ends: list = [I, ZERO, N - 1]
    ends[unknown] = None
    ranges = Ranges(Facts())
    with ranges.inside(*ends, ZERO):
        assert ranges.loops == []


@pytest.mark.parametrize(
    ("dim", "moderate"),
    [
        (N, True),
        (N * M + N * 3 - 1, True),
        (Dim.of(MAX_CONSTANT), True),
        (Dim.of(MAX_CONSTANT + 1), False),
        (N * MAX_COEFFICIENT, True),
        (N * (MAX_COEFFICIENT + 1), False),
        (N * N * N, True),
        (N * N * N * N, False),
        (K, False),  # any integer of the program
        (max0(K), False),
        (max0(N - 3), True),
        (floordiv(N, Dim.of(2)), True),
        (mask_count(Dim.of("mask")), True),
        (slice_length(N, K, None), True),  # no longer than its axis
    ],
)
def test_far_from_the_limits_of_int64(dim, moderate):
    assert Ranges(Facts()).is_far_from_overflow(dim) is moderate


def test_counters_that_start_far_from_the_limits():
    ranges = Ranges(Facts())
    with ranges.inside(I, ZERO, K - 1, ZERO):
        assert ranges.is_far_from_overflow(I)
    with ranges.inside(I, K, N, K):
        assert not ranges.is_far_from_overflow(I)


def test_exact_if_not_negative():
    with in_loops((I, ZERO, K - 1)) as ranges:
        assert ranges.exact_if_nonnegative(N + I)
        assert ranges.exact_if_nonnegative(K - I)  # at most k, which is an integer of the program
        assert ranges.exact_if_nonnegative(K - 1)
        assert not ranges.exact_if_nonnegative(K + I)
        assert not ranges.exact_if_nonnegative(K * 2)


def test_values_found_for_integers():
    ranges = Ranges(Facts())
    ranges.define_symbol(K, N - 1)
    ranges.define_symbol(None, N)
    ranges.define_symbol(K + 1, N)  # not a single symbol
    ranges.define_symbol(J, J + 1)  # refers to itself
    assert ranges.definitions == {"k": N - 1}
    assert (
        ranges.is_far_from_overflow(K) and ranges.nonnegative(K + 1) and not ranges.nonnegative(K)
    )


def test_facts_in_a_loop():
    ranges = Ranges(Facts())
    facts = RefinedFacts(Facts(), ranges)
    piece = slice_length(N, I, I + 1)
    assert facts.canonical(piece) != Dim.of(1) and facts.canonical(max0(N - I)) != N - I
    with ranges.inside(I, ZERO, N - 1, ZERO):
        assert facts.canonical(piece) == Dim.of(1)
        assert facts.canonical(slice_length(N, I, None)) == N - I
        assert facts.canonical(max0(N - I)) == N - I
        assert facts.canonical(max0(N - I - 2)) != N - I - 2
        assert facts.canonical(slice_length(N, I, I + 2)) != Dim.of(2)
    assert facts.canonical(piece) != Dim.of(1)


def test_a_lower_bound():
    assert lower_bound(max0(K - 1) * 2 + N) == (K - 1) * 2 + N
    assert lower_bound(N - max0(K)) == N - max0(K)
    assert lower_bound(max0(K) * N) == max0(K) * N
