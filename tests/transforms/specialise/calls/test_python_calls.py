"""Builtin functions of Python, on values that are known and on values of the run."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.specialise.calls.python_calls import PythonCalls
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.values import Num, Obj, RangeVal, SliceVal, constant
from tests.transforms.specialise.bench import Bench


def test_ranges_have_three_bounds() -> None:
    here = Bench()
    calls, n = here[PythonCalls], here.number("n", "int64")
    one = calls.call_range((n,), {}, here.node)
    assert isinstance(one, RangeVal)
    assert (one.start.known, one.stop, one.step.known) == ((0,), n, (1,))
    two = calls.call_range((constant(2), n), {}, here.node)
    assert (two.start.known, two.step.known) == ((2,), (1,))
    three = calls.call_range((n, constant(0), constant(-1)), {}, here.node)
    assert (three.start, three.step.known) == (n, (-1,)) and not here.block


def test_a_step_of_zero() -> None:
    here = Bench()
    calls, n = here[PythonCalls], here.number("n", "int64")
    with pytest.raises(ValueError, match="arg 3 must not be zero"):
        calls.call_range((constant(0), n, constant(0)), {}, here.node)
    calls.call_range((constant(0), constant(9), n), {}, here.node)
    assert "not_equal" in here.ops  # a check at run time
    with pytest.raises(TypeError, match="1 to 3 arguments"):
        calls.call_range((n,) * 4, {}, here.node)


def test_lengths() -> None:
    here = Bench()
    calls = here[PythonCalls]
    rows = calls.call_len((here.array("a", 2),), {}, here.node)
    assert isinstance(rows, Num) and rows.operand.type.dtype == "int64"
    known = here[Arrays].new_list((constant(1), constant(2)))
    assert calls.call_len((known,), {}, here.node).known == (2,)
    assert calls.call_len((Obj("abc"),), {}, here.node).known == (3,)
    with pytest.raises(TypeError, match="unsized"):
        calls.call_len((here.array("z", 0),), {}, here.node)
    with pytest.raises(TypeError, match="has no len"):
        calls.call_len((Obj(len),), {}, here.node)


def test_slices_are_filled_with_none() -> None:
    here = Bench()
    calls, two = here[PythonCalls], constant(2)
    assert calls.call_slice((two,), {}, here.node) == SliceVal(None, two, None)
    assert calls.call_slice((two, Obj(None)), {}, here.node) == SliceVal(two, None, None)
    assert calls.call_slice((two, two, two), {}, here.node) == SliceVal(two, two, two)


def test_classes() -> None:
    here = Bench()
    calls = here[PythonCalls]

    def is_one(value, *classes) -> bool:
        wanted = Obj(classes if len(classes) > 1 else classes[0])
        (known,) = calls.call_isinstance((value, wanted), {}, here.node).known
        return known

    assert is_one(here.array(), np.ndarray) and not is_one(here.array("b"), list)
    assert is_one(constant(1), float, int) and not is_one(constant(1.0), int)
    assert calls.call_issubclass((Obj(bool), Obj(int)), {}, here.node).known == (True,)
    assert calls.call_callable((Obj(len),), {}, here.node).known == (True,)
    assert calls.call_callable((constant(1),), {}, here.node).known == (False,)


def test_attributes_by_name() -> None:
    here = Bench()
    calls = here[PythonCalls]
    assert calls.call_hasattr((Obj(1.5), Obj("real")), {}, here.node).known == (True,)
    default = constant(7)
    assert calls.call_getattr((Obj(1.5), Obj("other"), default), {}, here.node) is default


def test_conversions_of_known_values() -> None:
    here = Bench()
    calls = here[PythonCalls]
    assert calls.call_int((constant(2.7),), {}, here.node).known == (2,)
    assert calls.call_float((Obj("1.5"),), {}, here.node).known == (1.5,)
    assert calls.call_float((here.number(),), {}, here.node) is NotImplemented
    assert calls.call_bool((), {}, here.node).known == (False,)
    with pytest.raises(ValueError, match="could not convert"):
        calls.call_float((Obj("one"),), {}, here.node)
