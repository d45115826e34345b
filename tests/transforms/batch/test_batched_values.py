"""Values with the batch axis: how they are made, taken apart and collected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.batch.batched_values import (
    BatchBuilder,
    batched_type,
    substitute_sizes,
)
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Carried,
    Const,
    For,
    Function,
    ListOf,
    Op,
    Operand,
    Record,
    Save,
    Scalar,
    Slot,
    Type,
    Var,
    inner_targets_of,
    targets_of,
    walk,
)
from s2s.transforms.ir.symbolic_dims import Dim
from tests.transforms.programs import F8, Program, int_scalar, vector

SIZE = Dim.of("lanes.0")
LANES = 4
F4 = Scalar("float32")


class Setting:
    """A builder of batched values of the parameters given; the batch size is a parameter."""

    def __init__(self, **types: Type) -> None:
        self.p = Program()
        self.lanes = Var(self.p.names.fresh("lanes"), int_scalar("lanes.0"))
        self.vars = {n: Var(self.p.names.fresh(n), t, n) for n, t in types.items()}
        self.measured: dict[Dim, Operand] = {}
        self.values = BatchBuilder(self.p, self.p.sym(self.lanes), SIZE, self.measure)

    def measure(self, dim: Dim) -> Operand | None:
        known = Const(dim.const, Scalar("int64", value=dim)) if dim.is_const else None
        return self.measured.get(dim, known)

    def run(self, result: Any, *args: Any) -> Any:
        operand = self.p.sym(result).operand
        function = Function("f", [self.lanes, *self.vars.values()], self.p.block, [operand])
        return evaluate(function, LANES, *args)[0][0]

    def ops(self) -> list[str]:
        return [s.op.name for s in walk(self.p.block) if isinstance(s, Assign)]


@pytest.mark.parametrize(
    ("type_", "batched"),
    [
        (F8, Array("float64", (SIZE,))),
        (Scalar("int64", weak=True), Array("int64", (SIZE,))),
        (Array("float32", (Dim.of(3),), "A"), Array("float32", (SIZE, Dim.of(3)), "A")),
        (Array("float64", ()), Array("float64", (SIZE,))),
        (ListOf(F8), ListOf(Array("float64", (SIZE,)))),
        (Record((("x", "float64"),), ()), Record((("x", "float64"),), (SIZE,))),
    ],
)
def test_the_batch_axis_is_the_first(type_: Any, batched: Any) -> None:
    assert batched_type(type_, SIZE) == batched


# ---------------------------------------------------------------- lifting


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (F8, 0.5),
        (F4, np.float32(0.5)),
        (Scalar("bool"), np.True_),
        (vector("x"), np.arange(3.0)),
        (Array("float64", ()), np.array(2.0)),
        (vector("x", 2), np.empty((0, 2))),
    ],
)
def test_an_unbatched_value_is_the_same_for_each_element(type_: Any, value: Any) -> None:
    s = Setting(x=type_)
    got = s.run(s.values.lift(s.vars["x"]), value)
    np.testing.assert_array_equal(got, np.stack([value] * LANES))
    assert got.dtype == np.asarray(value).dtype


@pytest.mark.parametrize("value", [0, 0.0, 2.5])
def test_a_constant_in_the_dtype_wanted(value: Any) -> None:
    s = Setting()
    got = s.run(s.values.lift(s.p.sym(value).operand, F4))
    np.testing.assert_array_equal(got, np.full(LANES, value, np.float32))
    assert got.dtype == np.float32 and s.ops() == ["zeros" if value == 0 else "full"]


@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_constant_arrays_are_made_in_full_size(name: str) -> None:
    """Not broadcast: a later update writes to them in place."""
    s = Setting(x=vector("x"))
    like = s.p.emit(f"{name}_like", s.vars["x"], dtype="float64")
    twice = s.p.emit(f"{name}_like", like, dtype="float64")
    got = s.run(s.values.lift(twice.operand), np.arange(3.0))
    np.testing.assert_array_equal(got, getattr(np, name)((LANES, 3)))
    assert "broadcast_to" not in s.ops() and s.ops()[-1] == name


@pytest.mark.parametrize("items", [[], [np.ones(2), np.zeros(2)]])
def test_each_element_of_a_list_is_lifted(items: list[Any]) -> None:
    s = Setting(x=ListOf(Array("float64", (Dim.of(2),))))
    got = s.run(s.values.lift(s.vars["x"]), items)
    assert len(got) == len(items)
    for g, item in zip(got, items):
        np.testing.assert_array_equal(g, np.stack([item] * LANES))


def test_a_new_list_stays_a_new_list() -> None:
    s = Setting()
    empty = s.p.emit("list_new", type=ListOf(F8))
    got = s.values.lift(empty.operand)
    assert got.type == ListOf(Array("float64", (SIZE,))) and s.run(got) == []
    assert s.ops() == ["list_new", "list_new"]


def test_an_undefined_value_has_unknown_sizes_zero() -> None:
    """It is never read, but joined with one that is."""
    s = Setting()
    undefined = s.p.emit("undef", type=Array("float64", (Dim.of("h.0"), Dim.of(3))))
    assert s.run(s.values.lift(undefined.operand)).shape == (LANES, 0, 3)
    s.measured[Dim.of("h.0")] = s.lanes
    assert s.run(s.values.lift(undefined.operand)).shape == (LANES, LANES, 3)
    listed = s.p.emit("undef", type=ListOf(F8))
    assert s.run(s.values.lift(listed.operand)) == []


# ---------------------------------------------------------------- elements


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (F8, np.arange(4.0)),
        (Scalar("float64", weak=True), np.arange(4.0)),
        (Array("float64", ()), np.arange(4.0)),
        (vector("x"), np.arange(12.0).reshape(4, 3)),
        (Array("float32", (Dim.of(2),), "A"), np.ones((4, 2), np.float32)),
    ],
)
def test_one_element_has_its_own_type(type_: Any, values: Any) -> None:
    s = Setting(x=batched_type(type_, SIZE), k=int_scalar("k"))
    out = s.values.element(s.vars["x"], type_, s.vars["k"], "x")
    assert type(out.type) is type(type_) and out.type.dtype == type_.dtype
    assert not isinstance(type_, Scalar) or out.type == type_
    got = s.run(out, values, 2)
    np.testing.assert_array_equal(got, values[2])
    assert np.shape(got) == np.shape(values[2])
    assert type(got) is float if type_ == Scalar("float64", weak=True) else True


def test_the_list_of_one_element() -> None:
    type_ = ListOf(F8)
    s = Setting(x=batched_type(type_, SIZE), k=int_scalar("k"))
    out = s.values.element(s.vars["x"], type_, s.vars["k"], "x")
    assert s.run(out, [np.arange(4.0), 10 * np.arange(4.0)], 3) == [3.0, 30.0]
    assert s.run(out, [], 3) == []


# ---------------------------------------------------------------- collecting


def collected(type_: Type, sizes: dict[str, int]) -> tuple[Setting, Any]:
    """The values of `x[k]` for all k, collected by a loop."""
    s = Setting(x=Array("float64", (SIZE, Dim.of(3))), **{n: int_scalar(n) for n in sizes})
    for name in sizes:
        s.measured[Dim.of(name)] = s.vars[name]
    v = Var("v", type_)
    collector = s.values.collector(v)
    index = s.values.index("k")
    body: list[Any] = []
    with s.p.into(body):
        items: Any = (("int", 1), ("slice", None, 2, None))
        row: Any = s.p.emit("index", s.vars["x"], index, 2, items=items)
        collector.add(row.operand, index)
    loop = s.values.loop(index, s.lanes, body, [collector.carried()])
    s.p.block.append(loop)
    return s, collector.done()


@pytest.mark.parametrize("known", [True, False])
def test_values_are_stored_where_sizes_are_known_and_listed_where_not(known: bool) -> None:
    """Both give one array with the batch axis."""
    type_ = Array("float64", (Dim.of("n"),), "A")
    s, out = collected(type_, {"n": 2} if known else {})
    assert out.name == "v" and out.type == Array("float64", (SIZE, Dim.of("n")))
    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(s.run(out, x, *([2] if known else [])), x[:, :2])
    assert ("list_stack" in s.ops()) == (not known) and ("update" in s.ops()) == known


def test_no_elements_give_an_empty_array() -> None:
    s, out = collected(Array("float64", (Dim.of(2),)), {})
    function = Function("f", [s.lanes, s.vars["x"]], s.p.block, [out])
    assert evaluate(function, 0, np.empty((0, 3)))[0][0].shape == (0, 2)


# ---------------------------------------------------------------- sizes


def test_sizes_are_substituted_in_all_types() -> None:
    n, own = Dim.of("n"), Dim.of("n_1")
    array = Array("float64", (n,))
    slot = Slot("s", array)
    a, i, phi, out, k = (
        Var("a", array), Var("i", int_scalar("n")), Var("phi", array), Var("out", array),
        Var("k", int_scalar("n")),
    )  # fmt: skip
    block: list[Any] = [
        Assign(a, Op("undef", (), {"type": array})),
        Save(slot, a),
        For(i, k, k, k, [Assign(a, Op("restore", (), {"slot": slot}))],
            [Carried(phi, a, a, out)], trips=k),
        Assign(Var("l", ListOf(array)), Op("list_new", (), {"type": ListOf(array)})),
    ]  # fmt: skip
    copy = substitute_sizes(block, {"n": own})
    for stmt in walk(copy):
        for v in (*targets_of(stmt), *inner_targets_of(stmt)):
            assert "n" not in str(v.type).replace("n_1", "").replace("None", "").split("'")
    first, save, loop, new = copy
    assert first.op.attrs["type"].shape == (own,) and save.slot.type.shape == (own,)  # type: ignore[union-attr]
    assert loop.body[0].op.attrs["slot"].type.shape == (own,)  # type: ignore[union-attr]
    assert loop.trips.type.value == own and loop.index.type.value == own  # type: ignore[union-attr]
    assert new.op.attrs["type"].elem.shape == (own,)  # type: ignore[union-attr]
    assert block[0].op.attrs["type"].shape == (n,), "the original is left as it is"
