"""Regressions found by random programs, in every mode: tangents agree with adjoints, Hessians are
symmetric.  (The corpus tests check the gradients themselves.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from tests.corpus import Case, load

FOUND = [case for case in load().values() if "found" in case.tags]


def directions(args: list[Any], at: list[int], seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    drawn = (rng.normal(size=np.shape(args[i])) for i in at)
    return tuple(d if np.ndim(args[i]) else float(d) for i, d in zip(at, drawn))


def dot(a: Any, b: Any) -> float:
    return sum(float(np.sum(p * q)) for p, q in zip(a, b))


@pytest.mark.parametrize("backend", ["loops", "python"])
@pytest.mark.parametrize("case", FOUND, ids=lambda c: c.name)
def test_found(case: Case, backend: str) -> None:
    options: Any = {"wrt": case.wrt, "backend": backend}
    gradient = s2s.grad(case.function, **options)
    jvp, hvp = s2s.jvp(case.function, **options), s2s.hvp(case.function, **options)
    names = list(case.function.__code__.co_varnames)
    at = [names.index(name) for name in case.wrt]
    assert at[0] == 0
    for n in case.trips:
        args, _ = case.arguments(n, np.float64)
        first, *rest = args
        v, w = directions(args, at, 1), directions(args, at, 2)
        slope = jvp(first, v, *rest)[1]
        np.testing.assert_allclose(slope, dot(gradient(*args), v), rtol=1e-9, atol=1e-11)
        hv, hw = hvp(first, v, *rest), hvp(first, w, *rest)
        np.testing.assert_allclose(dot(hv, w), dot(hw, v), rtol=1e-9, atol=1e-11)
