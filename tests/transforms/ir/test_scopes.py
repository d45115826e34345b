"""Scopes: where values live, which loops are around them, and values of the same shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import NameSupply
from s2s.transforms.ir.nodes import (
    Assign,
    For,
    Function,
    If,
    ListOf,
    Module,
    Op,
    Operand,
    Save,
    Slot,
    Var,
    While,
    inner_targets_of,
    targets_of,
    walk,
)
from s2s.transforms.ir.scopes import (
    SameShapeValues,
    Scopes,
    dims_of,
    is_never_overwritten,
    names_of,
    overwritten,
)
from s2s.transforms.ir.symbolic_dims import Dim, Facts, max0
from tests.transforms.cases import CASES
from tests.transforms.programs import F8, Program, int_scalar, program, vector


def nest() -> Module:
    """A loop, in it a branch, in its first arm another loop with a condition."""

    def build(p: Program, x: Any, n: Any) -> Any:
        def then(s: Any) -> Any:
            return p.repeat([s], lambda s: [np.sin(s) < 0.5], lambda s: [np.cos(s)], names=["w"])

        def body(i: Any, s: Any) -> Any:
            return p.branch(s > 0.0, lambda: then(s), lambda: [np.exp(s)])

        return p.loop(n, [x], body)

    return program({"x": F8, "n": int_scalar("n")}, build)


def test_every_value_has_a_scope_a_variable_and_a_binder() -> None:
    for case in CASES:
        main = case.module.main
        scopes = Scopes(main)
        bound = [(s, v) for s in walk(main.body) for v in (*targets_of(s), *inner_targets_of(s))]
        for stmt, v in bound:
            assert scopes.binder[v.name] is stmt and scopes.var[v.name] is v
        assert scopes.home.keys() == {v.name for _, v in bound} | {p.name for p in main.params}
        assert all(scopes.home[p.name] is scopes.top for p in main.params)
        assert not {p.name for p in main.params} & scopes.binder.keys()


def test_the_scopes_of_a_nest() -> None:
    main = nest().main
    scopes = Scopes(main)
    (loop,) = main.body
    assert isinstance(loop, For)
    branch = next(s for s in loop.body if isinstance(s, If))
    (inner,) = (s for s in branch.then if isinstance(s, While))
    body, then, other = scopes.inner(loop), scopes.inner(branch, "then"), None
    other, deep = scopes.inner(branch, "orelse"), scopes.inner(inner)
    assert [s.branch for s in deep.chain()] == ["body", "then", "body", ""]
    assert deep.inside(then) and deep.inside(deep) and not deep.inside(other)
    assert not then.inside(deep) and all(s.inside(scopes.top) for s in (body, then, other))
    assert scopes.holder(loop) is scopes.top and scopes.holder(inner) is then
    assert deep.loops() == [loop, inner] and then.loops() == [loop]
    assert deep.loops(below=body) == [inner] and deep.loops(below=deep) == []
    # Phis and the index belong to the body, results to the block of the loop.
    assert scopes.home[loop.index.name] is body
    (carried,) = inner.carried
    assert scopes.home[carried.phi.name] is deep and scopes.home[carried.result.name] is then
    assert scopes.home[branch.phis[0].target.name] is body


def test_test_and_body_of_a_while_are_one_scope() -> None:
    main = nest().main
    scopes = Scopes(main)
    (loop,) = (s for s in walk(main.body) if isinstance(s, While))
    for stmt in (*loop.test, *loop.body):
        assert scopes.holder(stmt) is scopes.inner(loop)
    assert scopes.tested == {v.name for s in loop.test for v in targets_of(s)}


def test_all_names_are_listed_once() -> None:
    """A supply that avoids them may name anything new."""
    for case in CASES:
        main = case.module.main
        names = [n for n in names_of(main) if n]
        assert len(names) == len(set(names))
        assert all(name in NameSupply(names).taken for name in Scopes(main).home)
    saved = Function("f", [], [Save(Slot("h_L3", F8), Var("h", F8))], [])
    assert [*names_of(saved)] == ["h_L3"]


# ---------------------------------------------------------------- shapes


def test_the_dims_of_a_list_are_none() -> None:
    assert dims_of(Var("x", vector("x", 2))) == (Dim.of("x.0"), Dim.of("x.1"))
    assert dims_of(Var("s", F8)) == dims_of(Var("l", ListOf(vector("x")))) == ()


def local_arrays() -> tuple[Function, dict[str, Any]]:
    """A loop over the rows of `x`: arrays in it have the shape of a row."""
    found: dict[str, Any] = {}

    def build(p: Program, x: Any, y: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            found["row"] = np.sin(p.get(x, i)).operand
            found["other"] = np.sin(x).operand
            items = (("slice", 1, None, None),)
            found["tail"] = p.emit("index", y, i, items=items).operand
            found["single"] = p.emit("cast", y, dtype="float32").operand
            return [s]

        return p.loop(3, [0.5], body)[0]

    return program({"x": vector("x", 2), "y": vector("y")}, build).main, found


def test_a_value_of_the_same_shape_at_top_level() -> None:
    main, found = local_arrays()
    facts = Facts()
    same = SameShapeValues(Scopes(main), facts)
    assert same.shape(found["other"]) == main.params[0]
    assert same.shape(found["row"]) is None  # y has another symbol, as far as is known
    assert same.shape(found["tail"]) is None  # its size changes with the iteration
    assert same.shape(found["single"]) is None  # none has its dtype
    assert same.axis(Dim.of("x.1")) == (main.params[0], 1)
    assert same.axis(Dim.of("i")) is None and same.axis(Dim.of("z.0")) is None
    facts.define("y.0", Dim.of("x.1"))
    assert SameShapeValues(Scopes(main), facts).shape(found["row"]) == main.params[1]


def test_only_values_bound_so_far_are_candidates() -> None:
    main, found = local_arrays()
    scopes = Scopes(main)
    assert SameShapeValues(scopes, Facts(), {"y"}).shape(found["other"]) is None
    assert SameShapeValues(scopes, Facts(), {"x"}).shape(found["other"]) == main.params[0]


def test_atoms_of_known_sizes_are_loop_invariant() -> None:
    main, _ = local_arrays()
    same = SameShapeValues(Scopes(main), Facts())
    assert same.axis(max0(Dim.of("x.0") - 1)) is None
    assert same.axis(max0(Dim.of("x.0") + 0)) == (main.params[0], 0)


# ---------------------------------------------------------------- overwriting


def test_what_updates_and_joins_may_overwrite() -> None:
    def build(p: Program, x: Any, c: Any) -> Any:
        a = np.sin(x)
        b = p.set(a, 1.0, 0)
        d, e, f = np.cos(x), np.exp(x), np.tanh(x)
        (g,) = p.branch(c > 0, lambda: [d], lambda: [e])
        (h,) = p.loop(2, [f], lambda i, s: [s * 2.0])
        return [b, g, h, np.sum(f)]

    main = program({"x": vector("x"), "c": F8}, build).main
    names = {stmt.op.name: stmt.target.name for stmt in main.body if isinstance(stmt, Assign)}
    lost = overwritten(main)
    assert {names["sin"], names["cos"], names["exp"], names["tanh"]} <= lost
    assert not {"x", names["update"], names["sum"]} & lost


@pytest.mark.parametrize("written", [True, False])
def test_a_parameter_is_overwritten_only_if_the_function_writes_to_it(written: bool) -> None:
    module = program({"x": vector("x")}, lambda p, x: p.set(x, 1.0, 0))
    (x,), (result,) = module.main.params, module.main.results
    module.main.effects = [(x, result if written else x)]
    assert overwritten(module.main) == ({"x"} if written else set())


def test_a_view_lasts_as_long_as_its_base() -> None:
    p = Program()
    x = p.sym(Var("x", vector("x", 2)))
    row = p.get(p.emit("transpose", x, axes=(1, 0)), 0)
    assert isinstance(row.operand, Var)
    other = np.sin(row)
    assert isinstance(other.operand, Var)
    assert is_never_overwritten(row.operand, p.definitions, set())
    assert not is_never_overwritten(row.operand, p.definitions, {"x"})
    assert is_never_overwritten(other.operand, p.definitions, {"x"}), (
        "a new array does not share memory"
    )
    assert not is_never_overwritten(other.operand, p.definitions, {other.operand.name})
    constant: dict[str, Op] = {"t": Op("index", (_zero(),), {"items": ()})}
    assert is_never_overwritten(Var("t", F8), constant, {"x"})


def _zero() -> Operand:
    return Program().sym(0.0).operand
