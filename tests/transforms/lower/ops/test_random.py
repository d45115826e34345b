"""Random draws: the runtime's calls, and the stream of NumPy's generators."""

from __future__ import annotations

import numpy as np
import pytest

import s2s


def loops(f):
    return s2s.function(f, backend="loops")


def test_one_and_many_draws():
    def f(seed, n):
        rng = np.random.default_rng(seed)
        return rng.standard_normal(), rng.standard_normal((n, 2)), rng.random()

    g = loops(f)
    for n in (0, 1, 3):
        for got, want in zip(g(7, n), f(7, n), strict=True):
            np.testing.assert_array_equal(got, want)
    text = g.lowered
    assert "rt.draws.default_rng(" in text
    assert "rt.draws.one_standard_normal(" in text and "rt.draws.fill_standard_normal(" in text
    assert text.count("np.empty") == 1  # a fresh buffer is filled in place


def test_a_generator_that_is_passed_in_moves_on():
    def f(rng):
        return rng.normal(1.0, 2.0), rng.integers(0, 10, 4)

    ours, numpys = np.random.default_rng(3), np.random.default_rng(3)
    g = loops(f)
    for _ in range(2):
        for got, want in zip(g(ours), f(numpys), strict=True):
            np.testing.assert_array_equal(got, want)
    assert ours.random() == numpys.random()


def test_the_legacy_generator():
    def f(n):
        np.random.seed(5)
        return np.random.rand(), np.random.randn(n)

    g = loops(f)
    for got, want in zip(g(3), f(3), strict=True):
        np.testing.assert_array_equal(got, want)
    assert "rt.draws.seed(" in g.lowered
    assert "rt.draws.legacy_one_" in g.lowered and "rt.draws.legacy_fill_" in g.lowered


def test_arguments_are_arrays_in_memory():
    """A permutation of a computed array is given a buffer."""

    def f(seed, x):
        rng = np.random.default_rng(seed)
        return rng.permutation(x * 2.0)

    x = np.arange(6.0)[::2]
    np.testing.assert_array_equal(loops(f)(1, x), f(1, x))


def test_draws_keep_their_order():
    """Each draw moves the generator, even if its result is not read."""

    def f(seed, n):
        rng = np.random.default_rng(seed)
        rng.random()
        total = 0.0
        for _ in range(n):
            a, b = rng.random(), rng.random()
            total += a - b
        return total

    for n in (0, 1, 4):
        assert loops(f)(2, n) == pytest.approx(f(2, n), rel=1e-14)


def test_a_variable_drawn_again():
    def f(seed):
        rng = np.random.default_rng(seed)
        x = rng.random(2)
        y = x + 1.0
        x = rng.random(2)
        return x, y

    for got, want in zip(loops(f)(4), f(4), strict=True):
        np.testing.assert_array_equal(got, want)
