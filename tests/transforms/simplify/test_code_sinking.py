"""A value that only one arm of an `if` reads is computed in that arm."""

from __future__ import annotations

from typing import Any

import numpy as np

import s2s
from s2s.transforms.ir.nodes import Module, Type
from s2s.transforms.ir.printer import print_ir
from s2s.transforms.simplify.code_sinking import sink
from tests.transforms.programs import F8, Program, program, run, vector


def build(f: Any, **params: Type) -> tuple[Module, str]:
    """A program of adjoint code only, and its text after the pass."""

    def built(p: Program, *args: Any) -> Any:
        p.line = lambda: None  # type: ignore[method-assign]
        p.origin = None
        return f(p, *args)

    module = program(params, built)
    after = sink(module)
    x = np.array([0.5, -1.0])
    for c in (1.0, -1.0):
        np.testing.assert_array_equal(run(after, x, c)[0], run(module, x, c)[0])
    return module, print_ir(after, types=False)


def test_into_the_arm_that_reads_it_with_what_it_is_computed_from() -> None:
    def f(p: Program, x: Any, c: Any) -> Any:
        y = x * 2.0 + x
        return p.branch(c > 0.0, lambda: [np.exp(y)], lambda: [x * 3.0])

    _, after = build(f, x=vector("x"), c=F8)
    assert (
        after.strip()
        == """
def f(x, c):
    t_2 = greater(c, 0.0)
    if t_2:
        t = multiply(x, 2.0)
        t_1 = add(t, x)
        t_3 = exp(t_1)
    else:
        t_4 = multiply(x, 3.0)
    y = t_3 | t_4
    return y
""".strip()
    )


def unchanged(f: Any) -> None:
    before, after = build(f, x=vector("x"), c=F8)
    assert after == print_ir(before, types=False)


def test_what_both_arms_or_later_statements_read_stays() -> None:
    def both(p: Program, x: Any, c: Any) -> Any:
        y = x * 2.0
        return p.branch(c > 0.0, lambda: [np.exp(y)], lambda: [np.sin(y)])

    def later(p: Program, x: Any, c: Any) -> Any:
        y = x * 2.0
        (z,) = p.branch(c > 0.0, lambda: [np.exp(y)], lambda: [x * 3.0])
        return z + y

    def as_result_of_the_arm(p: Program, x: Any, c: Any) -> Any:
        y = x * 2.0
        return p.branch(c > 0.0, lambda: [y], lambda: [x * 3.0])

    unchanged(both)
    unchanged(later)
    unchanged(as_result_of_the_arm)


def test_what_reads_an_array_that_is_overwritten_stays() -> None:
    def f(p: Program, x: Any, c: Any) -> Any:
        a = x * 2.0
        y = np.exp(a)
        a = p.set(a, 5.0, 0)
        (z,) = p.branch(c > 0.0, lambda: [np.sin(y)], lambda: [x * 3.0])
        return z + a

    unchanged(f)


def test_statements_of_the_user_stay() -> None:
    def f(p: Program, x: Any, c: Any) -> Any:
        y = x * 2.0
        return p.branch(c > 0.0, lambda: [np.exp(y)], lambda: [x * 3.0])

    module = program({"x": vector("x"), "c": F8}, f)
    assert print_ir(sink(module), types=False) == print_ir(module, types=False)


def test_terms_of_a_sum_that_overflows_are_computed_again_only_then() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            y = x[i] * 2.0 + 1.0
            total += np.log(np.sum(np.exp(y)))
        return total

    gradient = s2s.grad(f, backend="loops")
    x = np.array([[1.0, 2.0], [800.0, 801.0], [-900.0, -900.0]])
    share = 1 / (1 + np.exp(2.0))
    with np.errstate(over="ignore", divide="ignore"):
        got = gradient(x)
    want = 2 * np.array([[share, 1 - share], [share, 1 - share], [0.5, 0.5]])
    np.testing.assert_allclose(got, want, rtol=1e-12)
    sweep = gradient.source.split("adjoint sweep ----")[1]
    choice, again = sweep.index("if "), sweep.index("* 2.0 + 1.0")
    assert choice < again
