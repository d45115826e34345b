"""Which values may share memory, along which edges, and which updates conflict with live values."""

from __future__ import annotations

from typing import Any

import pytest

from s2s.transforms.bufferize.alias_analysis import AliasAnalysis, aliased_args, is_reference
from s2s.transforms.ir.nodes import Array, Assign, ListOf, Module, Op, Record, Scalar, Var, walk
from s2s.transforms.ir.symbolic_dims import Dim
from tests.transforms.programs import BOOL, F8, Program, int_scalar, program, vector

V = vector("x")
TAIL = (("slice", 1, None, None),)


def analysed(module: Module, for_lowering: bool = False) -> AliasAnalysis:
    return AliasAnalysis(module.main, for_lowering)


def named(module: Module, stem: str) -> list[str]:
    """The values of that hint, in order."""
    found = [s.target.name for s in walk(module.main.body) if isinstance(s, Assign)]
    return [n for n in found if n == stem or n.rpartition("_")[0] == stem]


@pytest.mark.parametrize(
    ("type_", "memory"),
    [(F8, False), (V, True), (Array("float64", ()), True), (ListOf(F8), True),
     (Record((("x", "float64"),), (Dim.of("n"),)), True)],
)  # fmt: skip
def test_types_that_refer_to_memory(type_, memory):
    assert is_reference(type_) is memory


X, K = Var("x", V), Var("k", Array("int64", (Dim.of("k.0"),)))


@pytest.mark.parametrize(
    ("op", "result", "positions"),
    [
        (Op("index", (X,), {"items": (("all",),)}), V, (0,)),
        (Op("index", (X, X), {"items": TAIL}), V, (0,)),
        (Op("index", (X, X), {"items": (("int", 1),)}), F8, ()),  # a number
        (Op("index", (X, K), {"items": (("array", 1),)}), V, ()),  # a copy
        (Op("index", (X, K), {"items": (("mask", 1),)}), V, ()),
        (Op("transpose", (X,), {"axes": (0,)}), V, (0,)),
        (Op("reshape", (X, K)), V, (0,)),
        (Op("broadcast_to", (X, K)), V, (0,)),
        (Op("alias", (X,)), V, (0,)),
        (Op("einsum", (X,)), V, (0,)),  # a view of the diagonal, or of other axes
        (Op("einsum", (X, X)), V, ()),
        (Op("copy", (X,)), V, ()),
        (Op("add", (X, X)), V, ()),
        (Op("list_get", (X, K)), V, (0,)),
    ],
    ids=lambda v: v.name + str(v.attrs.get("items", "")) if isinstance(v, Op) else "",
)  # fmt: skip
def test_operations_that_may_return_a_view(op, result, positions):
    assert aliased_args(op, result) == positions


def test_views_share_memory_with_their_base():
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        v = p.emit("index", a, 1, items=TAIL, hint="v")
        w = p.emit("index", v, 1, items=TAIL, hint="w")
        b = x * 3.0
        return p.sum(a) + p.sum(v) + p.sum(w) + p.sum(b)

    module = program({"x": V}, build)
    walk_ = analysed(module)
    body = [s.target.name for s in module.main.body if isinstance(s, Assign)]
    a, v, w, b = body[:4]
    assert walk_.related(a, v) and walk_.related(v, w) and walk_.related(a, w)
    assert not walk_.related(a, b) and not walk_.related(a, "x")
    assert [e.kind for e in walk_.chain(w, a)] == ["view", "view"]
    assert walk_.facts.root[a] == a and walk_.facts.fresh[a] and not walk_.facts.fresh[v]
    assert not walk_.facts.conflicts


def test_a_dead_view_is_not_related():
    """What is dead when a value is bound cannot be overwritten through it."""

    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        total = p.sum(p.emit("index", a, 1, items=TAIL, hint="v"))
        return p.set(a, total, 0)

    assert not analysed(program({"x": V}, build)).facts.conflicts


def conflicts(module: Module, for_lowering: bool = False) -> list[tuple[str, list[str]]]:
    """What each update would overwrite, and the kinds of the edges that may be cut."""
    found = analysed(module, for_lowering).facts.conflicts.values()
    return [(c.other, [e.kind for e in c.candidates]) for c in found]


def test_an_old_version_that_is_live():
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        return p.set(a, 1.0, 0) * a

    module = program({"x": V}, build)
    (other, kinds) = conflicts(module)[0]
    assert other == module.main.body[0].target.name and kinds == ["update"]


def test_parameters_are_live_unless_the_caller_expects_them_written():
    module = program({"x": V}, lambda p, x: p.set(x, 1.0, 0))
    assert conflicts(module) == [("x", ["update"])]
    main = module.main
    main.effects = [(main.params[0], main.results[0])]
    assert conflicts(module) == []


def test_read_only_memory():
    def build(p: Program, x: Any) -> Any:
        wide = p.emit("broadcast_to", p.sum(x), 3, hint="wide")
        view = p.emit("index", wide, 1, items=TAIL, hint="view")
        return p.set(view, 1.0, 0)

    assert conflicts(program({"x": V}, build)) == [("", ["view", "view", "update"])]


def test_carried_values_that_swap_are_two_arrays():
    def build(p: Program, x: Any) -> Any:
        a, b = x * 2.0, x * 3.0
        a, b = p.loop(4, [a, b], lambda i, a, b: [b, a], names=["a", "b"])
        return a, b

    module = program({"x": V}, build)
    walk_ = analysed(module)
    first, second = (r.name for r in module.main.results)
    assert not walk_.related(first, second)
    assert walk_.facts.root[first] == walk_.facts.root[second] == ""  # either buffer


def test_a_carried_value_updated_in_place():
    def build(p: Program, x: Any) -> Any:
        (a,) = p.loop(4, [x * 2.0], lambda i, a: [p.set(a, 1.0, i)], names=["a"])
        return a

    module = program({"x": V}, build)
    walk_ = analysed(module)
    assert not walk_.facts.conflicts
    (made, *_) = (s.target.name for s in module.main.body if isinstance(s, Assign))
    assert walk_.facts.root[module.main.results[0].name] == made


def test_a_value_from_before_the_loop_that_is_read_after_it():
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        (b,) = p.loop(4, [a], lambda i, s: [p.set(s, 1.0, i)], names=["b"])
        return a * b

    ((other, kinds),) = conflicts(program({"x": V}, build))
    assert kinds == ["init", "update"]


def test_a_view_taken_in_the_iteration_before():
    """The relation grows along the back edge."""

    def build(p: Program, x: Any) -> Any:
        def body(i: Any, a: Any, v: Any) -> Any:
            new = p.set(a, p.sum(v), 0)
            return new, p.emit("index", new, 1, items=TAIL, hint="v")

        a = x * 2.0
        start = p.emit("index", a * 1.0, 1, items=TAIL, hint="v")
        return p.loop(4, [a, start], body, names=["a", "v"], types=[None, V])[0]

    found = conflicts(program({"x": V}, build))
    assert found == []  # the view is dead when the array is written


def test_branches_join():
    def build(p: Program, x: Any, c: Any) -> Any:
        a, b = x * 2.0, x * 3.0
        (y,) = p.branch(c, lambda: [a], lambda: [b])
        return p.set(y, 1.0, 0), a

    module = program({"x": V, "c": BOOL}, build)
    ((other, kinds),) = conflicts(module)
    assert other == module.main.results[1].name and kinds == ["then", "update"]


def test_the_cheapest_edge_is_outside_of_loops_and_a_view():
    def build(p: Program, x: Any) -> Any:
        a = x * 2.0
        v = p.emit("index", a, 1, items=TAIL, hint="v")
        (b,) = p.loop(4, [a], lambda i, s: [p.set(s, 1.0, i)], names=["b"])
        return p.sum(v), b

    (found,) = analysed(program({"x": V}, build)).facts.conflicts.values()
    assert {e.kind: e.cost for e in found.candidates} == {
        "view": (0, 0),
        "init": (0, 1),
        "update": (1, 1),
    }


def test_lists_hold_copies_in_compiled_code():
    """There, an element that was read is a view of the list's memory, which is overwritten."""
    type_ = ListOf(V)

    def build(p: Program, x: Any, n: Any) -> Any:
        items = p.emit("list_append", p.emit("list_new", type=type_), x * 2.0)
        one = p.emit("list_get", items, 0)
        new = p.emit("list_set", items, 0, x)
        return p.sum(one), p.emit("list_len", new)

    module = program({"x": V, "n": int_scalar("n")}, build)
    one = next(s for s in module.main.body if isinstance(s, Assign) and s.op.name == "list_get")
    assert conflicts(module) == []
    assert conflicts(module, for_lowering=True) == [(one.target.name, ["view", "update"])]


def test_numbers_have_no_memory():
    module = program({"s": Scalar("float64")}, lambda p, s: s * 2.0)
    walk_ = analysed(module)
    assert not walk_.facts.edges and not walk_.params
