"""Checkpointed loops: the derivatives, and the number of recomputed steps."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.custom_derivative import erase_custom_derivatives
from s2s.transforms.autodiff.forward import forward
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.checkpoint.plan_tape import plan_tape
from s2s.transforms.ir.builder import const
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Block,
    Budget,
    For,
    If,
    ListOf,
    Module,
    Save,
    While,
    walk,
)
from s2s.transforms.ir.op_registry import RULES
from s2s.transforms.ir.scopes import dims_of
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.simplify import simplify
from tests.transforms.cases import CASES, Case
from tests.transforms.programs import F8, int_scalar, program, run, vector


def checkpointed(module: Module, snapshots: int) -> Module:
    """The module with a checkpoint budget for every loop that may have one."""

    def visit(block: Block) -> Block:
        out: Block = []
        for stmt in block:
            if isinstance(stmt, If):
                stmt = replace(stmt, then=visit(stmt.then), orelse=visit(stmt.orelse))
            elif isinstance(stmt, While):
                stmt = replace(stmt, test=visit(stmt.test), body=visit(stmt.body))
            elif isinstance(stmt, For):
                stmt = replace(stmt, body=visit(stmt.body))
                if _fits(stmt):
                    stmt.budget = Budget(const(np.int64(snapshots)))
            out.append(stmt)
        return out

    main = module.main
    return module.with_main(replace(main, body=visit(main.body)))


def _fits(loop: For) -> bool:
    same = all(
        dims_of(c.init) == dims_of(c.next) and not isinstance(c.phi.type, ListOf)
        for c in loop.carried
    )
    plain = not any(isinstance(s, Save) or _restores(s) for s in walk(loop.body))
    return same and plain and loop.until is None and loop.count is None


def _restores(stmt: Any) -> bool:
    return isinstance(stmt, Assign) and stmt.op.name == "restore"


LOOPS = [c for c in CASES if any(isinstance(s, For) and _fits(s) for s in walk(c.module.main.body))]


@pytest.mark.parametrize("case", LOOPS, ids=lambda c: c.name)
def test_the_same_gradient_in_every_order(case: Case) -> None:
    plain = reverse(case.module, case.wrt, 0, Facts())
    once = reverse(checkpointed(case.module, 2), case.wrt, 0, Facts())
    assert len(list(walk(once.main.body))) != len(list(walk(plain.main.body)))
    saved = simplify(plan_tape(simplify(erase_custom_derivatives(once))))
    pushed = [forward(m, case.wrt, Facts()) for m in (plain, once)]
    results = len(case.module.main.results)
    pulled = [reverse(m, case.wrt, results, Facts()) for m in (plain, once)]
    at = [list(case.params).index(name) for name in case.wrt]
    for args in case.args:
        dots = tuple(np.cos(np.arange(np.size(args[k]))).reshape(np.shape(args[k]))[()] for k in at)
        for want, got, more in (
            (plain, once, ()), (plain, saved, ()), (*pushed, dots), (*pulled, dots[:1])
        ):  # fmt: skip
            for w, g in zip(run(want, *args, 0.7, *more), run(got, *args, 0.7, *more), strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- the schedule


def chain(snapshots: Any) -> Module:
    """x = sin(w x), n times; the sweep reads only the state x."""

    def build(p: Any, x: Any, w: Any, n: Any) -> Any:
        return p.loop(n, [x], lambda i, s: [p.emit("sin", w * s)], budget=Budget(const(snapshots)))

    return program({"x": vector("x"), "w": F8, "n": int_scalar("n")}, build)


@functools.cache
def fewest(n: int, s: int) -> int:
    """The minimal number of recomputed steps, by exhaustive search over snapshot positions."""
    if n == 1:
        return 0
    if s == 1:
        return n * (n - 1) // 2
    return min(m + fewest(n - m, s - 1) + fewest(m, s) for m in range(1, n))


def closed_form(n: int, s: int) -> int:
    """The same by the formula of Griewank and Walther."""
    r = next(r for r in range(n + 1) if math.comb(s + r, s) >= n)
    return r * n - math.comb(s + r, r - 1) if r else 0


@pytest.mark.parametrize("s", (1, 2, 3, 4, 7, 40))
def test_as_few_steps_as_possible(s: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    rule = RULES["sin"]

    def counted(*args: Any, **attrs: Any) -> Any:
        nonlocal calls
        calls += 1
        return np.sin(*args)

    vjp = simplify(erase_custom_derivatives(reverse(chain(s), ("x", "w"), 0, Facts())))
    monkeypatch.setitem(RULES, "sin", replace(rule, evaluate=counted))
    for n in (1, 2, 3, 4, 5, 9, 20, 33):
        calls = 0
        run(vjp, np.array([0.3, 0.4]), 0.8, n, np.ones(2))
        assert calls - n == fewest(n, s) == closed_form(n, s), n


def test_only_the_state_is_kept() -> None:
    """Memory is allocated for snapshots of the values that the sweep reads, and for no array with
    one element per iteration."""

    def build(p: Any, x: Any, y: Any, n: Any) -> Any:
        def body(i: Any, x: Any, total: Any, unused: Any) -> Any:
            moved = p.emit("sin", x * y)
            return moved, total + p.sum(moved * moved), unused + 1.0

        budget = Budget(const(5))
        return p.loop(n, [x, 0.0, x], body, names=("x", "total", "unused"), budget=budget)[1]

    params = {"x": vector("x"), "y": vector("x"), "n": int_scalar("n")}
    module = program(params, build)
    vjp = simplify(
        plan_tape(simplify(erase_custom_derivatives(reverse(module, ("x", "y"), 0, Facts()))))
    )
    assert not any(isinstance(s, Save) for s in walk(vjp.main.body))
    rooms = [
        s.target.type for s in walk(vjp.main.body)
        if isinstance(s, Assign) and s.op.name in ("empty", "zeros")
    ]  # fmt: skip
    assert sorted(t.ndim for t in rooms if isinstance(t, Array)) == [1, 2]
    x, y = np.array([0.3, -0.4]), np.array([0.9, 1.1])
    want = reverse(program(params, lambda p, *a: _without_budget(build, p, *a)), ("x", "y"), 0)
    for w, g in zip(run(want, x, y, 12, 1.0), run(vjp, x, y, 12, 1.0), strict=True):
        np.testing.assert_allclose(g, w)


def _without_budget(build: Any, p: Any, *args: Any) -> Any:
    out = build(p, *args)
    for stmt in p.block:
        if isinstance(stmt, For):
            stmt.budget = None
    return out
