"""Tangents against adjoints, and forward mode over reverse mode against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.forward import forward
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.checkpoint.plan_tape import plan_tape
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.simplify import simplify
from tests.oracle import central_differences
from tests.transforms.cases import CASES, Case
from tests.transforms.programs import run

STAGES = {
    "plain": lambda m: m,
    "saved": lambda m: simplify(plan_tape(simplify(m))),
}


def direction(x: Any, k: int) -> Any:
    return np.cos(np.arange(np.size(x)) + k).reshape(np.shape(x))[()]


def directions(case: Case, args: Any) -> list[Any]:
    at = [list(case.params).index(name) for name in case.wrt]
    return [direction(args[i], k) for k, i in enumerate(at)]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_tangent_agrees_with_adjoint(case: Case, stage: str) -> None:
    module = case.module
    jvp = STAGES[stage](forward(module, case.wrt, Facts()))
    vjp = reverse(module, case.wrt, 0, Facts())
    results = len(module.main.results)
    for args in case.args:
        seeds = directions(case, args)
        got = run(jvp, *args, *seeds)
        bars = run(vjp, *args, 1.0)[results:]
        assert np.array_equal(got[0], run(module, *args)[0])
        want = sum(np.sum(bar * seed) for bar, seed in zip(bars, seeds))
        np.testing.assert_allclose(got[results], want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_forward_over_reverse(case: Case) -> None:
    """The tangent of the gradient in a direction: a Hessian-vector product."""
    vjp = simplify(reverse(case.module, case.wrt, 0, Facts()))
    first = len(case.module.main.results)
    jvp = STAGES["saved"](forward(vjp, case.wrt, Facts()))
    tangents = len(vjp.main.results)
    floats = [r.type.dtype.startswith("float") for r in vjp.main.results]
    for args in case.args:
        seeds = directions(case, args)
        got = run(jvp, *args, 1.0, *seeds)
        for k in range(len(case.wrt)):
            bar_dot = got[tangents + sum(floats[: first + k])]
            weights = direction(bar_dot, 5)

            def directed(*a: Any, k: int = k, weights: Any = weights) -> Any:
                return np.sum(weights * run(vjp, *a, 1.0)[first + k])

            slopes = [
                central_differences(directed, args, list(case.params).index(name))
                for name in case.wrt
            ]
            want = sum(np.sum(slope * seed) for slope, seed in zip(slopes, seeds))
            np.testing.assert_allclose(np.sum(weights * bar_dot), want, rtol=1e-5, atol=1e-6)
