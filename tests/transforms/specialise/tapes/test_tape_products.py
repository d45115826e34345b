"""Gradients that a step requests of its tape, as results."""

from __future__ import annotations

import numpy as np
import pytest

import s2s


@pytest.mark.parametrize("backend", ["numba", "native", "loops", "python"])
def test_equal_gradients_of_a_step_are_two_arrays(backend: str) -> None:
    """The caller may write into each; one gradient that is returned twice stays one array."""

    def step(a, b):
        with s2s.GradientTape() as tape:
            tape.watch([a, b])
            loss = np.sum((a + b) ** 2)
        da, db = tape.gradient(loss, [a, b])
        return da, db, da

    da, db, again = s2s.function(step, backend=backend)(np.arange(3.0), np.ones(3))
    assert np.shares_memory(da, again) and not np.shares_memory(da, db)
    da *= 0.5
    assert db.tolist() == [2.0, 4.0, 6.0] and again.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("backend", ["numba", "native", "loops", "python"])
def test_equal_gradients_that_an_object_keeps_are_two_arrays(backend: str) -> None:
    class Kept:
        def __init__(self) -> None:
            self.first = self.second = np.zeros(3)

    kept = Kept()

    def step(a, b):
        with s2s.GradientTape() as tape:
            tape.watch([a, b])
            loss = np.sum((a + b) ** 2)
        kept.first, kept.second = tape.gradient(loss, [a, b])
        return kept.first[0]

    s2s.function(step, backend=backend)(np.arange(3.0), np.ones(3))
    kept.first *= 0.5
    assert kept.second.tolist() == [2.0, 4.0, 6.0] and kept.first.tolist() == [1.0, 2.0, 3.0]
