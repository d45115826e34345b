"""`numpy.roll`: one axis, several, none; shifts of either sign, longer than the axis, any time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.errors import S2SValueError
from s2s.transforms.ir.nodes import Assign
from s2s.transforms.rules import SURFACES
from tests.transforms.rules.numeric import Trial, call, check_derivatives, run, same_as_numpy

X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("shift", [0, 1, -1, 4, -5, 100, np.int64(2)])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0,), (0, 1), (0, -1)])
@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (0, 3)])
def test_shifts(shift: Any, axis: Any, shape: Any) -> None:
    x = np.arange(float(np.prod(shape))).reshape(shape)
    same_as_numpy("numpy.roll", x, int(shift), axis)
    got = run(lambda b, x, n: SURFACES["numpy.roll"](b, x, n, axis), x, int(shift))
    np.testing.assert_array_equal(got, np.roll(x, shift, axis))


@pytest.mark.parametrize("shape", [(), (1,), (5,), (0,)])
def test_flat_arrays(shape: Any) -> None:
    x = np.arange(float(np.prod(shape))).reshape(shape)
    for shift in (0, 2, -7):
        same_as_numpy("numpy.roll", x, shift)


def test_one_shift_per_axis() -> None:
    same_as_numpy("numpy.roll", X, (1, -2), (0, 1))
    with pytest.raises(ValueError):
        call("numpy.roll", X, (1, 2, 3), (0, 1))
    with pytest.raises(S2SValueError, match="axis 2 is out of bounds"):
        call("numpy.roll", X, 1, 2)


def test_a_known_shift_is_one_operation() -> None:
    for shift, name in ((3, "roll"), (None, "index")):
        trial = Trial(X, 3)
        given = trial.syms[1] if shift is None else shift
        SURFACES["numpy.roll"](trial.b, trial.syms[0], given, 1)
        last = trial.b.block[-1]
        assert isinstance(last, Assign) and last.op.name == name


@pytest.mark.parametrize("shift", [0, 1, -3, 9])
@pytest.mark.parametrize("axis", [0, 1])
def test_derivatives(shift: int, axis: int) -> None:
    check_derivatives("roll", X, shift=shift, axis=axis)
