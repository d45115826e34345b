"""Ranges: lengths, end points and dtypes of every form of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.errors import UnsupportedError
from tests.transforms.rules.numeric import call, same_as_numpy


@pytest.mark.parametrize(
    "args",
    [
        (5,), (0,), (-3,), (2, 7), (7, 2), (0, 10, 3), (10, 0, -3), (1, 1, 5), (0, 1, 0.1),
        (2.5,), (0.0, 1.0, 0.3), (1.0, 0.0, -0.25), (np.int32(4),), (np.float32(3),),
        (0, np.float32(1), np.float32(0.25)), (1, 2, 0.5),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtype", [None, "float32", "int64"])
def test_arange(args: Any, dtype: Any) -> None:
    same_as_numpy("numpy.arange", *args, dtype=dtype)


def test_arange_with_a_step_of_zero_and_others_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        np.arange(0, 3, 0)
    with pytest.raises(ZeroDivisionError):
        call("numpy.arange", 0, 3, 0)
    with pytest.raises(UnsupportedError, match="uint64"):
        call("numpy.arange", np.uint64(3))
    with pytest.raises(UnsupportedError, match="bools"):
        call("numpy.arange", 2, dtype=bool)
    with pytest.raises(TypeError, match="only 0-dimensional"):
        call("numpy.arange", np.ones(2))


@pytest.mark.parametrize("num", [0, 1, 2, 5, 50])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (3.0, -2.0), (1, 4), (2.0, 2.0), (0.1, 1e-300)])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(ends: Any, num: int, endpoint: bool) -> None:
    same_as_numpy("numpy.linspace", *ends, num, endpoint)
    got = call("numpy.linspace", *(np.float64(e) for e in ends), num, endpoint)
    if endpoint and num > 1:
        assert got[-1] == ends[1], "the end is exact"
    assert isinstance(same_as_numpy("numpy.linspace", *ends, -1), ValueError)


@pytest.mark.parametrize("args", [(3,), (0,), (2, 4), (4, 2), (3, 3, 1), (3, 4, -2), (2, 2, 9)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_eye(args: Any, dtype: str) -> None:
    same_as_numpy("numpy.eye", *args, dtype=dtype)


def test_keywords_that_are_refused() -> None:
    for path, args in (("arange", (3,)), ("linspace", (0.0, 1.0)), ("eye", (3,))):
        with pytest.raises(UnsupportedError, match="device="):
            call(f"numpy.{path}", *args, device="cpu")
