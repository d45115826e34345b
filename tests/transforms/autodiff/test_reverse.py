"""Adjoints against finite differences, of first and second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.checkpoint.plan_tape import plan_tape
from s2s.transforms.ir.nodes import Module
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.simplify import simplify
from tests.oracle import central_differences
from tests.transforms.cases import CASES, Case
from tests.transforms.programs import run

PIPELINES = {
    "plain": lambda m: m,
    "simplified": simplify,
    "saved": lambda m: simplify(plan_tape(simplify(m))),
}


def check_case(case: Case, module: Module, vjp: Module) -> None:
    for args in case.args:
        primal = run(module, *args)
        got = run(vjp, *args, 0.7)
        assert np.array_equal(primal[0], got[0])
        for name, bar in zip(case.wrt, got[len(primal) :]):
            at = list(case.params).index(name)
            want = 0.7 * central_differences(lambda *a: run(module, *a)[0], args, at)
            assert np.shape(bar) == np.shape(args[at])
            np.testing.assert_allclose(bar, want, rtol=1e-5, atol=1e-7, err_msg=f"{args} {name}")


@pytest.mark.parametrize("stage", PIPELINES)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_gradient(case: Case, stage: str) -> None:
    module = case.module
    vjp = PIPELINES[stage](reverse(module, case.wrt, 0, Facts()))
    check_case(case, module, vjp)


def second(case: Case, stage: str, between: str) -> None:
    """Differentiate <w, x_bar>, the gradient with respect to the first parameter in a direction."""
    module = case.module
    vjp = PIPELINES[between](reverse(module, case.wrt, 0, Facts()))
    results = len(module.main.results)
    again = PIPELINES[stage](reverse(vjp, case.wrt, results, Facts()))
    for args in case.args:
        bar = run(vjp, *args, 1.0)[results]
        w = np.cos(np.arange(np.size(bar))).reshape(np.shape(bar))[()]

        def directed(*a: Any, w: Any = w) -> Any:
            return np.sum(w * run(vjp, *a, 1.0)[results])

        got = run(again, *args, 1.0, w)[len(vjp.main.results) :]
        for name, bar in zip(case.wrt, got):
            want = central_differences(directed, args, list(case.params).index(name))
            np.testing.assert_allclose(bar, want, rtol=1e-5, atol=1e-6, err_msg=f"{args} {name}")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_second_derivative(case: Case) -> None:
    second(case, "plain", "plain")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_second_derivative_simplified(case: Case) -> None:
    second(case, "saved", "simplified")
