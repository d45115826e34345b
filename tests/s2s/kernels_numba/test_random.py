"""Random draws, compiled: the same stream as NumPy's."""

# ruff: noqa: E402

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from s2s.kernels import random
from s2s.kernels_numba import random as compiled

one_laplace, fill_poisson = (getattr(random, n) for n in ("one_laplace", "fill_poisson"))
fill_random, one_gumbel = random.fill_random, random.one_gumbel


@numba.njit
def draws(rng, out, single, scale):
    x = one_laplace(rng)
    fill_poisson(rng, out, scale)
    fill_random(rng, single)
    return x, one_gumbel(rng)


def test_the_stream_is_that_of_numpy() -> None:
    ours, theirs = (np.random.default_rng(7) for _ in range(2))
    scale = np.linspace(0.5, 2.0, 6).reshape(2, 3)
    out, single = np.zeros((2, 3)), np.zeros(5, np.float32)
    found = draws(ours, out, single, scale)
    assert found[0] == theirs.laplace()
    np.testing.assert_array_equal(out, theirs.poisson(scale))
    np.testing.assert_array_equal(single, theirs.random(5, np.float32))
    assert found[1] == theirs.gumbel()
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_the_texts_of_methods() -> None:
    space = compiled._define(compiled._NATIVE_ONE, "one", method="normal", args="a0, a1, ")
    assert space.__code__.co_varnames[:3] == ("rng", "a0", "a1")
    assert compiled._names(3) == "a0, a1, a2, " and compiled._names(0) == ""
    rng: Any = np.random.default_rng(0)
    assert space(rng, 0.0, 1.0) == np.random.default_rng(0).normal(0.0, 1.0)
    assert set(compiled.INTERPRETED_METHODS) <= set(compiled.GENERATOR_METHODS)


def test_the_legacy_generator_is_that_of_numpy() -> None:
    draw = random.legacy_one_random_sample

    @numba.njit
    def one(a):
        random.seed(a)
        return draw()

    before = np.random.get_state()
    try:
        found = one(5)
        np.random.seed(5)
        assert found == np.random.random_sample()
    finally:
        np.random.set_state(before)
