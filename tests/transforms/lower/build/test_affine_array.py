"""Integer arrays whose elements are affine functions of the index."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.lower.build.affine_array import (
    Affine,
    affine_integers,
    as_affine,
    symbolic_element,
)
from s2s.transforms.lower.build.lazy_array import Emitter, Value, buffer_value
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import expr, run_body

I, J = L.Name("i"), L.Name("j")  # noqa: E741


@pytest.mark.parametrize(
    ("source", "start", "steps"),
    [
        ("i", "0", ("1", "0")),
        ("k", "k", ("0", "0")),
        ("7", "7", ("0", "0")),
        ("i * 2 + k", "k", ("2", "0")),
        ("k - j", "k", ("0", "-1")),
        ("-(i + 1)", "-1", ("-1", "0")),
        ("(i + j) * 3 - i", "0", ("2", "3")),
        ("i * k", "0", ("k", "0")),
        ("(i - 2) * (k * 4)", None, None),
        ("x.shape[0] - 1 - i", "x.shape[0] - 1", ("-1", "0")),
    ],
)
def test_start_and_steps(source, start, steps):
    found = as_affine(expr(source), (I, J))
    assert found is not None
    if start is not None:
        assert found == Affine(expr(start), tuple(map(expr, steps)))


@pytest.mark.parametrize("source", ["i", "i * 2 + k", "(i - 2) * (k * 4)", "-(j * k) + i * 3 - 1"])
def test_elements(source):
    """Oracle: the expression itself."""
    e = expr(source)
    found = as_affine(e, (I, J))
    assert found is not None
    for i in range(3):
        for j in range(2):
            again = found.at((L.lit(i), L.lit(j)))
            got = run_body([L.Let("v", again), L.Let("w", e)], i=i, j=j, k=5)
            assert got["v"] == got["w"]


@pytest.mark.parametrize(
    "source", ["i * i", "i * j", "i // 2", "i % 3", "x[i]", "np.abs(i)", "i if k else j", "~i"]
)
def test_others(source):
    assert as_affine(expr(source, x="int64[:]"), (I, J)) is None


def test_floats_are_none():
    assert as_affine(expr("s * 2.0", s="float64"), (I,)) is None


def value(dtype: str, source: str, emits: bool = False) -> Value:
    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        e = L.map_expr(expr(source), lambda p: index[0] if p == I else None)
        return emitter.variable(e, "t") if emits else e

    return Value(dtype, (L.Name("n"),), (Dim.of("n"),), at)


def test_virtual_arrays_of_integers():
    emitter = Emitter(())
    assert affine_integers(emitter, value("int64", "i * 2 + 1")) == Affine(L.ONE, (L.lit(2),))
    assert affine_integers(emitter, value("int64", "i % 2")) is None
    assert affine_integers(emitter, value("float64", "i * 2 + 1")) is None
    assert affine_integers(emitter, value("int64", "i * 2 + 1", emits=True)) is None
    assert affine_integers(emitter, buffer_value("x", "int64", (Dim.of("n"),))) is None
    assert emitter.out == []  # nothing is computed to find out


def test_one_element():
    emitter = Emitter(())
    found = symbolic_element(emitter, value("int64", "i + k"))
    assert found is not None
    e, (name,) = found
    assert e == L.add(name, L.Name("k"))
    assert symbolic_element(emitter, value("int64", "i + k", emits=True)) is None


def test_index_arrays_are_not_stored():
    """np.arange(n) * 2 + 1 as an index needs no buffer; bounds are checked without a loop."""
    import s2s

    def f(x, n):
        return x[np.arange(n) * 2 + 1] * 2.0

    g = s2s.function(f, backend="loops")
    x = np.arange(10.0)
    for n in (0, 1, 5):
        np.testing.assert_array_equal(g(x, n), f(x, n))
    assert g.lowered.count("np.empty") == 1
    with pytest.raises(IndexError):
        g(x, 6)
