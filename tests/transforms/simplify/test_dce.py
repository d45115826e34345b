"""Dead code: what is removed, what stays, and which statements live and die together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Call,
    Const,
    Custom,
    Draw,
    For,
    Function,
    If,
    Module,
    Op,
    Origin,
    Phi,
    Print,
    Raise,
    Save,
    Scalar,
    Slot,
    Span,
    Stmt,
    Store,
    Var,
    While,
    walk,
)
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.simplify.dce import eliminate_dead_code, is_user_code
from tests.transforms.cases import CASES, Case
from tests.transforms.programs import BOOL, F8, program, run

INT = Scalar("int64")


def v(name: str, type_: Any = F8) -> Var:
    return Var(name, type_)


def sine(target: str, source: str, line: int = 0, sweep: int = 0) -> Assign:
    span = Span("f.py", line, 0, line, 1)
    origin = Origin(span, span, sweep=sweep) if line else None
    return Assign(v(target), Op("sin", (v(source),)), origin)


def cleaned(body: list[Stmt], *results: str, **fields: Any) -> Function:
    function = Function("f", [v("x"), v("y")], body, [v(r) for r in results], **fields)
    return eliminate_dead_code(function)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_results_stay_and_a_second_run_changes_nothing(case: Case) -> None:
    module = case.module
    for stmt in walk(module.main.body):
        stmt.origin = None
    clean = eliminate_dead_code(module.main)
    assert eliminate_dead_code(clean).body == clean.body
    for args in case.args:
        for got, want in zip(run(Module({"f": clean}, "f"), *args), run(module, *args)):
            np.testing.assert_array_equal(got, want)


def test_roots_are_results_effects_and_statements_with_effects() -> None:
    body: list[Stmt] = [
        sine("a", "x"), sine("b", "x"), sine("c", "x"), sine("d", "x"), sine("e", "x"),
        sine("g", "x"), sine("dead", "a"),
        Raise("ValueError", ("no", v("b"))),
        Print(((v("c"), ".2f"),)),
        Draw([v("r")], None, "standard_gamma", (v("d"),)),
        Store(v("y"), v("e"), ()),
    ]  # fmt: skip
    clean = cleaned(body, "a", effects=[(v("x"), v("g"))])
    assert clean.body == [s for s in body if s is not body[6]]


def test_a_call_with_side_effects_stays_and_others_do_not() -> None:
    keep, drop = Call([v("a")], "g", (v("x"),), keep=True), Call([v("b")], "g", (v("y"),))
    assert cleaned([sine("s", "x"), replace(keep, args=(v("s"),)), drop]).body == [
        sine("s", "x"), replace(keep, args=(v("s"),)),
    ]  # fmt: skip
    assert cleaned([drop], "b").body == [drop]


def test_a_custom_value_needs_its_inputs_too() -> None:
    pullback = Function("p", [], [], [])
    custom = Custom([v("z")], (v("a"),), (v("b"),), (v("c"),), pullback)
    body: list[Stmt] = [sine("a", "x"), sine("b", "x"), sine("c", "x"), custom]
    assert cleaned(body, "z").body == body
    assert cleaned(body, "x").body == []


def test_phis_and_the_condition_of_a_live_branch() -> None:
    branch = If(
        v("t", BOOL),
        [sine("a", "x"), sine("b", "x")],
        [sine("c", "x"), sine("d", "x")],
        [Phi(v("p"), v("a"), v("c")), Phi(v("q"), v("b"), v("d"))],
    )
    test = Assign(v("t", BOOL), Op("less", (v("x"), v("y"))))
    clean = cleaned([test, branch], "p")
    assert clean.body == [
        test,
        If(v("t", BOOL), [sine("a", "x")], [sine("c", "x")], [Phi(v("p"), v("a"), v("c"))]),
    ]
    assert len(branch.phis) == 2, "the statement given is left as it is"
    assert cleaned([test, branch], "x").body == []


def test_a_branch_stays_for_what_it_raises() -> None:
    branch = If(v("t", BOOL), [Raise("ValueError", ("no",))], [sine("c", "x")])
    test = Assign(v("t", BOOL), Op("less", (v("x"), v("y"))))
    assert cleaned([test, branch]).body == [test, replace(branch, orelse=[])]


def test_carried_values_that_feed_only_themselves_are_dead() -> None:
    def build(p: Any, x: Any, y: Any) -> Any:
        return p.loop(3, [x, y, y], lambda i, a, b, c: [a * c, b * 2.0, c])[0]

    module = program({"x": F8, "y": F8}, build)
    for s in walk(module.main.body):
        s.origin = None
    (loop,) = eliminate_dead_code(module.main).body
    assert isinstance(loop, For) and len(loop.carried) == 2
    assert [s.op.name for s in loop.body if isinstance(s, Assign)] == ["multiply"]


def test_a_trip_count_keeps_its_loop_but_not_its_values() -> None:
    def build(p: Any, x: Any, y: Any) -> Any:
        p.repeat([x, y], lambda a, b: [a < 9.0], lambda a, b: [a * 2.0, b * 2.0])
        (loop,) = p.block
        assert isinstance(loop, While)
        loop.trips = p.var(INT, "n")
        return p.sym(loop.trips)

    module = program({"x": F8, "y": F8}, build)
    for s in walk(module.main.body):
        s.origin = None
    clean = eliminate_dead_code(module.main)
    (loop,) = clean.body
    assert isinstance(loop, While) and len(loop.carried) == 1 and loop.trips is not None
    assert run(Module({"f": clean}, "f"), 1.0, 0.0) == run(module, 1.0, 0.0) == [4]


def test_the_bounds_of_a_live_loop_are_live() -> None:
    sizes = [Assign(v(n, INT), Op("cast", (v("x"),), {"dtype": "int64"})) for n in "abc"]
    until = Assign(v("u", BOOL), Op("less", (v("x"), v("y"))))
    loop = For(v("i", INT), *(v(n, INT) for n in "abc"), [Print(("here",)), until])  # type: ignore[misc]
    loop.until = v("u", BOOL)
    body: list[Stmt] = [*sizes, loop]
    assert cleaned(body).body == body


def test_a_loop_whose_index_alone_is_read() -> None:
    loop = For(v("i", INT), *(Const(n, INT) for n in (0, 3, 1)), [Print((v("i", INT),))])  # type: ignore[misc]
    assert cleaned([loop]).body == [loop]


# ---------------------------------------------------------------- slots


@dataclass
class Plan:
    """What the checkpointing pass records of a slot."""

    sizes: tuple[Var, ...]

    def operands(self) -> tuple[Var, ...]:
        return self.sizes


def test_a_save_lives_with_its_restore() -> None:
    used, unused = Slot("used", F8), Slot("unused", F8)
    n = Assign(v("n", INT), Op("cast", (v("x"),), {"dtype": "int64"}))
    body: list[Stmt] = [
        n, sine("a", "x"), sine("b", "x"), Save(used, v("a")), Save(unused, v("b")),
        Assign(v("back"), Op("restore", (), {"slot": used})),
        Assign(v("lost"), Op("restore", (), {"slot": unused})),
    ]  # fmt: skip
    notes = {"slots": {"used": Plan((v("n", INT),)), "unused": Plan(())}, "other": 1}
    function = Function("f", [v("x")], body, [v("back")], notes=notes)
    clean = eliminate_dead_code(function)
    assert clean.body == [n, body[1], body[3], body[5]], "sizes of the storage are live"
    assert clean.notes == {"slots": {"used": notes["slots"]["used"]}, "other": 1}  # type: ignore[index]
    assert set(function.notes["slots"]) == {"used", "unused"}


# ---------------------------------------------------------------- the user's statements


def test_a_statement_of_the_user_is_kept_or_dropped_as_a_whole() -> None:
    first = [sine("a", "x", 1), sine("b", "a", 1)]
    second = [sine("c", "x", 2), sine("d", "c", 2)]
    assert cleaned([*first, *second], "a").body == first
    assert cleaned([*first, *second], "d").body == second


@pytest.mark.parametrize("changes", [{"sweep": 1}, {"batched": True}])
def test_other_statements_of_that_line_are_dropped_one_by_one(changes: Any) -> None:
    first = [sine("a", "x", 1), sine("b", "a", 1)]
    for s in first:
        assert s.origin is not None and is_user_code(s)
        s.origin = replace(s.origin, **changes)
        assert not is_user_code(s)
    assert cleaned([*first], "a").body == first[:1]
    assert not is_user_code(sine("a", "x"))


def test_statements_of_another_block_are_another_group() -> None:
    branch = If(v("t", BOOL), [sine("b", "a", 1)], [], [])
    test = Assign(v("t", BOOL), Op("less", (v("x"), v("y"))))
    assert cleaned([test, sine("a", "x", 1), branch], "a").body == [sine("a", "x", 1)]


def test_an_undefined_value_of_a_statement_is_not_kept_with_it() -> None:
    type_ = Array("float64", (Dim.of("u.0"),))
    undefined = Assign(v("u", type_), Op("undef", (), {"type": type_}), sine("a", "x", 1).origin)
    assert cleaned([undefined, sine("a", "x", 1)], "a").body == [sine("a", "x", 1)]
