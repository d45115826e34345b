"""Types of the code generator: NumPy's sizes, and equality by content."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.codegen import value_types as types
from s2s.codegen.value_types import NUMBERS, Array, Opaque, of_dtype, of_spec
from s2s.transforms.frontend.pytree import describe


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_as_large_as_those_of_numpy(name) -> None:
    kind, dtype = NUMBERS[name], np.dtype(name)
    assert kind.bytes == dtype.itemsize and str(kind) == dtype.name
    assert of_dtype(dtype) is of_dtype(name) is kind
    assert isinstance(kind, types.Integer) == (dtype.kind in "iu")
    assert isinstance(kind, types.Float) == (dtype.kind == "f")
    if isinstance(kind, types.Integer):
        assert kind.signed == (dtype.kind == "i")
    if isinstance(kind, types.Complex):
        assert 2 * kind.part.bytes == kind.bytes


def test_other_dtypes_are_opaque() -> None:
    for dtype in ("float16", "datetime64[s]", object, "S3", "U2", [("a", float)], np.longdouble):
        assert isinstance(of_dtype(dtype), Opaque)


def test_types_are_compared_by_content() -> None:
    a = Array(types.float64, 2, "C")
    assert a == Array(types.float64, 2, "C") and hash(a) == hash(Array(types.float64, 2, "C"))
    others = [
        a.read_only(),
        a.with_rank(1),
        Array(types.float32, 2, "C"),
        Array(types.float64, 2, "A"),
    ]
    assert len({a, *others}) == 5 and a.read_only().readonly and not a.readonly
    assert Opaque("x", 1) == Opaque("x", 2) != Opaque("y", 1)
    assert types.boolean != types.NUMBERS["uint8"] and types.Literal(2) != types.Literal(3)


def test_types_of_arguments() -> None:
    x = np.zeros((2, 3), np.float32)
    assert of_spec(describe(x)) == Array(types.float32, 2, "C")
    assert of_spec(describe(x.T)).layout == "A" and of_spec(describe(x[:, ::2])).layout == "A"
    x.flags.writeable = False
    assert of_spec(describe(x)).readonly
    assert of_spec(describe(1.5)) == types.float64 and of_spec(describe(True)) == types.boolean
