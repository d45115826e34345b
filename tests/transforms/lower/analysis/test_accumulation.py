"""Stores of the form x[i] = x[i] + e are accumulations of e."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.accumulation import accumulated_increment
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import expr, ir

F = {"a": "float64", "b": "float64"}


@pytest.mark.parametrize(
    ("source", "increment"),
    [
        ("x[i] = x[i] + a", "a"),
        ("x[i] = a + x[i]", "a"),
        ("x[i] = x[i] - a", "-a"),
        ("x[i] = x[i] + a * b", "a * b"),
        ("x[()] = x[()] + a", "a"),
        ("x[i] = x[i] + x[i]", "x[i]"),
    ],
)
def test_accumulations(source, increment):
    (put,) = ir(source, **F)
    assert isinstance(put, L.Store)
    assert accumulated_increment(put, put.expr) == expr(increment, x="float64[:]", **F)


@pytest.mark.parametrize(
    "source",
    [
        "x[i] = a - x[i]",
        "x[i] = x[j] + a",
        "x[i] = y[i] + a",
        "x[i] = x[i] * a",
        "x[i] = x[i] + a + b",  # grouped as (x[i] + a) + b
        "x[i] = a",
    ],
)
def test_other_stores(source):
    (put,) = ir(source, **F)
    assert isinstance(put, L.Store)
    assert accumulated_increment(put, put.expr) is None


@pytest.mark.parametrize(
    ("dtype", "found"), [("float32", True), ("int64", False), ("complex128", False)]
)
def test_dtypes(dtype, found):
    (put,) = ir("x[i] = x[i] + a", x=f"{dtype}[:]", a=dtype)
    assert isinstance(put, L.Store)
    assert (accumulated_increment(put, put.expr) is not None) is found
