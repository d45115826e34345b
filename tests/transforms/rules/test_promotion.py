"""Result dtypes are NumPy 2's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from s2s.transforms.ir.builder import const
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import Array, Scalar
from s2s.transforms.rules.promotion import compute_dtype, join_dtypes, result_dtype
from tests.transforms.rules.numeric import Trial, type_of

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "float32", "float64"]
VALUES = [np.ones(2, d) for d in DTYPES] + [np.dtype(d).type(1) for d in DTYPES] + [1, 1.0]


@pytest.mark.parametrize(
    "name", ["add", "multiply", "divide", "maximum", "arctan2", "less", "hypot"]
)
def test_pairs(name):
    for x, y in itertools.product(VALUES, VALUES):
        expected = getattr(np, name)(x, y).dtype
        assert result_dtype(name, [type_of(x), type_of(y)]) == expected, (x, y)


@pytest.mark.parametrize("name", ["exp", "sqrt", "floor", "sign", "isnan", "tanh"])
def test_single(name):
    for x in VALUES:
        try:
            expected = getattr(np, name)(x).dtype
        except TypeError:
            with pytest.raises(TypeError):
                result_dtype(name, [type_of(x)])
            continue
        assert result_dtype(name, [type_of(x)]) == expected, x


def test_where_joins_its_choices():
    c = type_of(np.array([True]))
    for x, y in itertools.product(VALUES, VALUES):
        expected = np.where(np.array([True, False]), x, y).dtype
        assert result_dtype("where", [c, type_of(x), type_of(y)]) == expected, (x, y)


def test_operands_are_converted_before_computing():
    def computed(name, *values):
        return compute_dtype(name, [type_of(v) for v in values])

    assert computed("divide", np.ones(2, np.int32), 2) == "float64"
    assert computed("exp", np.ones(2, np.int64)) == "float64"
    assert computed("exp", np.ones(2, np.int8)) == "float16"
    assert computed("less", np.ones(2, np.float32), 0.5) == "float32"
    assert computed("less", np.ones(2, np.int64), np.ones(2, np.float32)) == "float64"
    assert computed("multiply", np.ones(2, np.float32), np.ones(2, bool)) == "float32"


def test_constants_that_overflow_are_refused():
    small = Array("uint8", ())
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for uint8"):
        result_dtype("add", [small, const(300).type])
    with pytest.raises(UnsupportedError, match="does not fit in 64 bits"):
        result_dtype("add", [const(2**70).type, const(1).type])
    assert result_dtype("less", [small, const(300).type]) == "bool"
    assert compute_dtype("less", [small, const(300).type]) == "int64"
    assert result_dtype("add", [small, const(200).type]) == "uint8"


def test_weakness_survives_only_among_weak_scalars():
    trial = Trial(2.0, np.float64(2.0), 3, np.ones(2, np.float32))
    x, y, n, a = trial.syms
    assert (x * n).type == Scalar("float64", weak=True)
    assert (x * y).type == Scalar("float64")
    assert (a * x).dtype == "float32" and (a * y).dtype == "float64"
    assert (n / 2).type == Scalar("float64", weak=True)
    assert (a * n).dtype == "float32"


def test_join():
    assert join_dtypes([Scalar("float32"), Scalar("float64", weak=True)]) == "float32"
    assert join_dtypes([Scalar("int64", weak=True), Scalar("float64", weak=True)]) == "float64"
    assert join_dtypes([Scalar("bool", weak=True), Scalar("bool", weak=True)]) == "bool"
