"""`numpy.pad`: every mode and form of its arguments, sizes known and unknown, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.rules import SURFACES
from tests.transforms.rules.numeric import call, run, same_as_numpy

X = np.arange(6.0).reshape(2, 3)
MODES = [
    "constant", "edge", "wrap", "symmetric", "reflect", "maximum", "minimum", "mean", "linear_ramp",
]  # fmt: skip
WIDTHS: list[Any] = [
    0,
    1,
    7,
    (1, 2),
    (2,),
    ((1, 2), (3, 0)),
    ((1, 2),),
    ((1,), (2,)),
    [[0, 1], [1, 0]],
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", WIDTHS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_widths_in_every_form(mode: str, width: Any, dtype: str) -> None:
    same_as_numpy("numpy.pad", X.astype(dtype), width, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(1,), (5,), (1, 4), (0,), (0, 2)])
def test_short_and_empty_arrays(mode: str, shape: Any) -> None:
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    for width in (0, 1, 4):
        same_as_numpy("numpy.pad", x, width, mode)


def test_widths_that_are_known_at_run_time() -> None:
    for mode in MODES:
        for before, after in ((0, 0), (2, 1), (5, 6)):
            got = run(
                lambda b, x, m, n: SURFACES["numpy.pad"](b, x, ((0, 0), (m, n)), mode),
                X, before, after,
            )  # fmt: skip
            want = np.pad(X, ((0, 0), (before, after)), mode)  # type: ignore[call-overload]
            np.testing.assert_allclose(got, want, rtol=1e-14)
    with pytest.raises(ValueError, match="negative"):
        run(lambda b, x, n: SURFACES["numpy.pad"](b, x, n), X, -1)


@pytest.mark.parametrize(
    ("mode", "keywords"),
    [
        ("constant", {"constant_values": 7}),
        ("constant", {"constant_values": (1.5, -2)}),
        ("constant", {"constant_values": ((1, 2), (3, 4))}),
        ("linear_ramp", {"end_values": (5.0, -5.0)}),
        ("linear_ramp", {"end_values": ((1.0, 2.0), (3.0, 4.0))}),
        ("mean", {"stat_length": 2}),
        ("maximum", {"stat_length": ((1, 2), (2, 9))}),
        ("minimum", {"stat_length": None}),
        ("reflect", {"reflect_type": "even"}),
    ],
)
def test_options_of_modes(mode: str, keywords: Any) -> None:
    same_as_numpy("numpy.pad", X, ((1, 2), (2, 1)), mode, **keywords)


def test_values_are_cast_to_the_dtype_of_the_array() -> None:
    same_as_numpy("numpy.pad", np.array([1, 2], np.int8), 1, constant_values=2.7)
    same_as_numpy("numpy.pad", np.array([True]), 2)


@pytest.mark.parametrize("width", [-1, (1, -1), ((1, 2), (3, 4), (5, 6))])
def test_widths_that_numpy_refuses(width: Any) -> None:
    assert isinstance(same_as_numpy("numpy.pad", X, width), ValueError)


@pytest.mark.parametrize(
    ("mode", "keywords", "says"),
    [
        ("median", {}, "mode='median'"),
        ("empty", {}, "mode='empty'"),
        ("constant", {"end_values": 1}, "end_values="),
        ("reflect", {"reflect_type": "odd"}, "reflect_type='odd'"),
    ],
)
def test_modes_that_are_refused(mode: str, keywords: Any, says: str) -> None:
    with pytest.raises(UnsupportedError, match=says) as error:
        call("numpy.pad", X, 1, mode, **keywords)
    assert error.value.advice
