"""Dense tape arrays: their axes, sizes and indices, and which slots are stacks instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.checkpoint.plan_tape import plan_tape
from s2s.transforms.checkpoint.tape_arrays import SlotPlan
from s2s.transforms.ir.builder import const, int_const
from s2s.transforms.ir.nodes import Const, Scalar, Var, symbolic_value
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.simplify import simplify
from tests.transforms.programs import F8, Program, int_scalar, program, vector

N = int_scalar("n")


def plans(params: dict[str, Any], build: Any) -> list[SlotPlan]:
    module = program(params, build)
    main = plan_tape(simplify(reverse(module, ["x"], 0, Facts())), Facts()).main
    return list(main.notes["slots"].values())


def chain(p: Program, x: Any, n: Any) -> Any:
    return p.loop(n, [x], lambda i, s: [s * s * 0.5], names=["s"])


def vectors(p: Program, x: Any, n: Any) -> Any:
    return p.sum(p.loop(n, [x], lambda i, s: [s * s * 0.5], names=["s"])[0])


def test_a_number_per_iteration():
    (plan,) = plans({"x": F8, "n": N}, chain)
    assert plan.kind == "dense" and len(plan.loops) == len(plan.restore_loops) == 1
    assert plan.shape == () and plan.ragged_axes == ()
    assert len(plan.sizes) == len(plan.save_at) == len(plan.restore_at) == 1
    # The index of the loop is the number of the iteration, in both sweeps.
    assert all(isinstance(x, Var) for x in (*plan.save_at, *plan.restore_at))
    assert plan.operands() == (*plan.sizes, *plan.save_at, *plan.restore_at)


def test_an_array_per_iteration():
    (plan,) = plans({"x": vector("x"), "n": N}, vectors)
    assert plan.kind == "dense" and len(plan.sizes) == len(plan.shape) == 1
    assert symbolic_value(plan.shape[0]) == Dim.of("x.0")


def test_constant_bounds_give_a_constant_size():
    def build(p: Program, x: Any) -> Any:
        return p.loop(11, [x], lambda i, s: [s * s * 0.5], start=2, step=3)

    (plan,) = plans({"x": F8}, build)
    assert plan.sizes == (int_const(3),)  # 2, 5, 8


@pytest.mark.parametrize(("start", "step"), [(0, 1), (2, 1), (0, 3), (9, -1), (9, -2)])
def test_iteration_numbers(start, step):
    """Oracle: finite differences; each iteration finds the value that it stored."""

    def f(x: float, n: int) -> float:
        s = x
        for _ in range(start, n, step):
            s = s * s * 0.5 + 0.3
        return s

    g = s2s.grad(f, backend="loops")
    for n in (0, 1, 4, 9, 12):
        slope = (f(0.7 + 1e-6, n) - f(0.7 - 1e-6, n)) / 2e-6
        assert g(0.7, n) == pytest.approx(slope, rel=1e-7, abs=1e-9)
    assert "append" not in g.source


def triangle(x: Any, n: int) -> Any:
    s = x
    for i in range(n):
        for j in range(i):
            s = np.sin(s) * s + j
    return s


def test_an_inner_loop_gets_the_rows_of_its_longest_run():
    g = s2s.grad(triangle, backend="loops")
    for n in (0, 1, 2, 5):
        slope = (triangle(0.7 + 1e-6, n) - triangle(0.7 - 1e-6, n)) / 2e-6
        assert g(0.7, n) == pytest.approx(slope, rel=1e-6, abs=1e-8)
    assert "[i, j]" in g.source and "append" not in g.source


def test_two_sizes_that_depend_on_loops_are_stacks():
    """Too much of an array would be unused."""

    def f(x: Any, n: int) -> Any:
        s = x
        for i in range(n):
            for j in range(i):
                for _ in range(j, i):
                    s = np.sin(s) * s
        return s

    g = s2s.grad(f, backend="loops")
    for n in (0, 1, 4):
        slope = (f(0.7 + 1e-6, n) - f(0.7 - 1e-6, n)) / 2e-6
        assert g(0.7, n) == pytest.approx(slope, rel=1e-6, abs=1e-9)
    assert "append" in g.source


def test_a_length_that_varies_is_a_prefix_of_a_row():
    def f(y: Any, n: int) -> Any:
        for k in range(1, n):
            y[:k] = np.sin(y[:k]) * y[k]
        return np.sum(y * y)

    g = s2s.grad(f, wrt="y", backend="loops")
    for n in (0, 1, 2, 5):
        y = np.linspace(0.3, 1.1, 5)
        found = g(y.copy(), n)
        for i, unit in enumerate(1e-6 * np.eye(5)):
            slope = (f(y + unit, n) - f(y - unit, n)) / 2e-6
            assert found[i] == pytest.approx(slope, rel=1e-6, abs=1e-9)
    assert "append" not in g.source


def test_rows_that_all_iterations_of_an_inner_loop_share():
    def build(p: Program, x: Any, n: Any) -> Any:
        def outer(i: Any, s: Any) -> Any:
            e = np.exp(s)
            return p.loop(n, [s], lambda j, t: [t + e * p.get(p.emit("stack", t, t, axis=0), 0)])

        return p.loop(n, [x], outer)

    ranks = {len(plan.sizes) for plan in plans({"x": F8, "n": N}, build)}
    assert 1 in ranks  # e has no axis for the inner loop


@pytest.mark.parametrize("limit", [3.0, 50.0])
def test_loops_that_end_early_are_stacks(limit):
    def build(p: Program, x: Any) -> Any:
        return p.repeat([x], lambda s: [s < limit], lambda s: [s * s + 0.5], names=["s"])

    (plan,) = plans({"x": F8}, build)
    assert plan.kind == "stack" and plan.operands() == ()
    assert len(plan.loops) == len(plan.restore_loops) == 1


def test_sizes_that_are_known_only_inside_are_stacks():
    """The bound of the inner loop is read from memory."""

    def f(x: Any, k: Any) -> Any:
        s = x
        for i in range(k.shape[0]):
            for _ in range(k[i]):
                s = np.sin(s) * s
        return s

    g = s2s.grad(f, wrt="x", backend="loops")
    for k in ([], [0], [2, 0, 1]):
        ks = np.array(k, np.int64)
        slope = (f(0.7 + 1e-6, ks) - f(0.7 - 1e-6, ks)) / 2e-6
        assert g(0.7, ks) == pytest.approx(slope, rel=1e-6, abs=1e-9)
    assert "append" in g.source


def test_operands_are_substituted_everywhere():
    a, b = Var("a", Scalar("int64")), Var("b", Scalar("int64"))
    plan = SlotPlan("dense", ("L",), ("M",), (a,), (a, int_const(3)), (a,), (b,), ((1, a, b),))
    assert plan.operands() == (a, a, int_const(3), a, b, a, b)
    new = plan.substitute(lambda x: b if x == a else x)
    assert new == SlotPlan(
        "dense", ("L",), ("M",), (b,), (b, int_const(3)), (b,), (b,), ((1, b, b),)
    )
    assert plan.sizes == (a,)


def test_symbolic_values():
    assert symbolic_value(Var("n", N)) == Dim.of("n")
    assert symbolic_value(Var("x", vector("x"))) is None
    assert isinstance(const(2.0), Const) and symbolic_value(const(2.0)) is None
