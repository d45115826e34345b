"""Conversions between dtypes are NumPy's `astype`, for literals and at run time."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.conversions import cast, kind, wrap_to_dtype
from tests.transforms.lower.loop_ir_text import run_body, text

DTYPES = ("bool", "int8", "int32", "int64", "uint8", "uint64", "float32", "float64", "complex64")
EDGES = {
    "b": [False, True],
    "i": [0, 1, -1, 100],
    "u": [0, 1, 200],
    "f": [0.0, 1.5, 2.75, 100.0],
    "c": [0, 1 + 2j],
}


# A complex number is replaced by its real part before it is converted to a real dtype.
PAIRS = [(of, to) for of in DTYPES for to in DTYPES if kind(of) != "c" or kind(to) == "c"]


@pytest.mark.parametrize(("of", "to"), PAIRS)
def test_values(of, to):
    """Oracle: `np.ndarray.astype`."""
    for value in EDGES[kind(of)]:
        x = np.asarray(value, of)[()]
        want = np.asarray(x).astype(to)[()]
        got = run_body([L.Let("y", cast(L.Name("x", of), to))], x=x)["y"]
        assert got == want
        literal = cast(L.Lit(x.item(), of), to)
        assert isinstance(literal, L.Lit) and literal.dtype == to and literal.value == want


def test_the_same_dtype_is_no_conversion():
    x = L.Name("x", "float32")
    assert cast(x, "float32") is x


@pytest.mark.parametrize(
    ("of", "to", "want"),
    [
        ("float64", "float32", "np.float32(x)"),
        ("float64", "int64", "rt.to_int(x)"),
        ("float32", "int8", "np.int8(rt.to_int(x))"),
        ("float64", "bool", "x != 0.0"),
        ("int64", "bool", "x != 0"),
        ("bool", "float64", "np.float64(x)"),
    ],
)
def test_text(of, to, want):
    assert text([L.Let("y", cast(L.Name("x", of), to))]) == f"y = {want}"


def test_a_boolean_goes_straight_to_its_last_dtype():
    b = L.Name("b", "bool")
    assert cast(cast(b, "int64"), "float64") == L.Cast(b, "float64")
    n = L.Name("n", "int32")
    assert cast(cast(n, "int64"), "float64") == L.Cast(L.Cast(n, "int64"), "float64")


@pytest.mark.parametrize(
    "x", [0.0, 1.5, 2.0**53, 2.0**62, 2.0**63, 2.0**63 + 2.0**12, 2.0**64 - 2.0**11]
)
def test_floats_beyond_int64_become_uint64(x):
    got = run_body([L.Let("y", cast(L.Name("x", "float64"), "uint64"))], x=np.float64(x))["y"]
    assert got.dtype == np.uint64 and int(got) == int(x)


@pytest.mark.parametrize("x", [np.nan, np.inf, -np.inf])
def test_what_is_no_integer_does_not_raise(x):
    """Python's int() raises; NumPy's astype gives some integer."""
    with np.errstate(all="ignore"):
        got = run_body([L.Let("y", cast(L.Name("x", "float64"), "int64"))], x=np.float64(x))["y"]
    assert isinstance(got, (int, np.integer))
    literal = cast(L.Lit(x, "float64"), "int64")
    assert isinstance(literal, L.Lit) and isinstance(literal.value, int)


@pytest.mark.parametrize(
    ("dtype", "fits"),
    [("int8", True), ("uint64", True), ("int64", False), ("float32", False), ("bool", False)],
)
def test_arithmetic_that_numba_widens(dtype, fits):
    e = L.Bin("+", L.Name("x", dtype), L.Name("x", dtype), dtype)
    assert wrap_to_dtype(e, dtype) == (L.Cast(e, dtype) if fits else e)
    one = L.Lit(1, dtype)
    assert wrap_to_dtype(one, dtype) is one
