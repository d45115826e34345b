"""Variables, and what open tapes note of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.ir.nodes import Assign, Custom, Op, Scalar, Var
from s2s.transforms.specialise.variables import Tape, Variables
from tests.transforms.specialise.bench import Bench


def watched(here: Bench) -> tuple[Variables, object, Tape]:
    variables, ref = here[Variables], here.array("w")
    variables.watch(ref.cell, SimpleNamespace(name="w", trainable=True))
    tape = Tape(here.block, 0, frozenset())
    variables.open(tape)
    return variables, ref.cell, tape


def test_open_tapes_note_accesses() -> None:
    here = Bench()
    variables, cell, tape = watched(here)
    other = here.array("other").cell
    variables.note_access(cell)
    variables.note_access(other)
    assert list(tape.seen) == [cell]
    tape.end, tape.seen = 0, {}
    variables.note_access(cell)
    assert tape.seen == {}


def test_an_assignment_under_a_tape_is_a_new_version() -> None:
    here = Bench()
    variables, cell, tape = watched(here)
    old = here.session.state.heap[cell]
    here.session.state.heap[cell] = new = Var("w_new", old.type, "w")
    variables.note_assignment(cell, old)
    assert isinstance(here.block[-1], Custom) and here.session.state.heap[cell] != new
    tape.end = 1
    here.session.state.heap[cell] = new
    variables.note_assignment(cell, old)
    assert len(here.block) == 1 and here.session.state.heap[cell] == new


def test_a_rule_may_not_read_a_variable_by_itself() -> None:
    here = Bench()
    variables, cell, tape = watched(here)
    read = Assign(Var("t", Scalar("float64")), Op("sum", (here.session.state.heap[cell],)))
    with pytest.raises(S2SError, match="reads the Variable w"):
        variables.refuse_variables_inside([read], here.node)
    tape.accessed = False
    variables.refuse_variables_inside([read], here.node)


def test_a_mark_restores_tapes_and_variables() -> None:
    here = Bench()
    variables, cell, tape = watched(here)
    mark = variables.mark()
    tape.seen[cell], tape.end = None, 3
    variables.open(Tape([], 0, frozenset()))
    variables.watch(here.array("v").cell, None)
    variables.undo(mark)
    assert variables.tapes == [tape] and [*variables.variables] == [cell]
    assert tape.seen == {} and tape.end is None
