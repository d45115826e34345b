"""Reverse over reverse of every rule, against differences of the gradient: rules consist of
operations that have rules."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.nodes import Function, Module
from s2s.transforms.ir.scopes import names_of

from .numeric import Trial
from .numpy.test_arithmetic import DIFFERENTIABLE, point

REDUCTIONS = ["sum", "mean", "prod", "var", "std", "max"]


def check_second_order(build, *args, h=1e-6, rtol=1e-5, atol=1e-6):
    """`build` computes a scalar from the arguments; the gradient in direction w is differentiated
    again."""
    rng = np.random.default_rng(5)
    trial = Trial(*args)
    out = build(trial.b, *trial.syms)
    out = out if out.ndim == 0 else trial.b.emit("sum", out, axis=None, keepdims=False)
    names = [p.name for p in trial.params]
    once = Function("f", trial.params, trial.b.block, [out.operand])
    first = reverse(Module({"f": once}, "f"), tuple(names), 0, trial.b.facts)
    weights = [rng.normal(size=np.shape(a)) for a in args]

    def gradients(*values):
        (_, *bars), _ = evaluate(first.main, *values, np.float64(1.0))
        return sum(np.sum(np.asarray(g) * w) for g, w in zip(bars, weights, strict=True))

    # Reduce the gradients to a scalar, so that it can be differentiated again.
    b = Trial().b
    b.names.taken |= {v.name for v in first.main.params}
    b.names.taken |= set(names_of(first.main))
    b.block = list(first.main.body)
    total = b.sym(0.0)
    for g, w in zip(first.main.results[1:], weights, strict=True):
        packed = b.emit("pack", *map(float, w.ravel()), shape=w.shape, dtype="float64")
        total = total + b.emit("sum", b.sym(g) * packed, axis=None, keepdims=False)
    twice = Function("g", first.main.params, b.block, [total.operand])
    second = reverse(Module({"g": twice}, "g"), tuple(names), 0, trial.b.facts)
    (_, *bars), _ = evaluate(second.main, *args, np.float64(1.0), np.float64(1.0))
    for i, bar in enumerate(bars):
        x = np.asarray(args[i])
        expected = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            up, down = x.copy(), x.copy()
            up[place] += h
            down[place] -= h
            moved = [[*args[:i], y, *args[i + 1 :]] for y in (up, down)]
            expected[place] = (gradients(*moved[0]) - gradients(*moved[1])) / (2 * h)
        np.testing.assert_allclose(bar, expected, rtol, atol)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_elementwise(name):
    values = point(name, (0.3, 0.7, 0.9))
    args = [np.array([v, v + 0.05]) for v in values]
    check_second_order(lambda b, *syms: b.emit(name, *syms), *args)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5])
def test_powers_with_known_exponents(exponent):
    check_second_order(lambda b, x: x**exponent, np.array([0.4, 1.7]))


@pytest.mark.parametrize("axis", [None, (0,), (1,)])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, axis):
    x = np.random.default_rng(6).uniform(0.4, 1.5, (2, 3))

    def build(b, x):
        out = b.emit(name, x, axis=axis, keepdims=False)
        return out * out

    check_second_order(build, x)


def test_prod_with_a_zero():
    """The second derivative with respect to two factors is the product of the others, also if one
    is zero."""
    x = np.array([0.0, 2.0, 3.0])
    check_second_order(lambda b, x: b.emit("prod", x, axis=None, keepdims=False), x)


def test_strong_products():
    check_second_order(lambda b, g, p: b.emit("strong_mul", g, p), np.ones(2), np.full(2, 0.5))


def test_cumsum():
    x = np.array([0.5, 1.5, 2.0])
    check_second_order(lambda b, x: b.emit("cumsum", x * x, axis=0), x)
