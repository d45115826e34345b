"""Values that share a variable, and the names of variables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from s2s.transforms.bufferize.alias_analysis import AliasAnalysis
from s2s.transforms.bufferize.coalesce import (
    RESERVED,
    Coalescer,
    Memory,
    all_names,
    bindings,
    key_of,
    primal_results,
)
from s2s.transforms.ir.nodes import Array, Assign, For, Module, Origin, Span, Var
from s2s.transforms.ir.symbolic_dims import Dim
from tests.transforms.programs import BOOL, F8, Program, program, vector

V = vector("x")


def variables(module: Module, for_lowering: bool = False) -> dict[str, str]:
    facts = AliasAnalysis(module.main, for_lowering).facts
    return Coalescer(module.main, Memory(facts.root, facts.fresh), for_lowering).run()


def carried(module: Module):
    (loop,) = (s for s in module.main.body if isinstance(s, For))
    return loop.carried


@pytest.mark.parametrize("for_lowering", [False, True])
def test_a_carried_value_is_one_variable(for_lowering):
    def build(p: Program, x: Any) -> Any:
        return p.loop(3, [x * 2.0], lambda i, s: [s * 0.5], names=["s"])

    module = program({"x": V}, build)
    names = variables(module, for_lowering)
    (c,) = carried(module)
    assert len({names[v.name] for v in (c.phi, c.init, c.next, c.result)}) == 1


def test_a_value_that_is_read_later_is_another_variable():
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        (s,) = p.loop(3, [a], lambda i, s: [s * 0.5], names=["s"])
        return s + a

    module = program({"x": V}, build)
    names = variables(module)
    (c,) = carried(module)
    assert names[c.phi.name] == names[c.result.name] == names[c.next.name] != names[c.init.name]


def test_values_that_swap_are_two_variables():
    def build(p: Program, x: Any) -> Any:
        return p.loop(3, [x * 2.0, x * 3.0], lambda i, a, b: [b, a], names=["a", "b"])

    module = program({"x": V}, build)
    names = variables(module)
    first, second = carried(module)
    assert names[first.phi.name] != names[second.phi.name]


def test_versions_of_an_update():
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        return p.set(p.set(a, 1.0, 0), 2.0, 1)

    module = program({"x": V}, build)
    names = variables(module)
    updates = [s.target.name for s in module.main.body if isinstance(s, Assign)]
    assert len({names[n] for n in updates}) == 1


def test_both_branches_assign_one_variable():
    def build(p: Program, x: Any, c: Any) -> Any:
        return p.branch(c, lambda: [x * 2.0], lambda: [x * 3.0])

    module = program({"x": F8, "c": BOOL}, build)
    names = variables(module)
    branch = module.main.body[0]
    (phi,) = branch.phis  # type: ignore[union-attr]
    assert names[phi.target.name] == names[phi.then_value.name] == names[phi.else_value.name]


def assigned(*values: tuple[str, str], results: int = 1) -> Module:
    """x * 2 under these names and users' names, one after another; each reads the one before."""

    def build(p: Program, x: Any) -> Any:
        for name, user in values:
            x = x * 2.0
            stmt = p.block[-1]
            assert isinstance(stmt, Assign)
            stmt.target = replace(stmt.target, name=name, user=user)
            x = p.sym(stmt.target)
        return x

    module = program({"x": F8}, build)
    module.main.results = module.main.results[:results]
    return module


def test_versions_of_a_users_variable_have_its_name():
    names = variables(assigned(("h", "h"), ("h_1", "h"), ("t", ""), ("h_2", "h"), results=0))
    assert names["h"] == names["h_1"] == names["h_2"] == "h" != names["t"]


def test_in_compiled_code_names_do_not_join_values():
    """Only what saves an assignment does."""
    names = variables(assigned(("h", "h"), ("h_1", "h"), results=0), for_lowering=True)
    assert names == {"x": "x", "h": "h", "h_1": "h_1"}


def test_adjoints_of_one_name():
    names = variables(assigned(("h_bar", ""), ("t", ""), ("h_bar_3", ""), results=0))
    assert names["h_bar"] == names["h_bar_3"] == "h_bar"


def test_two_variables_of_the_user_are_never_one():
    names = variables(assigned(("a", "a"), ("b", "b"), results=0))
    assert (names["a"], names["b"]) == ("a", "b")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (("t", ""), "out"),  # the only result
        (("y", "y"), "y"),
        (("np", "np"), "np_1"),
        (("print", "print"), "print_1"),
        (("lambda", "lambda"), "lambda_1"),
        (("f", "f"), "f_1"),  # the function itself
        (("s.data", ""), "out"),
        (("o", "self.h"), "self_h"),
        (("o", "0"), "v_0"),
    ],
)
def test_names(value, name):
    assert variables(assigned(value))[value[0]] == name


def test_temporaries_lose_the_number_after_a_line():
    names = variables(assigned(("h_L12_3", ""), ("t_3", ""), results=0))
    assert names["h_L12_3"] == "h_L12" and names["t_3"] == "t_3"


def test_names_are_distinct_identifiers():
    module = assigned(("a", "x"), ("x_1", ""), ("b", "x"), results=0)
    names = variables(module)
    assert names["x"] == "x" and all(n.isidentifier() and n not in RESERVED for n in names.values())


def test_one_kind_of_memory_per_variable_in_compiled_code():
    module = assigned(("a", ""), ("b", ""), results=0)
    a, b = (s.target for s in module.main.body if isinstance(s, Assign))

    def joined(first, second, root, fresh) -> bool:
        for s, type_ in zip(module.main.body, (first, second)):
            assert isinstance(s, Assign)
            s.target = replace(s.target, type=type_)
        coalescer = Coalescer(module.main, Memory(root, fresh), for_lowering=True)
        x, y = (s.target for s in module.main.body if isinstance(s, Assign))
        coalescer.coalesce(x, y)
        return coalescer.groups["a"] is coalescer.groups["b"]

    matrix = Array("float64", (Dim.of("n"), Dim.of("m")))
    other = Array("float64", (Dim.of("k"), Dim.of("m")))
    owned, given = {"a": True, "b": True}, {"a": True, "b": False}
    assert joined(F8, F8, {}, {})
    assert joined(matrix, other, {}, owned)  # sizes may differ
    assert not joined(matrix, V, {}, owned)
    assert not joined(matrix, replace(matrix, dtype="float32"), {}, owned)
    assert not joined(matrix, matrix, {}, given)
    assert joined(matrix, matrix, {"a": "p", "b": "p"}, given)
    assert not joined(matrix, matrix, {"a": "", "b": ""}, given)  # several buffers


def test_values_in_program_order():
    def build(p: Program, x: Any) -> Any:
        return p.loop(3, [x * 2.0], lambda i, s: [s * 0.5], names=["s"])

    module = program({"x": F8}, build)
    (c,) = carried(module)
    (loop,) = (s for s in module.main.body if isinstance(s, For))
    found = list(all_names(module.main))
    assert found == ["x", c.init.name, c.phi.name, "i", c.next.name, c.result.name] or found == [
        "x", c.init.name, "i", c.phi.name, c.next.name, c.result.name,
    ]  # fmt: skip
    binders = {v.name: s for v, s in bindings(module.main)}
    assert binders["x"] is None and binders[c.phi.name] is binders[c.result.name] is loop


def test_users_variables_by_call():
    span = Span("m.py", 3, 0, 3, 1)
    inlined = Origin(span, span, frame=("g",))
    stmt = assigned(("t", "")).main.body[0]
    assert key_of(Var("x", F8), None) == ((), "x")
    assert key_of(Var("t", F8), stmt) is None
    assert isinstance(stmt, Assign)
    stmt.origin = inlined
    assert key_of(Var("t", F8, "h"), stmt) == (("g",), "h")


def test_results_of_the_users_function():
    main = assigned(("t", "")).main
    main.results = main.results * 3
    assert primal_results(main) == 3
    main.notes["sweeps"] = 1
    assert primal_results(main) == 1
    main.notes["primal_results"] = 2
    assert primal_results(main) == 2
