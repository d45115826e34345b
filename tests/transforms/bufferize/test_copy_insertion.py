"""Where a copy is inserted: one per conflict, on the cheapest edge; old versions under a name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.bufferize.copy_insertion import group_start, insert_copies, saved_name, stem
from s2s.transforms.ir.builder import NameSupply
from s2s.transforms.ir.nodes import Assign, For, Module, Origin, Span, Stmt, Var, While, blocks_of
from s2s.transforms.ir.scopes import names_of
from tests.transforms.programs import BOOL, F8, Program, program, run, vector

V = vector("x")
TAIL = (("slice", 1, None, None),)
X = np.arange(1.0, 5.0)


def copies(module: Module, for_lowering: bool = False) -> list[tuple[int, str]]:
    """Loop depth and operand of each inserted copy."""
    found: list[tuple[int, str]] = []

    def visit(block: list[Stmt], depth: int) -> None:
        for stmt in block:
            if isinstance(stmt, Assign) and stmt.op.name == "copy":
                operand = stmt.op.args[0]
                assert isinstance(operand, Var)
                found.append((depth, stem(operand.name)))
            for inner in blocks_of(stmt):
                visit(inner, depth + isinstance(stmt, (For, While)))

    visit(module.main.body, 0)
    return found


def owned(params: dict[str, Any], build: Any, *args: Any, for_lowering: bool = False):
    """The copies of a program.  It computes what it did, and needs no further copy."""
    want = run(program(params, build), *args)
    module = program(params, build)
    names = NameSupply(names_of(module.main))
    walk = insert_copies(module.main, names, for_lowering)
    assert not walk.facts.conflicts
    for g, w in zip(run(module, *args), want, strict=True):
        np.testing.assert_array_equal(g, w)
    found = copies(module)
    insert_copies(module.main, names, for_lowering)
    assert copies(module) == found
    return found, module


def test_nothing_to_copy():
    def build(p: Program, x: Any) -> Any:
        return p.set(p.set(x * 2.0, 1.0, 0), 2.0, 1)

    assert owned({"x": V}, build, X)[0] == []


def test_the_old_version_is_kept_under_another_name():
    """The statement that updates stays as the user wrote it."""

    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        p.line()
        b = p.set(a, 1.0, 0)
        p.line()
        return a * b

    found, module = owned({"x": V}, build, X)
    assert len(found) == 1
    (kept,) = module.main.notes["kept"]
    update = next(s for s in module.main.body if isinstance(s, Assign) and s.op.name == "update")
    before = module.main.body[module.main.body.index(update) - 1]
    assert isinstance(before, Assign) and before.target.name == kept
    assert before.op.args[0] == update.op.args[0]  # the update is in place


def test_an_argument_is_copied_before_it_is_written():
    found, module = owned({"x": V}, lambda p, x: p.set(x, 1.0, 0), X)
    assert found == [(0, "x")]


def test_a_result_that_is_an_argument_or_a_view_of_one():
    found, module = owned({"x": V}, lambda p, x: [x, p.emit("index", x, 1, items=TAIL)], X)
    assert len(found) == 2
    assert all(isinstance(s, Assign) for s in module.main.body[-2:])


def test_results_that_share_memory():
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        return a, p.emit("index", a, 1, items=TAIL, hint="v"), a

    assert [name for _, name in owned({"x": V}, build, X)[0]] == ["v"]


@pytest.mark.parametrize("note", ["callee", "title"])
def test_repeated_results_of_callees_and_derivatives(note):
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        return a, a

    module = program({"x": V}, build)
    module.main.notes[note] = True
    insert_copies(module.main, NameSupply(names_of(module.main)))
    assert len(copies(module)) == 1 and len({r.name for r in module.main.results}) == 2


@pytest.mark.parametrize("n", [0, 1, 3])
def test_one_copy_before_a_loop(n):
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        (b,) = p.loop(n, [a], lambda i, s: [p.set(s, 5.0, i)], names=["b"])
        return a * b

    assert [depth for depth, _ in owned({"x": V}, build, X)[0]] == [0]


def test_a_copy_in_each_iteration():
    """Both versions are live there."""

    def build(p: Program, x: Any) -> Any:
        def body(i: Any, a: Any, s: Any) -> Any:
            b = p.set(a, 5.0, i)
            return b, s + p.sum(a * b)

        return p.loop(3, [x * 2.0, 0.0], body, names=["a", "s"])

    assert [depth for depth, _ in owned({"x": V}, build, X)[0]] == [1]


def test_a_view_is_copied_in_place_of_its_base():
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        v = p.emit("index", a, 1, items=TAIL, hint="v")
        return p.set(a, 5.0, 1), p.sum(v)

    assert owned({"x": V}, build, X)[0] == [(0, "v_view")]


def test_a_copy_in_one_branch():
    def build(p: Program, x: Any, c: Any) -> Any:
        a = x * 2.0
        (y,) = p.branch(c, lambda: [a], lambda: [x * 3.0])
        return p.set(y, 1.0, 0), a

    for c in (True, False):
        found, module = owned({"x": V, "c": BOOL}, build, X, c)
        assert len(found) == 1


def test_read_only_memory_is_copied():
    def build(p: Program, x: Any, s: Any) -> Any:
        return p.set(p.emit("broadcast_to", s, 4), 1.0, 0)

    assert len(owned({"x": V, "s": F8}, build, X, 2.0)[0]) == 1


def test_an_optional_update_becomes_a_sum_instead_of_a_copy():
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        b = p.emit("update_add", a, x, path=(), optional=True)
        return a, b

    module = program({"x": V}, build)
    insert_copies(module.main, NameSupply(names_of(module.main)))
    assert [s.op.name for s in module.main.body if isinstance(s, Assign)] == ["multiply", "add"]
    for got, want in zip(run(module, X), (X * 2.0, X * 3.0), strict=True):
        np.testing.assert_array_equal(got, want)


def test_effects_are_stored_in_their_parameter():
    def build(p: Program, x: Any) -> Any:
        return x * 2.0

    module = program({"x": V}, build)
    main = module.main
    main.effects = [(main.params[0], main.results[0])]
    main.results = []
    insert_copies(main, NameSupply(names_of(main)))
    (_, final) = main.effects[0]
    last = main.body[-1]
    assert isinstance(last, Assign) and last.target == final
    assert last.op.name == "update" and last.op.args[0] == main.params[0] and last.op.attrs["final"]


def test_one_memory_layout_per_variable_in_compiled_code():
    """A transposed view and a buffer of the function's own do not share a variable."""

    def build(p: Program, x: Any, c: Any) -> Any:
        a = x * 2.0
        (y,) = p.branch(c, lambda: [p.emit("transpose", a, axes=(1, 0))], lambda: [x * 3.0])
        return p.sum(y * y), a

    params = {"x": vector("x", 2), "c": BOOL}
    square = np.arange(4.0).reshape(2, 2)
    assert owned(params, build, square, True)[0] == []
    assert len(owned(params, build, square, True, for_lowering=True)[0]) == 1


# ---------------------------------------------------------------- names and places


@pytest.mark.parametrize(
    ("name", "base"),
    [("h_bar_2", "h_bar"), ("h", "h"), ("h_bar", "h_bar"), ("_1", "_1"), ("a_1_2", "a_1")],
)
def test_stem(name, base):
    assert stem(name) == base


def origin(line: int) -> Origin:
    span = Span("m.py", line, 0, line, 1)
    return Origin(span, span)


def test_names_of_old_versions():
    assert saved_name(Var("h_2", V, "h"), origin(12)) == "h_L12"
    assert saved_name(Var("t_2", V), origin(12)) == "t_L12"
    assert saved_name(Var("x", V, "x"), None) == "x_in"


def test_the_start_of_a_source_statement():
    def stmt(k: int, line: int | None) -> Assign:
        from s2s.transforms.ir.nodes import Op

        at = None if line is None else origin(line)
        return Assign(Var(f"v{k}", F8), Op("negative", (Var("x", F8),)), at)

    block: list[Stmt] = [stmt(0, 1), stmt(1, 2), stmt(2, 2), stmt(3, 2), stmt(4, None)]
    other = Var("y", F8)
    assert group_start(block, 3, other) == 1
    assert group_start(block, 3, Var("v1", F8)) == 2  # not before it is defined
    assert group_start(block, 0, other) == 0 and group_start(block, 4, other) == 4
