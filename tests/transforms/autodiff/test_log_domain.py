"""Log-domain differentiation: the expressions that the pass recognises, those that it leaves
unchanged, and that values do not change."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.autodiff.log_domain import erase_log_domain_in, mark_log_domain
from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.builder import NameSupply
from s2s.transforms.ir.nodes import Function
from s2s.transforms.ir.printer import print_ir
from s2s.transforms.ir.scopes import names_of
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.rules.internal.log_domain_rules import LOG_DOMAIN_RULES
from s2s.transforms.simplify.dce import eliminate_dead_code
from s2s.transforms.specialise import specialise

X = np.array([-1.5, 0.3, 2.0])


def value_form(f: Any) -> Function:
    spec = specialise(f, {"x": describe(X, False)}, {"x": X}, frozenset())
    return spec.module.main


def rewritten(function: Function) -> tuple[Function, list[int]]:
    names = NameSupply(names_of(function))
    return mark_log_domain(function, ("x",), function.results, Facts(), names)


def operations(function: Function) -> list[str]:
    """The statements without types, and without what only logarithms are computed by."""
    lines = print_ir(eliminate_dead_code(function), types=False).splitlines()[1:-1]
    return [line.strip() for line in lines]


# ---------------------------------------------------------------- before and after


def logistic(x: Any) -> Any:
    return np.sum(1.0 / (1.0 + np.exp(-x)))


LOGISTIC = """
    t = negative(x)
    t_1 = exp(t)
    t_2 = add(1.0, t_1)
    t_5 = logaddexp(0.0, t)
    t_3_1 = divide(1.0, t_2)
    t_7 = negative(t_5)
    t_8 = log_logistic(t_7, t_3_1, 1.0, t_1, x)
    t_3 = exp_as(t_3_1, t_8, own_name=True)
    t_4 = sum(t_3, axis=None, keepdims=False)
"""


def test_before_and_after() -> None:
    before = value_form(logistic)
    after, _ = rewritten(before)
    assert operations(after) == textwrap.dedent(LOGISTIC).strip().splitlines()
    assert print_ir(erase_log_domain_in(after)) == print_ir(before)


def softplus(x: Any) -> Any:
    return np.sum(np.log(1.0 + np.exp(x)))


def softplus_by_log1p(x: Any) -> Any:
    return np.sum(np.log1p(np.exp(x)))


def other_half(x: Any) -> Any:
    return np.sum(np.exp(x) / (1.0 + np.exp(x)))


def softmax(x: Any) -> Any:
    e = np.exp(x)
    return np.sum(e / np.sum(e) * np.arange(3.0))


def logsumexp(x: Any) -> Any:
    return np.log(np.sum(np.exp(x)))


def of_rows(x: Any) -> Any:
    m = np.outer(np.ones(2), x)
    return np.sum(np.log(np.sum(np.exp(m), axis=1, keepdims=True)))


def with_a_constant(x: Any) -> Any:
    return np.log(np.sum(np.exp(x)) + 2.0)


def logmeanexp(x: Any) -> Any:
    return np.log(np.mean(np.exp(x)))


def logaddexp(x: Any) -> Any:
    return np.sum(np.log(np.exp(x) + np.exp(-2.0 * x)))


def three(x: Any) -> Any:
    return np.sum(np.log(np.exp(x) + np.exp(-2.0 * x) + np.exp(x * x)))


def logcosh(x: Any) -> Any:
    return np.sum(np.log(np.cosh(x)))


def silu(x: Any) -> Any:
    return np.sum(x / (1.0 + np.exp(-x)))


def loss(x: Any) -> Any:
    return np.sum(-np.log(1.0 / (1.0 + np.exp(-x))))


def log_of_softmax(x: Any) -> Any:
    e = np.exp(x)
    return -np.log(e / np.sum(e))[1]


def root(x: Any) -> Any:
    return np.sum(np.sqrt(1.0 + np.exp(x)))


def density(x: Any) -> Any:
    e = np.exp(-x)
    return np.sum(e / (1.0 + e) ** 2)


FOUND = {
    logistic: ["log_logistic", "exp_as"],
    softplus: ["log_plus", "log_as"],
    softplus_by_log1p: ["log_plus", "log_as"],
    other_half: ["log_plus", "log_part", "exp_ratio_as"],
    softmax: ["log_total", "log_share", "exp_ratio_as"],
    logsumexp: ["log_total", "log_as"],
    of_rows: ["log_total", "log_as"],
    with_a_constant: ["log_total", "log_as"],
    logmeanexp: ["log_total", "log_as"],
    logaddexp: ["log_add", "log_as"],
    three: ["log_add_three", "log_as"],
    logcosh: ["log_cosh", "log_as"],
    silu: ["log_plus", "quotient_as"],
    loss: ["log_logistic", "exp_as", "log_as"],
    log_of_softmax: ["log_share", "exp_ratio_as", "log_ratio_as"],
    root: ["log_plus", "exp_as"],
    density: ["log_plus", "exp_ratio_as"],
}


@pytest.mark.parametrize("f", FOUND, ids=lambda f: f.__name__)
def test_what_is_found(f: Any) -> None:
    before = value_form(f)
    after, places = rewritten(before)
    used = {line.split(" = ")[1].split("(")[0] for line in operations(after)}
    assert used & set(LOG_DOMAIN_RULES) >= set(FOUND[f]) - {"log_total"}
    assert print_ir(erase_log_domain_in(after)) == print_ir(before), "what is computed is as it was"
    again, _ = rewritten(after)
    assert print_ir(again) == print_ir(after), "what is marked is not marked again"
    for stmt, k in zip(before.body, places, strict=True):
        assert stmt.op.name == after.body[k].op.name  # type: ignore[union-attr]


@pytest.mark.parametrize("f", FOUND, ids=lambda f: f.__name__)
def test_all_modes_and_orders(f: Any) -> None:
    s2s.check_grads(f, X, backend="loops")


def test_nothing_to_find() -> None:
    def shifted(x: Any) -> Any:
        e = np.exp(x - np.max(x))
        return np.log(np.sum(e)) + np.sum(e / np.sum(e) * x)

    def bounded(x: Any) -> Any:
        return np.sum(np.log1p(np.exp(-np.abs(x))) + 1.0 / (1.0 + np.exp(-(x * x))))

    def other(x: Any) -> Any:
        return np.sum(np.log(x * x + np.exp(x)) + x / np.exp(x))

    for f in (shifted, bounded, other):
        before = value_form(f)
        assert rewritten(before)[0] is before, f.__name__


def test_a_sum_outside_of_a_loop_is_pulled_back_once() -> None:
    def f(x: Any) -> Any:
        total = np.sum(np.exp(x))
        out = 0.0
        for i in range(len(x)):
            out += x[i] / total
        return out

    g = s2s.grad(f, backend="loops")
    np.testing.assert_allclose(g(X), s2s.grad(f, backend="python")(X))
    assert "max" not in g.source.split("for ")[2]
    s2s.check_grads(f, X, backend="loops")


def test_values_are_the_same_bit_by_bit() -> None:
    x = np.concatenate([np.linspace(-1e3, 1e3, 101), np.linspace(-5, 5, 101)])
    for f in FOUND:
        if "np.arange(3" in inspect.getsource(f):
            continue
        plain = s2s.function(f, backend="loops")
        graded = s2s.value_and_grad(f, backend="loops")
        for v in (x, x.astype(np.float32)):
            with np.errstate(all="ignore"):
                one, other = np.asarray(plain(v)), np.asarray(graded(v)[0])
            assert one.tobytes() == other.tobytes(), f.__name__


def test_derivative_by_a_value_in_between() -> None:
    """A tape's source may be the sum that the logarithm would bypass."""

    def f(x: Any) -> Any:
        with s2s.GradientTape(persistent=True) as tape:
            tape.watch(x)
            total = 1.0 + np.exp(x)
            y = np.sum(1.0 / total)
        return tape.gradient(y, x), tape.gradient(y, total)

    by_x, by_total = s2s.function(f, backend="loops")(X.copy())
    e = np.exp(X)
    np.testing.assert_allclose(by_x, -e / (1.0 + e) ** 2)
    np.testing.assert_allclose(by_total, -1.0 / (1.0 + e) ** 2)


def test_batched() -> None:
    rows = np.array([[-800.0, 1.0, 2.0], [0.5, 900.0, -1.0]])
    for f in (logistic, logsumexp, softplus, with_a_constant, logmeanexp, logaddexp):
        many = s2s.vmap(s2s.grad(f), backend="loops")(rows)
        one = s2s.grad(f, backend="loops")
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(many, [one(r) for r in rows], err_msg=f.__name__)


def test_empty() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.log(np.sum(np.exp(x), axis=1) + 1.0)) + np.sum(
            np.log(np.sum(np.exp(x), axis=1))
        )

    with np.errstate(all="ignore"):
        assert s2s.grad(f, backend="loops")(np.zeros((3, 0))).shape == (3, 0)
        assert s2s.grad(f, backend="loops")(np.zeros((0, 3))).shape == (0, 3)
