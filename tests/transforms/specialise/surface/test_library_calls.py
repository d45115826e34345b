"""Programs of the library, and `out`."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.surface.library_calls import LibraryCalls
from s2s.transforms.specialise.surface.library_paths import library_function
from s2s.transforms.specialise.values import Num, Obj, constant
from tests.transforms.specialise.bench import Bench


def test_the_out_argument_is_taken_out() -> None:
    here = Bench()
    calls, a, out = here[LibraryCalls], here.array("a"), here.array("out")
    args, kwargs, found = calls.split_out(np.tanh, (a, out), {}, here.node)
    assert (list(args), kwargs, found) == ([a], {}, out)
    args, kwargs, found = calls.split_out(np.sum, (a,), {"out": Obj(None)}, here.node)
    assert list(args) == [a] and found is None
    with pytest.raises(TypeError, match="must be of ArrayType"):
        calls.split_out(np.tanh, (a,), {"out": constant(1)}, here.node)


def test_a_result_is_written_into_an_array() -> None:
    here = Bench()
    a, out = here.array("a"), here.array("out")
    before = here.session.state.heap[out.cell]
    assert here[LibraryCalls].write_out(a, out, here.node) is out
    assert here.session.state.heap[out.cell] != before


def test_a_program_is_a_call_of_its_text() -> None:
    here = Bench(call_function=lambda callee, args: here.number("result"))
    program = library_function(np.ptp)
    made = here[LibraryCalls].run_library(program, np.ptp, (here.array(),), {}, here.node)
    assert isinstance(made, Num)
    assert here.evaluator.seen[0][1].value is program
    with pytest.raises((TypeError, S2SError)):
        here[LibraryCalls].run_library(program, np.ptp, (), {"colour": constant(1)}, here.node)


def test_scalars_are_no_arrays() -> None:
    here = Bench()
    assert (
        here[LibraryCalls].scalar(Num(here.number().operand, None, frozenset((1,)))).arrays
        == frozenset()
    )
