"""Symbolic sizes: polynomials, atoms, and relations that are read off the arguments."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s.transforms.ir.symbolic_dims import Dim, Facts, floordiv, max0, remainder, slice_length

X, Y, K = Dim.of("x.0"), Dim.of("y.0"), Dim.of("i")


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (X * 2 - 1, "2*x.0 - 1"),
        (floordiv(X * Y * 6, Y * 2), "3*x.0"),
        (floordiv(X + Y, X + Y), "1"),
        (floordiv(X * Y + 1, Y), "(x.0*y.0 + 1) // (y.0)"),
        (floordiv(X * 2 + 1, Dim.of(2)), "(2*x.0 + 1) // (2)"),
        (max0(X + 1), "x.0 + 1"),
        (max0(X - 1), "max(x.0 - 1, 0)"),
        (remainder(K, X), "(i) % (x.0)"),
    ],
)
def test_texts(dim, text):
    assert str(dim) == text


@given(st.integers(-9, 9), st.integers(-9, 9).filter(bool), st.integers(-3, 3))
def test_atoms_mean_what_python_means(a, b, c):
    values = {"i": a, "x.0": b}
    assert floordiv(K * c + 1, X).substitute(values) == Dim.of((a * c + 1) // b)
    assert floordiv(K * X * c, X).substitute(values) == Dim.of(a * c)
    assert remainder(K + c, X).substitute(values) == Dim.of((a + c) % b)
    assert max0(K + c).substitute(values) == Dim.of(max(a + c, 0))


def test_an_atom_depends_on_what_is_inside():
    assert max0(floordiv(K + X, Dim.of(2)) - 1).symbols == {"i", "x.0"}


@pytest.mark.parametrize(
    ("dim", "is_size"),
    [
        (X * Y + 2, True),
        (X - 1, False),
        (K, False),
        (max0(K), True),
        (floordiv(X, Dim.of(2)), True),
        (floordiv(X - 5, Dim.of(2)), False),
        (remainder(K, X), True),
        (remainder(X, K), False),
    ],
)
def test_what_cannot_be_negative(dim, is_size):
    assert dim.is_size is is_size


def test_dims_are_pickled_whole():
    dim = pickle.loads(pickle.dumps(max0(X - 2) * Y))
    assert dim == max0(X - 2) * Y
    assert dim.substitute({"x.0": 5, "y.0": 2}) == Dim.of(6)


def test_relations_are_asked_once():
    facts = Facts({"x.0": 3, "y.0": 3})
    assert facts.relate(X, Y) == "equal"
    assert facts.relate(max0(X - 1), max0(Y - 1)) == "equal"
    assert len(facts.guards) == 1
    assert facts.guards[0].holds({"x.0": 5, "y.0": 5})
    assert not facts.guards[0].holds({"x.0": 5, "y.0": 4})


def test_an_argument_as_long_as_a_part_of_another():
    facts = Facts({"x.0": 4, "y.0": 3})
    assert facts.relate(max0(X - 1), Y) == "equal"
    assert facts.known_equal(Y, max0(X - 1))
    assert facts.guards[0].holds({"x.0": 9, "y.0": 8})


def test_nothing_is_asked_without_arguments():
    facts = Facts()
    assert facts.relate(X, Y) == "unknown"
    assert facts.relate(max0(X - 1), max0(Y - 1)) == "unknown"
    assert not facts.guards


def test_sizes_that_agree_are_relied_on():
    facts = Facts({"x.0": 3, "y.0": 3})
    assert facts.guard_equal(X, Y) and facts.known_equal(X, Y)
    assert facts.guard_equal(Y, X) and len(facts.guards) == 1
    assert not facts.guards[0].holds({"x.0": 3, "y.0": 4})


def test_what_a_symbol_stands_for_is_learnt_once():
    facts = Facts()
    own, other = Dim.of("v_bar.0"), Dim.of("w_bar.0")
    facts.define("v_bar.0", max0(X - 1))
    facts.define("w_bar.0", own)
    facts.define("v_bar.0", Y)
    assert facts.known_equal(other, max0(X - 1)) and not facts.known_equal(own, Y)
    assert not facts.guards


def test_others_are_left_open():
    facts = Facts({"x.0": 3, "y.0": 1})
    assert not facts.guard_equal(X, Y)
    assert not facts.guard_equal(X, Dim.of("i"))
    assert not Facts().guard_equal(X, Y)
    assert not facts.guards


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("second", range(4))
def test_slices_of_slices_have_one_length(first, second):
    n = Dim.of("x.0")
    twice = max0(max0(n - first) - second)
    assert twice == max0(n - (first + second))
    for size in range(9):
        there = twice.substitute({"x.0": size})
        assert there == Dim.of(max(max(size - first, 0) - second, 0))


def test_a_slice_that_a_counter_moves_has_a_length():
    facts = Facts(bounds={"i": (Dim.of(0), Dim.of(2))})
    assert slice_length(X + 2, K, K + X, facts=facts) == X
    assert slice_length(X + 1, K, K + X, facts=facts) != X  # clipped in the last iteration
    assert slice_length(X + 2, K - 1, K + X - 1, facts=facts) != X  # from the end in the first
    assert not facts.guards


def test_whether_a_moved_slice_fits_is_asked_of_the_arguments():
    facts = Facts({"x.0": 9, "y.0": 3}, bounds={"i": (Dim.of(0), Y - 1)})
    width = X - Y + 1
    assert slice_length(X, K, K + width, facts=facts) == width
    (guard,) = facts.guards
    assert str(guard) == "x.0 + 1 >= y.0"
    assert guard.holds({"x.0": 3, "y.0": 4}) and not guard.holds({"x.0": 2, "y.0": 4})
    assert slice_length(X, K, K + width, facts=facts) == width
    assert len(facts.guards) == 1

    other = Facts({"x.0": 2, "y.0": 4}, bounds=facts.bounds)
    assert slice_length(X, K, K + width, facts=other) != width
    assert not other.guards


def test_counters_may_bound_each_other():
    j = Dim.of("j")
    facts = Facts(bounds={"i": (Dim.of(0), X - 1), "j": (Dim.of(0), K)})
    assert slice_length(X, j, K, facts=facts) == K - j
    assert slice_length(X, j, K + 2, facts=facts) != K + 2 - j
