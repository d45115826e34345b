"""Slots after inlining: one per value, in the order of definitions."""

from __future__ import annotations

from s2s.transforms.checkpoint.canonicalize_slots import canonicalize_slots
from s2s.transforms.ir.builder import int_const
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Block,
    For,
    Function,
    Module,
    Op,
    Operand,
    Save,
    Scalar,
    Slot,
    Var,
)
from s2s.transforms.ir.printer import print_ir
from s2s.transforms.ir.symbolic_dims import Dim

V = Array("float64", (Dim.of("x.0"),))
X = Var("x", V)


def var(name: str) -> Var:
    return Var(name, V)


def op(target: str, name: str, *args: Operand) -> Assign:
    return Assign(var(target), Op(name, args))


def restore(target: str, slot: str) -> Assign:
    return Assign(var(target), Op("restore", (), {"slot": Slot(slot, V)}))


def save(slot: str, value: str) -> Save:
    return Save(Slot(slot, V), var(value))


def text(forward: Block, sweep: Block) -> list[str]:
    index = [Var(n, Scalar("int64", value=Dim.of(n))) for n in ("i", "k")]
    zero, one, n = int_const(0), int_const(1), int_const(3)
    loops: Block = [
        For(index[0], zero, n, one, body=forward, label="loop"),
        For(index[1], zero, n, one, body=sweep, label="bar", mirror="loop", reverse=True),
    ]
    function = Function("f", [X], loops, [X])
    done = canonicalize_slots(function)
    lines = print_ir(Module({"f": done}, "f")).splitlines()
    return [
        line.strip().replace(": f8[x.0]", "") for line in lines if "=" in line or "save" in line
    ]


def test_a_value_is_saved_where_it_is_defined() -> None:
    forward: Block = [
        op("a", "exp", X),
        op("b", "sin", var("a")),
        save("b_slot", "b"),
        save("a_slot", "a"),
    ]
    sweep: Block = [restore("b_1", "b_slot"), restore("a_1", "a_slot")]
    sweep.append(op("c", "multiply", var("a_1"), var("b_1")))
    found = text(forward, sweep)
    assert found[:4] == ["a = exp(x)", "save(a_slot, a)", "b = sin(a)", "save(b_slot, b)"]


def test_two_slots_of_one_value_become_one() -> None:
    forward: Block = [op("a", "exp", X), save("first", "a"), save("second", "a")]
    sweep: Block = [
        restore("a_1", "first"),
        op("b", "sin", var("a_1")),
        restore("a_2", "second"),
        op("c", "multiply", var("a_2"), var("b")),
    ]
    assert text(forward, sweep) == [
        "a = exp(x)",
        "save(first, a)",
        "a_1 = restore(first)",
        "b = sin(a_1)",
        "c = multiply(a_1, b)",
    ]


def test_the_restore_that_stays_comes_before_its_uses() -> None:
    """The slot that is saved first is restored last."""
    forward: Block = [op("a", "exp", X), save("first", "a"), save("second", "a")]
    sweep: Block = [
        restore("a_2", "second"),
        op("b", "sin", var("a_2")),
        restore("a_1", "first"),
        op("c", "multiply", var("a_1"), var("b")),
    ]
    assert text(forward, sweep)[2:] == [
        "a_1 = restore(first)",
        "b = sin(a_1)",
        "c = multiply(a_1, b)",
    ]


def test_slots_that_are_restored_in_different_blocks_stay() -> None:
    forward: Block = [op("a", "exp", X), save("first", "a"), save("second", "a")]
    inner = Var("j", Scalar("int64", value=Dim.of("j")))
    nested = For(inner, int_const(0), int_const(2), int_const(1), body=[restore("a_2", "second")])
    sweep: Block = [restore("a_1", "first"), nested]
    found = text(forward, sweep)
    assert "save(first, a)" in found and "save(second, a)" in found
