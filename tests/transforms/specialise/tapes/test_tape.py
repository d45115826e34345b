"""Tapes: their blocks."""

from __future__ import annotations

from s2s.transforms.specialise.tapes.tape import Tapes, defined, defining
from s2s.transforms.specialise.values import Num
from s2s.transforms.specialise.variables import Tape, TapeVal, Variables
from s2s.transforms.syntax import core
from tests.transforms.specialise.bench import Bench


def test_the_block_of_a_tape() -> None:
    here = Bench()
    b, x = here.session.b, here.number()
    b.emit("add", x.operand, 1.0)

    def run(stmts) -> bool:
        b.emit("multiply", x.operand, 2.0)
        return False

    here.evaluator.answers.update(run=run, eval=lambda node: Num(x.operand))
    at = here.node.at
    call = core.Call(at, core.Name(at, "tape_class"), ())
    here.env["tape_class"] = here.number("c")
    item = core.WithItem(at, call, core.Name(at, "t"))
    assert not here[Tapes].run_tapes(core.With(at, (item,), ()))
    (tape,) = here[Variables].tapes
    assert isinstance(here.env["t"], TapeVal) and (tape.start, tape.end) == (1, 2)
    assert [s.op.name for s in here[Tapes].region(tape)] == ["multiply"]
    assert here[Tapes].in_reach(tape)
    b.emit("subtract", x.operand, 2.0)
    assert len(here[Tapes].region(tape)) == 1


def test_names_that_a_block_defines() -> None:
    here = Bench()
    made = here.session.b.emit("add", here.number().operand, 1.0).operand
    assert list(defined(here.block)) == [made.name]
    assert defining([here.block], made.name) is here.block[0]
    assert defining([here.block], "other") is None


def test_a_second_name_is_followed_to_the_first() -> None:
    here = Bench()
    b = here.session.b
    first = b.emit("add", here.number().operand, 1.0).operand
    second = b.emit("copy", first).operand
    assert here[Tapes].first_name(second) == first
    assert not here[Tapes].in_reach(Tape([], 0, frozenset()))
