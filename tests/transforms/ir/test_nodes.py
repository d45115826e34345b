"""The nodes of the IR: types, constants, modules, and traversal, checked for every statement."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from s2s.transforms.ir import nodes
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Block,
    Budget,
    Call,
    Carried,
    Const,
    Custom,
    Draw,
    For,
    Function,
    If,
    ListOf,
    Module,
    Op,
    Operand,
    Origin,
    Phi,
    Print,
    Push,
    Raise,
    Record,
    Rng,
    Save,
    Scalar,
    Slot,
    Span,
    Stmt,
    Store,
    Var,
    While,
    blocks_of,
    calls_in,
    inner_targets_of,
    is_complex,
    is_float,
    map_blocks,
    operands_of,
    real_dtype,
    substitute,
    targets_of,
    walk,
)
from s2s.transforms.ir.symbolic_dims import Dim

F8 = Scalar("float64")


def v(name: str) -> Var:
    return Var(name, F8)


def set_(target: str, *args: str) -> Assign:
    return Assign(v(target), Op("add", tuple(map(v, args))))


PULLBACK = Function("pullback", [v("captured")], [set_("inside", "captured")], [v("inside")])
# One statement of each kind, with all its fields in use.  Operands are named `r…`, targets `w…`.
STATEMENTS: dict[type, Stmt] = {
    type(s): s
    for s in (
        Assign(v("w1"), Op("add", (v("r1"), v("r2")))),
        Call([v("w1"), v("w2")], "g", (v("r1"),)),
        Draw([v("w1")], v("r1"), "normal", (v("r2"),), (v("r3"),)),
        Custom([v("w1")], (v("r1"),), (v("r2"),), (v("r3"),), PULLBACK),
        Save(Slot("slot", F8), v("r1")),
        If(v("r1"), [set_("a", "n1")], [set_("b", "n2")], [Phi(v("w1"), v("r2"), v("r3"))]),
        For(
            v("i"), v("r1"), v("r2"), v("r3"), [set_("a", "n1")],
            [Carried(v("phi"), v("r4"), v("r5"), v("w1"))], v("r6"), v("r7"), trips=v("w2"),
            budget=Budget(v("r8")),
        ),
        While(
            [set_("a", "n1")], v("r1"), [set_("b", "n2")],
            [Carried(v("phi"), v("r2"), v("r3"), v("w1"))], v("r4"), v("w2"),
        ),
        Raise("ValueError", ("size ", v("r1"), (v("r2"), ".3f"))),
        Print(("x", v("r1"), ("y=", (v("r2"), ".3f"), v("r3")))),
        Store(v("r1"), v("r2"), (), (v("r3"),)),
        Push(v("r1"), v("r2")),
    )
}  # fmt: skip


def every_name(value: Any) -> Iterator[str]:
    """All variables in the fields of a statement, blocks and pullbacks excluded."""
    if isinstance(value, Var):
        yield value.name
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from every_name(item)
    elif isinstance(value, (Op, Phi, Carried, Budget, *get_args(Stmt))):
        blocks = () if not isinstance(value, get_args(Stmt)) else map(id, blocks_of(value))
        skipped = set(blocks)
        for f in dataclasses.fields(value):
            inner = getattr(value, f.name)
            if id(inner) not in skipped:
                yield from every_name(inner)


def test_there_is_a_sample_of_each_statement() -> None:
    assert set(STATEMENTS) == set(get_args(Stmt))


def read_by(stmt: Stmt) -> list[str]:
    return [x.name for x in operands_of(stmt) if isinstance(x, Var)]


@pytest.mark.parametrize("kind", STATEMENTS, ids=lambda k: k.__name__)
def test_traversal_finds_every_name_once(kind: type) -> None:
    """Operands, targets and inner targets are all the variables of a statement."""
    stmt = STATEMENTS[kind]
    operands = read_by(stmt)
    targets = [x.name for x in targets_of(stmt)]
    inner = [x.name for x in inner_targets_of(stmt)]
    assert sorted([*operands, *targets, *inner]) == sorted(every_name(stmt))
    assert all(name[0] == "r" for name in operands), operands
    assert all(name[0] == "w" for name in targets), targets
    assert set(inner) <= {"i", "phi"}


@pytest.mark.parametrize("kind", STATEMENTS, ids=lambda k: k.__name__)
def test_substitution_maps_what_is_read_and_nothing_else(kind: type) -> None:
    stmt = STATEMENTS[kind]
    before = copy.deepcopy(stmt)
    (new,) = substitute([stmt], lambda x: v(x.name.upper()) if isinstance(x, Var) else x)
    assert type(new) is kind and new is not stmt and stmt == before
    assert read_by(new) == [name.upper() for name in read_by(stmt)]
    assert [*targets_of(new)] == [*targets_of(stmt)]
    assert [*inner_targets_of(new)] == [*inner_targets_of(stmt)]
    for old_block, new_block in zip(blocks_of(stmt), blocks_of(new), strict=True):
        for old, inner in zip(old_block, new_block, strict=True):
            assert read_by(inner) == [name.upper() for name in read_by(old)]
            assert [*targets_of(inner)] == [*targets_of(old)]


@pytest.mark.parametrize("kind", STATEMENTS, ids=lambda k: k.__name__)
def test_a_substituted_statement_shares_no_list_with_the_old_one(kind: type) -> None:
    """A pass may extend its copy."""
    stmt = STATEMENTS[kind]
    (new,) = substitute([stmt], lambda x: x)
    assert new == stmt
    for f in dataclasses.fields(stmt):
        mine, other = getattr(stmt, f.name), getattr(new, f.name)
        assert not isinstance(mine, list) or mine is not other, f.name


@pytest.mark.parametrize("kind", STATEMENTS, ids=lambda k: k.__name__)
def test_map_blocks_maps_each_nested_block(kind: type) -> None:
    stmt = STATEMENTS[kind]
    seen: list[Block] = []

    def visit(block: Block) -> Block:
        seen.append(block)
        return [*block, set_("more")]

    new = map_blocks(stmt, visit)
    assert seen == [*blocks_of(stmt)]
    assert [len(b) for b in blocks_of(new)] == [len(b) + 1 for b in blocks_of(stmt)]
    assert (new is stmt) == (not seen)


def test_the_message_of_a_check_may_hold_any_static_part() -> None:
    (new,) = substitute([Raise("E", ("a", 3, (v("x"), "d")))], lambda x: v("y"))
    assert new == Raise("E", ("a", 3, (v("y"), "d")))


def test_a_stored_array_stays_a_variable() -> None:
    with pytest.raises(AssertionError):
        substitute([STATEMENTS[Store]], lambda x: Const(1.0, F8))


def test_walk_is_in_pre_order() -> None:
    loop = For(v("i"), v("a"), v("a"), v("a"), [set_("x1"), STATEMENTS[If], set_("x2")])
    found = [*walk([set_("x0"), loop, STATEMENTS[While]])]
    kinds = [getattr(s, "target", s).__class__.__name__ for s in found]
    assert kinds == ["Var", "For", "Var", "If", "Var", "Var", "Var", "While", "Var", "Var"]
    assert [s.target.name for s in found if isinstance(s, Assign)] == [
        "x0", "x1", "a", "b", "x2", "a", "b",
    ]  # fmt: skip


# ---------------------------------------------------------------- types and operands


def test_the_symbolic_value_is_no_part_of_a_scalar_types_identity() -> None:
    assert Scalar("int64", value=Dim.of("n")) == Scalar("int64") != Scalar("int64", weak=True)
    assert Array("float64", (Dim.of(2),)) != Array("float64", (Dim.of(2),), "A")
    assert {v("x"), Var("x", Scalar("int64"), "user")} == {v("x")}


@pytest.mark.parametrize(
    ("type_", "dtype", "ndim"),
    [
        (Scalar("int32"), "int32", 0),
        (Array("float32", (Dim.of(2), Dim.of("n"))), "float32", 2),
        (ListOf(Array("float64", (Dim.of(3),))), "float64", 2),
        (ListOf(Scalar("float64")), "float64", 1),
        (Record((("x", "float64"),), (Dim.of(2),)), "record", 1),
        (Rng(), "rng", 0),
    ],
)
def test_every_type_has_dtype_and_rank(type_: Any, dtype: str, ndim: int) -> None:
    assert (type_.dtype, type_.ndim) == (dtype, ndim)
    if not isinstance(type_, ListOf):
        assert len(type_.shape) == ndim
    assert is_float(type_) == dtype.startswith("float") and not is_complex(type_)


def test_complex_dtypes() -> None:
    assert all(is_complex(Scalar(d)) and is_float(Scalar(d)) for d in nodes.COMPLEX)
    assert [real_dtype(d) for d in ("complex128", "complex64", "float16", "int64")] == [
        "float64", "float32", "float16", "int64",
    ]  # fmt: skip


def test_constants_distinguish_the_zeros() -> None:
    assert Const(0.0, F8) != Const(-0.0, F8)
    assert Const(0j, Scalar("complex128")) != Const(-0j, Scalar("complex128"))
    assert len({Const(0.0, F8), Const(-0.0, F8), Const(0.0, F8)}) == 2
    assert Const(0, Scalar("int64")) == Const(0, Scalar("int64"))
    assert Const(1.0, F8) == Const(1.0, F8) != Const(1.0, Scalar("float32"))


def test_a_statement_as_written() -> None:
    span = Span("f.py", 1, 0, 1, 1)
    assert Origin(span, span).as_written and Origin(span, span, tangent=True).as_written
    for changes in ({"frame": ("g",)}, {"sweep": 1}, {"batched": True}):
        assert not Origin(span, span, **changes).as_written  # type: ignore[arg-type]
    assert Origin(span, span, calls=(span,)) == Origin(span, span)


# ---------------------------------------------------------------- modules


def function(name: str, *callees: str, facts: Any = None) -> Function:
    body: Block = [Call([], c, ()) for c in callees[:1]]
    body += [If(v("c"), [Call([], c, ())], []) for c in callees[1:]]
    return Function(name, [], body, [], notes={} if facts is None else {"facts": facts})


def test_a_module_is_mapped_over_its_reachable_functions_once_each() -> None:
    functions = [
        function("f", "g", "h"),
        function("g", "h", "g", facts="of g"),  # calls itself
        function("h", facts="of h"),
        function("unused", "f"),
    ]
    module = Module({f.name: f for f in functions}, "f")
    assert [*calls_in(module.main.body)] == ["g", "h"]
    seen: list[tuple[str, Any]] = []

    def visit(f: Function, facts: Any) -> Function:
        seen.append((f.name, facts))
        return f

    mapped = module.map(visit, "of the entry")
    assert seen == [("f", "of the entry"), ("g", "of g"), ("h", "of h")]
    assert [*mapped.functions] == ["f", "g", "h"] and mapped.entry == "f"


def test_mapping_follows_the_calls_of_the_result() -> None:
    """A pass may rename the entry and drop calls."""
    module = Module({n: function(n, *c) for n, c in {"f": ["g"], "g": ["h"], "h": []}.items()}, "f")

    def visit(f: Function, facts: Any) -> Function:
        return Function(f"{f.name}_new", [], [], []) if f.name == "f" else f

    mapped = module.map(visit)
    assert [*mapped.functions] == ["f_new"] and mapped.main.name == "f_new"


def test_a_new_main_replaces_the_old_one() -> None:
    module = Module({"f": function("f", "g"), "g": function("g")}, "f")
    changed = module.with_main(function("f_vjp", "g"))
    assert [*changed.functions] == ["f_vjp", "g"] and changed.entry == "f_vjp"
    assert [*module.functions] == ["f", "g"]


def test_operands_of_a_draw_without_generator_and_size() -> None:
    assert [*operands_of(Draw([], None, "seed", (v("r"),)))] == [v("r")]
    (same,) = substitute([Draw([], None, "seed", (v("r"),))], lambda x: x)
    assert isinstance(same, Draw) and same.rng is None and same.size is None


def test_a_loop_without_options_reads_its_bounds() -> None:
    operands: list[Operand] = [v("a"), v("b"), v("c")]
    loop = For(v("i"), v("a"), v("b"), v("c"), [])
    assert [*operands_of(loop)] == operands and not [*targets_of(loop)]
    (same,) = substitute([loop], lambda x: x)
    assert isinstance(same, For) and same.until is same.count is same.budget is None
