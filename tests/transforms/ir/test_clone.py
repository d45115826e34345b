"""Clones of blocks: every definition, slot, label and size gets a name of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.builder import NameSupply, slot_for
from s2s.transforms.ir.clone import clone_block
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Const,
    For,
    Function,
    Module,
    Op,
    Operand,
    Save,
    Scalar,
    Var,
    inner_targets_of,
    targets_of,
    walk,
)
from s2s.transforms.ir.printer import print_ir
from s2s.transforms.ir.scopes import names_of
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from tests.transforms.cases import CASES, Case
from tests.transforms.programs import F8, Program, program, run, vector


def cloned(module: Module) -> tuple[Function, Function]:
    """A function, and its clone for the same parameters."""
    main = module.main
    names = NameSupply(names_of(main))
    inside: dict[str, Operand] = {p.name: p for p in main.params}
    body = clone_block(main.body, names, inside)

    def new(x: Operand) -> Operand:
        return inside[x.name] if isinstance(x, Var) else x

    return main, replace(main, body=body, results=[new(r) for r in main.results])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_clone_computes_the_same_and_shares_no_name(case: Case) -> None:
    main, copy = cloned(case.module)
    before = print_ir(main)
    for args in case.args:
        for got, want in zip(run(Module({"f": copy}, "f"), *args), run(case.module, *args)):
            np.testing.assert_array_equal(got, want)
    params = {p.name for p in main.params}
    bound = [set(names_of(f)) - params - {""} for f in (main, copy)]
    assert not bound[0] & bound[1] and len(bound[0]) == len(bound[1])
    sizes = {
        symbol.split(".")[0]
        for s in walk(copy.body)
        for v in (*targets_of(s), *inner_targets_of(s))
        for d in ([v.type.value or Dim()] if isinstance(v.type, Scalar) else v.type.shape)  # type: ignore[union-attr]
        for symbol in d.symbols
    }
    assert not sizes & bound[0], "a size of the clone is named after a value of the original"
    assert print_ir(main) == before


def test_the_map_is_applied_and_extended() -> None:
    p = Program()
    x, y = Var("x", F8), Var("y", F8)
    z = np.sin(p.sym(x)) * p.sym(y)
    inside: dict[str, Operand] = {"x": Const(2.0, F8)}
    first, second = clone_block(p.block, p.names, inside)
    assert isinstance(first, Assign) and first.op.args == (Const(2.0, F8),)
    assert isinstance(second, Assign) and second.op.args == (first.target, y)
    assert inside[z.operand.name] == second.target and inside["x"] == Const(2.0, F8)


def test_sizes_follow_the_operand_that_replaces_a_value() -> None:
    p = Program()
    x = Var("x", vector("x"))
    np.sin(p.sym(x))
    (copy,) = clone_block(p.block, p.names, {"x": Var("w", Array("float64", (Dim.of(4),)))})
    assert isinstance(copy, Assign) and copy.target.type == Array("float64", (Dim.of(4),))


def test_a_size_known_outside_keeps_its_canonical_form() -> None:
    """Facts of the original hold for the clone, where they say nothing of values inside."""
    n = Var("t", Array("float64", (Dim.of("t.0"),)))
    block: list[Any] = [Assign(n, Op("copy", (Var("x", vector("x")),)))]
    facts = Facts()
    facts.define("t.0", Dim.of("x.0"))
    (known,) = clone_block(block, NameSupply(["t", "x"]), {}, facts)
    (unknown,) = clone_block(block, NameSupply(["t", "x"]), {})
    assert isinstance(known, Assign) and known.target.type.shape == (Dim.of("x.0"),)  # type: ignore[union-attr]
    assert isinstance(unknown, Assign) and unknown.target.type.shape == (Dim.of("t_1.0"),)  # type: ignore[union-attr]


def test_saves_and_restores_share_a_new_slot() -> None:
    p = Program()
    value = p.sym(Var("x", F8)) * 2.0
    assert isinstance(value.operand, Var)
    slot, back = slot_for(value.operand, p.block[0], p.names)
    p.block += [Save(slot, value.operand), Assign(back, Op("restore", (), {"slot": slot}))]
    _, save, restore = clone_block(p.block, p.names, {})
    assert isinstance(save, Save) and isinstance(restore, Assign)
    assert save.slot == restore.op.attrs["slot"] != slot


def test_the_mirror_of_a_cloned_loop_mirrors_the_clone() -> None:
    """A mirror whose loop is not in the block keeps it."""
    module = program({"x": F8}, lambda p, x: p.loop(3, [x], lambda i, s: [s * 2.0]))
    (loop,) = module.main.body
    assert isinstance(loop, For)
    mirror = replace(loop, label="", mirror=loop.label, reverse=True)
    names = NameSupply(names_of(module.main))
    both = clone_block([loop, replace(mirror, body=[], carried=[])], names, {})
    alone = clone_block([mirror], names, {})
    assert both[1].mirror == both[0].label != loop.label  # type: ignore[union-attr]
    assert alone[0].mirror == loop.label and alone[0].label == ""  # type: ignore[union-attr]
