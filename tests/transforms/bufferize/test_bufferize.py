"""Memory form has the semantics of value form, with updates in place wherever that is safe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.bufferize.bufferize import bufferize, sequential
from s2s.transforms.checkpoint.plan_tape import plan_tape
from s2s.transforms.ir.builder import const
from s2s.transforms.ir.nodes import Assign, For, If, Module, Stmt, Store, Var, While, walk
from s2s.transforms.ir.printer import print_ir
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.simplify import simplify
from tests.transforms.cases import CASES, Case
from tests.transforms.programs import F8, Program, program, vector
from tests.transforms.random_programs import Random, arguments
from tests.transforms.running import check_text

X = np.array([1.0, 2.0, 3.0, 4.0])
MODES = pytest.mark.parametrize("for_lowering", [False, True], ids=["readable", "lowering"])


def copies(module: Module, for_lowering: bool = False) -> list[tuple[int, str]]:
    """The (loop depth, copied name) of each copy."""
    found: list[tuple[int, str]] = []

    def visit(block: list[Stmt], depth: int) -> None:
        for stmt in block:
            if isinstance(stmt, Assign) and stmt.op.name == "copy":
                found.append((depth, stmt.op.args[0].name))
            if isinstance(stmt, (For, While)):
                visit(stmt.body, depth + 1)

    visit(bufferize(module, for_lowering).main.body, 0)
    return found


def with_effect(module: Module, param: str, value: Any) -> Module:
    f = module.main
    (p,) = (p for p in f.params if p.name == param)
    return module.with_main(replace(f, effects=[(p, value)]))


@MODES
def test_update_in_place(for_lowering: bool) -> None:
    module = program({"x": vector("x")}, lambda p, x: p.set(p.zeros_like(x), 1.0, 0))
    assert copies(module, for_lowering) == []
    check_text(module, X, for_lowering=for_lowering)


@MODES
def test_a_parameter_is_not_written(for_lowering: bool) -> None:
    module = program({"x": vector("x")}, lambda p, x: p.set(x, 1.0, 0))
    assert copies(module, for_lowering) == [(0, "x")]
    check_text(module, X, for_lowering=for_lowering)


@MODES
def test_old_version_needed_after_the_update(for_lowering: bool) -> None:
    def build(p: Program, x):
        a = x * 2.0
        b = p.set(a, 5.0, 1)
        return a * b

    module = program({"x": vector("x")}, build)
    assert len(copies(module, for_lowering)) == 1
    check_text(module, X, for_lowering=for_lowering)


@MODES
def test_old_version_needed_after_a_loop_is_copied_once(for_lowering: bool) -> None:
    def build(p: Program, x):
        a = x * 2.0
        (b,) = p.loop(4, [a], lambda i, s: [p.set(s, 5.0, i)], names=["b"])
        return a * b

    module = program({"x": vector("x")}, build)
    assert [depth for depth, _ in copies(module, for_lowering)] == [0]
    check_text(module, X, for_lowering=for_lowering)


@MODES
def test_clobbered_view_is_copied_not_its_base(for_lowering: bool) -> None:
    def build(p: Program, x):
        a = x * 2.0
        v = p.emit("index", a, 1, 3, items=(("slice", 1, 2, None),), hint="v")
        b = p.set(a, 5.0, 1)
        return [p.sum(v), b]

    module = program({"x": vector("x")}, build)
    assert [name for _, name in copies(module, for_lowering)] == ["v_view"]
    check_text(module, X, for_lowering=for_lowering)


@MODES
def test_a_view_that_is_dead_costs_nothing(for_lowering: bool) -> None:
    def build(p: Program, x):
        a = x * 2.0
        total = p.sum(p.emit("index", a, 1, 3, items=(("slice", 1, 2, None),)))
        return p.set(a, total, 1)

    assert copies(program({"x": vector("x")}, build), for_lowering) == []


@MODES
def test_assignment_between_overlapping_parts(for_lowering: bool) -> None:
    def build(p: Program, x):
        a = x * 2.0
        tail = p.emit("index", a, 1, items=(("slice", 1, None, None),), hint="tail")
        path = (("index", (("slice", None, 2, None),)),)
        return p.emit("update", a, tail, -1, path=path)

    check_text(program({"x": vector("x")}, build), X, for_lowering=for_lowering)


@MODES
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_two_arrays_swap_roles_without_copies(for_lowering: bool, n: int) -> None:
    def build(p: Program, x):
        def body(t, u, v):
            def inner(i, w):
                return [p.set(w, p.get(u, i) * 2.0 + p.get(w, i), i)]

            (w,) = p.loop(4, [v], inner, names=["v"])
            return [w, u]

        return p.loop(n, [x * 1.0, x * 3.0], body, names=["u", "v"])

    module = program({"x": vector("x")}, build)
    assert copies(module, for_lowering) == []
    check_text(module, X, for_lowering=for_lowering)


@MODES
def test_swap_that_starts_from_one_array_copies_once(for_lowering: bool) -> None:
    def build(p: Program, x):
        a = x * 1.0
        return p.loop(3, [a, a], lambda t, u, v: [p.set(v, p.get(u, t), 0), u], names=["u", "v"])

    module = program({"x": vector("x")}, build)
    assert [depth for depth, _ in copies(module, for_lowering)] == [0]
    check_text(module, X, for_lowering=for_lowering)


@MODES
def test_three_scalars_rotate(for_lowering: bool) -> None:
    def build(p: Program, x, y):
        return p.loop(4, [x, y, x * y], lambda i, a, b, c: [b, c, a], names=["a", "b", "c"])

    module = program({"x": F8, "y": F8}, build)
    check_text(module, 2.0, 3.0, for_lowering=for_lowering)


@MODES
@pytest.mark.parametrize("in_place", [True, False])
def test_effect_on_a_parameter(for_lowering: bool, in_place: bool) -> None:
    def build(p: Program, x):
        y = p.set(x, 7.0, 0)
        return y if in_place else [y * 2.0, y]

    module = program({"x": vector("x")}, build)
    first = module.main.results[0]
    module = with_effect(module, "x", first)
    module = module.with_main(replace(module.main, results=[const(1.0)]))
    stores = [s for s in walk(bufferize(module, for_lowering).main.body) if isinstance(s, Store)]
    # In place there is one store; otherwise the value is written back at the end.
    assert len(stores) == (1 if in_place else 2)
    assert stores[-1].array.name == "x"
    check_text(module, X, for_lowering=for_lowering)


@MODES
def test_parameters_exchange_their_contents(for_lowering: bool) -> None:
    module = program({"x": vector("x"), "y": vector("y")}, lambda p, x, y: p.sum(x) * 1.0)
    f = module.main
    x, y = f.params
    module = module.with_main(replace(f, effects=[(x, y), (y, x)]))
    check_text(module, X, X * 2.0, for_lowering=for_lowering)


@MODES
def test_entry_value_of_an_overwritten_parameter(for_lowering: bool) -> None:
    def build(p: Program, x):
        y = p.set(x, 7.0, 0)
        return [y * x, y]

    module = program({"x": vector("x")}, build)
    result, value = module.main.results
    module = with_effect(module, "x", value)
    module = module.with_main(replace(module.main, results=[result]))
    assert copies(module, for_lowering) == [(0, "x")]
    check_text(module, X, for_lowering=for_lowering)


@MODES
def test_results_are_fresh_and_apart(for_lowering: bool) -> None:
    def build(p: Program, x):
        a = x * 2.0
        return [x, a, p.emit("index", a, -1, items=(("slice", None, None, 1),))]

    check_text(program({"x": vector("x")}, build), X, for_lowering=for_lowering)


@MODES
def test_broadcast_values_are_never_written(for_lowering: bool) -> None:
    def build(p: Program, x, y):
        a = p.emit("broadcast_to", y, 3)
        return p.set(a, 5.0, 1)

    check_text(program({"x": vector("x"), "y": F8}, build), X, 2.0, for_lowering=for_lowering)


def test_compiled_variables_do_not_mix_parameters_with_their_own_arrays() -> None:
    def build(p: Program, x):
        (y,) = p.branch(p.sum(x) > 0.0, lambda: [x], lambda: [x * 2.0])
        return p.sum(y)

    module = program({"x": vector("x")}, build)
    assert copies(module) == []
    (branch,) = (s for s in bufferize(module, for_lowering=True).main.body if isinstance(s, If))
    assert isinstance(branch.then[0], Assign) and branch.then[0].op.name == "copy"
    check_text(module, X, for_lowering=True)
    check_text(module, -X, for_lowering=True)


@MODES
def test_until_reads_the_flag_of_its_own_iteration(for_lowering: bool) -> None:
    def build(p: Program, x):
        def body(i, s, flag):
            return [s * 2.0, s > 3.0]

        out = p.loop(9, [x, const(False)], body, names=["s", "flag"])
        (loop,) = (s for s in p.block if isinstance(s, For))
        loop.until = loop.carried[1].phi
        return out[0]

    check_text(program({"x": F8}, build), 1.0, for_lowering=for_lowering)


def test_names_do_not_clash() -> None:
    def build(p: Program, x, y):
        a = p.emit("multiply", x, y, hint="np", user="np")
        b = p.emit("add", a, y, hint="lambda", user="lambda")
        c = p.emit("sin", b, hint="range", user="range")
        return p.loop(3, [c], lambda i, s: [s + a + b], names=["strong_mul"])

    check_text(program({"x": F8, "y": F8}, build), 1.5, 2.5)


def test_sequential_moves() -> None:
    def v(name: str) -> Var:
        return Var(name, F8)

    def run(moves: list[tuple[str, str]]) -> dict[str, str]:
        values = {n: n for pair in moves for n in pair}
        for target, value in sequential([(v(t), v(s)) for t, s in moves], lambda x: v("spare")):
            assert isinstance(value, Var)
            values[target.name] = values[value.name]
        return values

    for moves in (
        [("a", "b"), ("b", "a")],
        [("a", "b"), ("b", "c"), ("c", "a")],
        [("a", "b"), ("c", "b"), ("b", "a")],
        [("a", "b"), ("b", "c"), ("d", "a")],
    ):
        got = run(moves)
        assert all(got[t] == s for t, s in moves)


# ---------------------------------------------------------------- whole programs


def gradient(case: Case, stage: str) -> Module:
    module = reverse(case.module, case.wrt, 0, Facts())
    return module if stage == "reverse" else plan_tape(simplify(module))


@MODES
@pytest.mark.parametrize("stage", ["reverse", "save"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_gradients(case: Case, stage: str, for_lowering: bool) -> None:
    """Slots on stacks as `reverse` leaves them, and as `plan_tape` plans them."""
    module = gradient(case, stage)
    for args in case.args:
        check_text(module, *args, 1.0, for_lowering=for_lowering)


@MODES
def test_random_programs(for_lowering: bool) -> None:
    for seed in range(60):
        module = Random(seed).function()
        check_text(module, *arguments(module, seed), for_lowering=for_lowering)


def test_deterministic() -> None:
    for seed in range(5):
        texts = []
        for _ in range(2):
            module: Module = Random(seed).function()
            texts.append(check_text(module, *arguments(module, 0)))
        assert texts[0] == texts[1]


def test_input_is_not_changed() -> None:
    module = Random(3).function()
    before = print_ir(module.main)
    bufferize(module)
    assert print_ir(module.main) == before
