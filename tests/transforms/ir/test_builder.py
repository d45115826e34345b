"""The builder: names, constants, operators on symbols, checks, blocks and trip counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import (
    NameSupply,
    Sym,
    const,
    resolve_dims,
    slot_for,
    trip_count,
)
from s2s.transforms.ir.errors import S2STypeError, UnsupportedError
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Const,
    If,
    Origin,
    Raise,
    Record,
    Scalar,
    Span,
    Var,
)
from s2s.transforms.ir.symbolic_dims import Dim
from tests.transforms.programs import F8, Program, int_scalar, program, run, vector

# ---------------------------------------------------------------- names


def test_fresh_names_are_numbered_and_avoid_those_taken() -> None:
    names = NameSupply(["h", "h_2"])
    assert [names.fresh("h") for _ in range(3)] == ["h_1", "h_3", "h_4"]
    assert names.fresh("new") == "new" and names.fresh("new") == "new_1"


def test_a_restored_supply_gives_the_same_names_again_but_not_those_kept() -> None:
    names = NameSupply()
    before = names.snapshot()
    assert names.fresh("t") == "t"
    names.keep(names.fresh("u"))
    names.restore(before)
    assert names.fresh("t") == "t" and names.fresh("u") == "u_1"


def test_a_fresh_name_forgets_the_definition_of_an_abandoned_attempt() -> None:
    p = Program()
    before = p.names.snapshot()
    first = p.new(p.emit("zeros", 3, dtype="float64"))
    assert isinstance(first.operand, Var) and first.operand.name == "t"
    assert "t" in p.definitions and "t" in p.memory
    p.names.restore(before)
    assert p.fresh_name("t") == "t"
    assert not p.definitions and not p.memory


# ---------------------------------------------------------------- constants


@pytest.mark.parametrize(
    ("value", "dtype", "weak"),
    [
        (True, "bool", True),
        (np.True_, "bool", False),
        (3, "int64", True),
        (np.int32(3), "int32", False),
        (np.uint8(3), "uint8", False),
        (0.5, "float64", True),
        (np.float32(0.5), "float32", False),
        (1j, "complex128", True),
        (np.complex64(1j), "complex64", False),
    ],
)
def test_python_numbers_are_weak_and_numpy_scalars_are_not(value: Any, dtype: str, weak: bool):
    x = const(value)
    assert x.value == value and (x.type.dtype, x.type.weak) == (dtype, weak)
    assert type(x.value) in (bool, int, float, complex)


def test_integer_constants_have_symbolic_values() -> None:
    assert const(3).type.value == const(np.int8(3)).type.value == Dim.of(3)
    assert const(3.0).type.value is None and const(True).type.value is None


@pytest.mark.parametrize("value", [np.longdouble(1), np.clongdouble(1)])
def test_extended_precision_is_refused(value: Any) -> None:
    with pytest.raises(UnsupportedError, match="longdouble") as error:
        const(value)
    assert error.value.advice == "use np.float64"


@pytest.mark.parametrize("value", ["1", None, [1.0]])
def test_other_values_are_no_operands(value: Any) -> None:
    with pytest.raises(S2STypeError, match=f"not {type(value).__name__}"):
        const(value)


# ---------------------------------------------------------------- operators


OPERATORS: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "power": lambda x, y: x**y,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "left_shift": lambda x, y: x << y,
    "right_shift": lambda x, y: x >> y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_emit_the_operation_with_operands_in_order(name: str) -> None:
    operator = OPERATORS[name]
    module = program(
        {"k": int_scalar("k")}, lambda p, k: [operator(k, 2), operator(p.sym(np.int64(2)), k)]
    )
    assert [s.op.name for s in module.main.body] == [name, name]  # type: ignore[union-attr]
    assert run(module, 5) == [operator(5, 2), operator(2, 5)]


@pytest.mark.parametrize("name", ["subtract", "divide", "power", "left_shift", "floor_divide"])
def test_a_number_on_the_left(name: str) -> None:
    operator = OPERATORS[name]
    module = program({"k": int_scalar("k")}, lambda p, k: operator(7, k))
    assert run(module, 3) == [operator(7, 3)]


def test_a_comparison_with_a_number_on_the_left_is_turned_round() -> None:
    module = program({"k": int_scalar("k")}, lambda p, k: [3 < k, 3 >= k])
    assert run(module, 5) == [True, False] and run(module, 3) == [False, True]


def test_matmul_and_numpy_functions_on_either_side() -> None:
    a, v = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 0.5])
    params: Any = {"a": vector("a", 2), "v": vector("v")}
    module = program(params, lambda p, a, v: [a @ v, np.sin(v), np.float64(2) * v, np.sum(a)])
    for got, want in zip(run(module, a, v), [a @ v, np.sin(v), 2 * v, a.sum()]):
        np.testing.assert_array_equal(got, want)


def test_inversion_is_logical_for_conditions_and_bitwise_for_integers() -> None:
    module = program({"k": int_scalar("k")}, lambda p, k: [~(k > 3), ~k])
    assert run(module, 5) == [False, -6] and run(module, 2) == [True, -3]


def test_a_symbol_has_no_truth_value_and_no_hash() -> None:
    p = Program()
    x = p.sym(Var("x", F8))
    with pytest.raises(TypeError, match="known only at run time"):
        bool(x)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_ufunc_methods_and_keywords_are_not_taken() -> None:
    x: Any = Program().sym(Var("x", vector("x")))
    with pytest.raises(TypeError):
        np.add.reduce(x)
    with pytest.raises(TypeError):
        np.sin(x, where=True)


def test_conversion_to_its_own_dtype_emits_nothing() -> None:
    p = Program()
    x = p.sym(Var("x", F8))
    assert x.astype("float64") is x and not p.block
    assert x.astype("float32").dtype == "float32" and len(p.block) == 1


def test_conversion_of_complex_to_real_takes_the_real_part_but_to_bool_tests_both() -> None:
    params: Any = {"z": Scalar("complex128")}
    module = program(params, lambda p, z: [z.astype("float32"), z.astype("bool")])
    with np.errstate(all="raise"):
        real, truth = run(module, 3 + 4j)
    assert real.dtype == np.float32 and real == 3 and truth
    assert run(module, 2j) == [0.0, True]


def test_a_symbol_of_another_builder_is_bound_to_this_one() -> None:
    p, q = Program(), Program()
    x = p.sym(Var("x", F8))
    assert p.sym(x) is x
    moved = q.sym(x)
    assert moved.b is q and moved.operand is x.operand


def test_sizes_are_constants_where_they_are_known() -> None:
    p = Program()
    x = p.sym(Var("x", Array("float64", (Dim.of(3), Dim.of("x.1")))))
    known, asked = x.shape
    assert isinstance(known.operand, Const) and known.operand.value == 3
    assert [s.op.name for s in p.block] == ["shape"] and isinstance(asked.operand, Var)  # type: ignore[union-attr]
    assert p.dim_value(Dim.of("x.1")) is None


# ---------------------------------------------------------------- emission


def test_emitted_statements_have_hint_origin_and_definition() -> None:
    p = Program()
    p.line()
    p.hint = "z"
    x = p.sym(Var("x", F8))
    y = np.sin(x)
    (stmt,) = p.block
    assert isinstance(stmt, Assign) and stmt.target.name == "z" and stmt.origin is p.origin
    assert p.definitions["z"] is stmt.op and y.operand is stmt.target
    assert p.emit("cos", x, hint="w", user="w").operand == Var("w", F8)


def test_structured_and_complex_operands_are_refused_by_name() -> None:
    p = Program()
    r = p.sym(Var("r", Record((("x", "float64"),), (Dim.of("r.0"),))))
    with pytest.raises(UnsupportedError, match="sin of a structured array"):
        p.emit("sin", r)
    assert p.emit("field", r, name="x").dtype == "float64"
    with pytest.raises(UnsupportedError, match="floor of complex numbers"):
        p.emit("floor", p.sym(Var("z", Scalar("complex128"))))
    assert len(p.block) == 1


def test_the_largest_rank_is_sixteen() -> None:
    p = Program()
    x = p.sym(Var("x", vector("x", 15)))
    y = p.emit("expand_dims", x, axes=(0,))
    assert y.ndim == 16
    with pytest.raises(UnsupportedError, match="an array of 17 axes: at most 16"):
        p.emit("expand_dims", y, axes=(0,))


def test_open_sizes_are_named_after_the_value() -> None:
    open_ = Array("float64", (Dim.of("?"), Dim.of("x.0"), Dim.of("?") + 1))
    named = resolve_dims(open_, "t")
    assert isinstance(named, Array)
    assert named.shape == (Dim.of("t.0"), Dim.of("x.0"), Dim.of("t.2") + 1)
    assert resolve_dims(Scalar("int64"), "k").value == Dim.of("k")  # type: ignore[union-attr]
    assert resolve_dims(Scalar("int64", value=Dim.of(3)), "k").value == Dim.of(3)  # type: ignore[union-attr]
    assert resolve_dims(F8, "x") is F8


def test_marks_of_memory() -> None:
    p = Program()
    x = p.sym(Var("x", vector("x")))
    made = [p.new(x + 1.0), p.view(x + 1.0), p.view(x + 1.0, writeable=True)]
    assert [*p.memory.values()] == ["new", "view", "writeable view"]
    assert [s.operand.name for s in made] == [*p.memory]  # type: ignore[union-attr]


# ---------------------------------------------------------------- blocks and checks


def test_another_block_for_a_while() -> None:
    p = Program()
    outer, inner = p.block, []
    with pytest.raises(KeyError):
        with p.into(inner):
            assert p.block is inner and p.around == [outer]
            raise KeyError
    assert p.block is outer and not p.around


def test_another_origin_for_a_while() -> None:
    p = Program()
    span = Span("f.py", 7, 0, 7, 1)
    with p.at(Origin(span, span)):
        p.emit("sin", p.sym(Var("x", F8)))
    assert p.origin is None and p.block[0].origin == Origin(span, span)


@pytest.mark.parametrize("ok", [True, np.True_, 1])
def test_a_check_that_holds_emits_nothing(ok: Any) -> None:
    p = Program()
    p.check(ok, "ValueError", "no")
    p.check(p.sym(True), "ValueError", "no")
    assert not p.block


@pytest.mark.parametrize("ok", [False, 0])
def test_a_check_that_fails_always_raises(ok: Any) -> None:
    p = Program()
    p.check(ok, "ValueError", "size ", p.sym(3))
    (stmt,) = p.block
    assert isinstance(stmt, Raise) and stmt.check
    assert stmt.exception == "ValueError" and stmt.message == ("size ", const(3))


def test_a_check_of_a_run_time_value_is_a_branch() -> None:
    module = program(
        {"x": F8}, lambda p, x: [p.check(x > 0.0, "ValueError", "not positive: ", x), x][1:]
    )
    (_, branch) = module.main.body
    assert isinstance(branch, If) and not branch.then
    assert run(module, 2.0) == [2.0]
    with pytest.raises(ValueError, match=r"not positive: -1\.0"):
        run(module, -1.0)


def test_adjoint_code_repeats_no_checks() -> None:
    p = Program()
    p.checks = False
    p.check(False, "ValueError", "no")
    assert not p.block
    p.fail("ValueError", "no")
    (stmt,) = p.block
    assert isinstance(stmt, Raise) and not stmt.check


def test_a_slot_is_named_after_value_and_line() -> None:
    span = Span("f.py", 19, 0, 19, 4)
    names = NameSupply(["h"])
    value = Var("h", F8, "h")
    binder = Assign(value, Program().emit("zeros", 1, dtype="float64").b.definitions["t"])
    binder.origin = Origin(span, span)
    slot, restored = slot_for(value, binder, names)
    assert (slot.name, restored.name, restored.user) == ("h_L19", "h_1", "h")
    again, _ = slot_for(Var("h_L19", F8), binder, names)
    assert again.name == "h_L19_1"
    binder.origin = None
    assert slot_for(value, binder, names)[0].name == "h_saved"


# ---------------------------------------------------------------- trip counts


BOUNDS = [-3, 0, 1, 4, 9]
STEPS = [-3, -1, 1, 2]


@pytest.mark.parametrize("step", STEPS)
def test_trip_counts_of_constants_are_folded(step: int) -> None:
    p = Program()
    for start in BOUNDS:
        for stop in BOUNDS:
            count = trip_count(p, start, stop, step)
            assert isinstance(count, Const) and count.value == len(range(start, stop, step))
    assert not p.block


@pytest.mark.parametrize("step", [*STEPS, None])
@pytest.mark.parametrize("start", [0, None])
def test_trip_counts_at_run_time(start: int | None, step: int | None) -> None:
    def build(p: Program, a: Sym, b: Sym, c: Sym) -> Any:
        return p.sym(trip_count(p, a if start is None else start, b, c if step is None else step))

    module = program({name: int_scalar(name) for name in "abc"}, build)
    for a in BOUNDS:
        for b in BOUNDS:
            for c in STEPS if step is None else [step]:
                want = len(range(a if start is None else start, b, c))
                assert run(module, a, b, c) == [want]


def test_the_trip_count_of_a_whole_axis_is_its_size() -> None:
    p = Program()
    size = p.sym(Var("x", vector("x"))).shape[0]
    before = len(p.block)
    assert trip_count(p, 0, size, 1) is size.operand and len(p.block) == before


def test_bounds_at_the_ends_of_int64_do_not_overflow() -> None:
    """The difference of the bounds of an empty range need not fit in 64 bits."""
    module = program(
        {name: int_scalar(name) for name in "abc"},
        lambda p, a, b, c: [p.sym(trip_count(p, a, b, c)), p.sym(trip_count(p, a, b, 2))],
    )
    low, high = -(2**63), 2**63 - 1
    with np.errstate(over="raise"):
        assert run(module, np.int64(high), np.int64(low), np.int64(3)) == [0, 0]
