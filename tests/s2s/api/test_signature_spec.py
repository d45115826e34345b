"""Type specifications of `compile`: texts, Numba types, examples."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from numba import types

from s2s.api.signature_spec import example, of_numba, scalar
from s2s.errors import S2STypeError


@pytest.mark.parametrize(
    "text, dtype, ndim",
    [
        ("float64[:]", "float64", 1), ("float32[:, :]", "float32", 2), ("int8[:,:,:]", "int8", 3),
        (" complex128[:,:] ", "complex128", 2), ("bool[:]", "bool", 1),
        ("float64[:, 1]", "float64", 2),
        ("float[:]", "float64", 1), ("int[::1]", "int64", 1),
    ],
)  # fmt: skip
def test_arrays(text: str, dtype: str, ndim: int) -> None:
    value, placeholder = example("f", text)
    assert isinstance(value, np.ndarray) and placeholder
    assert value.dtype == dtype and value.ndim == ndim and value.flags.c_contiguous


@pytest.mark.parametrize(
    "text, type_",
    [
        ("float64", float), ("float", float), ("int64", int), ("int", int),
        ("float32", np.float32), ("uint8", np.uint8), ("complex64", np.complex64),
        ("bool", np.bool_),
    ],
)  # fmt: skip
def test_scalars(text: str, type_: type) -> None:
    value, placeholder = example("f", text)
    assert type(value) is type_ and value == 1 and placeholder
    assert scalar("float16", np.dtype("float16")) == np.float16(1)


@pytest.mark.parametrize("text", ["", "float64[", "float63", "real", "float64[3]", "[:]"])
def test_texts_that_are_no_types(text: str) -> None:
    with pytest.raises(S2STypeError, match="f.compile: .* is no type"):
        example("f", text)


def test_examples_are_themselves() -> None:
    array = np.ones(5)
    value, placeholder = example("f", array)
    assert value is array and not placeholder
    assert example("f", 3.0) == (3.0, False)


def test_tuples() -> None:
    (first, second), placeholder = example("f", ("float64[:]", 2.0))
    assert first.shape == (3,) and second == 2.0 and placeholder
    assert example("f", (1.0, 2)) == ((1.0, 2), False)


@pytest.mark.parametrize("layout", ["C", "F", "A"])
@pytest.mark.parametrize("readonly", [False, True])
def test_arrays_of_numba(layout: str, readonly: bool) -> None:
    value = of_numba("f", types.Array(types.float32, 2, layout, readonly=readonly))
    flags = value.flags
    assert value.dtype == np.float32 and value.ndim == 2 and flags.writeable is not readonly
    assert (flags.c_contiguous, flags.f_contiguous) == (layout == "C", layout == "F")


def test_other_types_of_numba() -> None:
    assert type(of_numba("f", types.float64)) is float and type(of_numba("f", types.int64)) is int
    assert type(of_numba("f", types.float32)) is np.float32
    assert type(of_numba("f", types.complex64)) is np.complex64
    assert of_numba("f", types.boolean) is True
    got: Any = of_numba("f", types.Tuple((types.float64, types.int32)))
    assert got == (1.0, np.int32(1)) and type(got[1]) is np.int32
    point = namedtuple("point", "x y")
    named = types.NamedTuple((types.float64, types.int64), point)
    assert of_numba("f", named) == point(1.0, 1) and type(of_numba("f", named)) is point
    assert example("f", types.float64[:])[1] is True
    with pytest.raises(S2STypeError, match="f: arguments of type unicode_type are not supported"):
        of_numba("f", types.unicode_type)
