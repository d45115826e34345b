"""Values and states."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.specialise.values import (
    Cell,
    Conflict,
    Disagreement,
    ListVal,
    Num,
    Obj,
    Ref,
    State,
    TupleVal,
    array,
    class_of,
    constant,
    kind_text,
    number,
)  # fmt: skip
from tests.transforms.specialise.bench import Bench


def test_constants() -> None:
    assert isinstance(constant(2.0), Num) and isinstance(constant(np.float32(2)), Num)
    assert constant("text") == Obj("text")
    assert number(constant(1)).known == (1,)
    with pytest.raises(AssertionError):
        array(constant(1))


def test_the_class_that_type_gives() -> None:
    here = Bench()
    assert class_of(constant(True)) is bool and class_of(here.number()) is np.float64
    assert class_of(Ref(Cell())) is np.ndarray and class_of(TupleVal(())) is tuple
    assert class_of(Obj("text")) is str and kind_text(ListVal(Cell())) == "a list"


def test_reading_a_conflict_is_a_disagreement() -> None:
    with pytest.raises(Disagreement, match="two kinds"):
        Conflict("two kinds").values  # noqa: B018


def test_a_copy_of_a_state_shares_only_cells_from_outside() -> None:
    state, cell, outside = State([{}]), Cell(), Cell()
    state.heap[cell] = constant(1)
    copy = state.copy()
    assert not copy.changed_since(state)
    copy.heap[cell] = constant(2)
    copy.env["x"] = constant(3)
    assert state.heap[cell].known == (1,) and not state.env and copy.changed_since(state)
    copy.adopt(outside, constant(5))
    assert state.heap[outside].known == (5,)
