"""Log-domain operations: they return their value unchanged, and have partials that do not
overflow; compared with formulas in extended precision."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from s2s.transforms.rules import RULES
from s2s.transforms.rules.internal.log_domain_rules import LOG_DOMAIN_RULES
from tests.transforms.rules.numeric import Trial

mp: Any = mpmath
INF, NAN = np.inf, np.nan
FAR = [-1e4, -800.0, -100.0, -1.0, 0.0, 1.0, 100.0, 800.0, 1e4]


def partials(name: str, *args: Any, g: Any = 1.0, **attrs: Any) -> dict[int, Any]:
    """The pullbacks of all differentiable operands."""
    rule = LOG_DOMAIN_RULES[name]
    trial = Trial(*args)
    seed = trial.argument(g)
    out = trial.b.emit(name, *trial.syms, **attrs)
    assert rule.pullback is not None and rule.differentiable is not None
    bars = rule.pullback(trial.b, seed, out, trial.syms, attrs, list(rule.differentiable))
    return dict(zip(bars, trial.run(*bars.values())))


def tangents(name: str, *args: Any, **attrs: Any) -> dict[int, Any]:
    """The pushforwards of unit tangents, one operand at a time."""
    rule = LOG_DOMAIN_RULES[name]
    assert rule.pushforward is not None and rule.differentiable is not None
    found = {}
    for i in rule.differentiable:
        trial = Trial(*args)
        dots: list[Any] = [None] * len(args)
        dots[i] = trial.argument(1.0)
        out = trial.b.emit(name, *trial.syms, **attrs)
        dot = rule.pushforward(trial.b, dots, out, trial.syms, attrs)
        (found[i],) = trial.run(dot)
    return found


def test_rules_are_registered_and_the_value_is_no_derivative() -> None:
    for name, rule in LOG_DOMAIN_RULES.items():
        assert RULES[name] is rule
        assert rule.differentiable is not None and 0 not in rule.differentiable
        assert rule.evaluate is not None
        value = np.float32(0.1)
        assert rule.evaluate(value, NAN, NAN, axis=None) is value


def test_exponentials_and_logarithms() -> None:
    assert partials("exp_as", 3.0, 1.0) == {1: 3.0} == tangents("exp_as", 3.0, 1.0)
    assert partials("log_as", 3.0, 1.0) == {1: 1.0} == tangents("log_as", 3.0, 1.0)
    assert partials("exp_ratio_as", NAN, 1.0, g=0.0) == {1: 0.0}
    assert np.isnan(partials("exp_as", NAN, 1.0, g=0.0)[1])
    assert partials("log_ratio_as", 2.0, 1.0) == {1: 1.0}
    assert np.isnan(partials("log_ratio_as", NAN, 1.0)[1])


@pytest.mark.parametrize("x", FAR)
@pytest.mark.parametrize("y", [0.0, 700.0, -1e4])
def test_shares_of_a_sum_of_two(x: float, y: float) -> None:
    with mp.workdps(60):
        ex, ey = mp.exp(x), mp.exp(y)
        want = [float(ex / (ex + ey)), float(ey / (ex + ey))]
        value = float(mp.log(ex + ey))
    for got in (partials("log_add", value, x, y), tangents("log_add", value, x, y)):
        np.testing.assert_allclose([got[1], got[2]], want, rtol=1e-14)


@pytest.mark.parametrize("name", ["log_add_three", "log_add_four"])
def test_shares_of_more(name: str) -> None:
    logs = [1000.0, 999.0, -1000.0, 1000.0][: 3 if name == "log_add_three" else 4]
    with mp.workdps(60):
        parts = [mp.exp(x) for x in logs]
        want = [float(p / sum(parts)) for p in parts]
    got = partials(name, 1000.5, *logs)
    np.testing.assert_allclose(
        [got[i + 1] for i in range(len(logs))], want, rtol=1e-14, atol=1e-300
    )


@pytest.mark.parametrize("infinity", [INF, -INF])
def test_equal_infinities_share_evenly(infinity: float) -> None:
    assert partials("log_add", infinity, infinity, infinity) == {1: 0.5, 2: 0.5}
    assert [*partials("log_add_four", infinity, *[infinity] * 4).values()] == [0.25] * 4
    one = partials("log_add", INF, INF, 0.0)
    assert (one[1], one[2]) == (1.0, 0.0)


@pytest.mark.parametrize("t", FAR)
def test_log_cosh(t: float) -> None:
    assert partials("log_cosh", 1.0, t) == {1: np.tanh(t)}


@pytest.mark.parametrize("x", FAR)
@pytest.mark.parametrize("c", [1.0, 1e-3, 50.0])
def test_softplus_and_logistic(x: float, c: float) -> None:
    """log(c + exp(x)) and log(1 / (c + exp(-x))), whose exponentials overflow."""
    with np.errstate(over="ignore"), mp.workdps(60):
        p, q = float(np.exp(x)), float(np.exp(-x))
        plus = float(mp.exp(x) / (c + mp.exp(x)))
        logistic = float(mp.exp(-x) / (c + mp.exp(-x)))
        value = float(mp.log(c + mp.exp(x)))
        below = float(-mp.log(c + mp.exp(-x)))
    got = partials("log_plus", value, c + p, c, p, x)[4]
    np.testing.assert_allclose(got, plus, rtol=1e-13, atol=5e-324)
    got = partials("log_logistic", below, 1 / (c + q), c, q, x)[4]
    np.testing.assert_allclose(got, logistic, rtol=1e-13, atol=5e-324)


def test_quotients() -> None:
    """v = a / d, where d is exp(ln): dv = da / d - v dln."""
    a, d = 3.0, 2.0
    args = (a / d, a, d, np.log(d))
    assert partials("quotient_as", *args) == {1: 0.5, 3: -1.5} == tangents("quotient_as", *args)
    assert partials("quotient_as", *args, g=0.0) == {1: 0.0, 3: 0.0}


# ---------------------------------------------------------------- along axes


def total_of(ln: Any, mean: bool, plus: float, axis: Any) -> tuple[Any, ...]:
    with np.errstate(over="ignore", divide="ignore"):
        p = np.exp(ln)
        d = (p.mean(axis) if mean else p.sum(axis)) + plus
        return np.log(d), d, p, ln


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("axis", [None, (0,), (1,)])
@pytest.mark.parametrize("shift", [0.0, 500.0, -500.0, 1e4, -1e4])
def test_shares_of_a_sum_along_axes(mean: bool, axis: Any, shift: float) -> None:
    """They are a softmax, also where the sum overflows or vanishes."""
    ln = np.array([[0.5, -1.0, 0.25], [2.0, 1.0, 0.0]]) + shift
    exponents = ln - ln.max(axis, keepdims=True)
    want = np.exp(exponents) / np.exp(exponents).sum(axis, keepdims=True)
    attrs = {"axis": axis, "keepdims": False, "mean": mean, "plus": 0.0}
    args = total_of(ln, mean, 0.0, axis)
    seed = np.ones(np.shape(args[0]))[()]
    got = partials("log_total", *args, g=seed, **attrs)[3]
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_constant_in_the_sum_takes_its_share() -> None:
    for x in FAR:
        ln = np.array([x, x])
        attrs = {"axis": None, "keepdims": False, "mean": False, "plus": 1.0}
        with mp.workdps(60):
            want = float(mp.exp(x) / (2 * mp.exp(x) + 1))
        got = partials("log_total", *total_of(ln, False, 1.0, None), **attrs)[3]
        np.testing.assert_allclose(got, [want, want], rtol=1e-13, atol=5e-324)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_the_logarithm_of_a_softmax(shift: float) -> None:
    """Its gradient is g - softmax * sum(g)."""
    ln = np.array([0.5, -1.0, 2.0]) + shift
    e = np.exp(ln - ln.max())
    share = e / e.sum()
    attrs = {"axis": None, "keepdims": False}
    g = np.array([1.0, 2.0, -0.5])
    got = partials("log_share", np.log(share), share, ln, g=g, **attrs)[2]
    np.testing.assert_allclose(got, g - share * g.sum(), rtol=1e-13)
