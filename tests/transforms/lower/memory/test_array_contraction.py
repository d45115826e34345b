"""A buffer of which each iteration uses one row is contracted to a row."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.array_contraction import contract_arrays
from tests.transforms.lower.loop_ir_text import loop

F = "float64"
i, j, n, m = L.Name("i"), L.Name("j"), L.Name("n"), L.Name("m")


def put(*index, buffer="t"):
    return L.Store(buffer, index, L.Lit(1.0, F))


def load(*index):
    return L.Let("s", L.Load("t", index, F))


def narrowed(*body, params=()):
    new = copy.deepcopy(list(body))
    contract_arrays(new, list(params))
    for block in [new, *(s.body for s in L.walk(new) if isinstance(s, L.Loop))]:
        block[:] = [s for s in block if s != L.Comment("")]
    return new


def test_a_row_for_each_iteration():
    body = L.Alloc("t", F, (n, m)), loop(loop(put(i, j), var="j", stop=m), load(i, L.ZERO))
    row = L.Alloc("t", F, (m,))
    assert narrowed(*body) == [loop(row, loop(put(j), var="j", stop=m), load(L.ZERO))]


def test_a_column_for_each_iteration():
    body = L.Alloc("t", F, (m, n)), loop(loop(put(j, i), var="j", stop=m), load(L.ZERO, i))
    column = L.Alloc("t", F, (m,))
    assert narrowed(*body) == [loop(column, loop(put(j), var="j", stop=m), load(L.ZERO))]


def test_several_axes():
    k = L.Name("k")
    inner = loop(loop(put(i, j, k), var="k", stop=m), load(i, j, L.ZERO), var="j", stop=m)
    row = L.Alloc("t", F, (m,))
    want = loop(row, loop(put(k), var="k", stop=m), load(L.ZERO), var="j", stop=m)
    assert narrowed(L.Alloc("t", F, (n, m, m)), loop(inner)) == [loop(want)]


def test_sizes_that_change_meanwhile():
    alloc = L.Alloc("t", F, (n, m))
    rows = loop(put(i, j), var="j", stop=m), load(i, L.ZERO)
    less = L.Let("m", L.sub(m, L.ONE))
    for body in ((alloc, loop(*rows, less)), (alloc, less, loop(*rows))):
        assert narrowed(*body) == [*body]


def test_a_size_that_is_counted_down():
    def f(x, k):
        s = 0.0
        m = k[0]
        while m > 2:
            t = np.empty((x.shape[0], m))
            m = m - 1
            for i in range(x.shape[0]):
                for j in range(m + 1):
                    t[i, j] = x[i] * j
                for j in range(m + 1):
                    s += t[i, j] * t[i, j]
        return s

    x, k = np.linspace(0.1, 1.0, 3), np.array([6])
    assert np.isclose(s2s.function(f, backend="loops")(x, k), f(x, k))


def test_indices_that_are_elements():
    at = L.Load("t", (i, L.ZERO), "int64")
    body = (
        L.Alloc("t", "int64", (n, m)),
        loop(put(i, L.ZERO), L.Let("s", L.Load("t", (i, at), "int64"))),
    )
    (found,) = narrowed(*body)
    assert isinstance(found, L.Loop)
    first = L.Load("t", (L.ZERO,), "int64")
    assert found.body[2] == L.Let("s", L.Load("t", (first,), "int64"))


@pytest.mark.parametrize(
    "body",
    [
        [loop(put(i, L.ZERO)), load(L.ZERO, L.ZERO)],
        [loop(put(i, L.ZERO)), loop(load(i, L.ZERO))],
        [loop(put(i, L.ZERO), load(L.sub(i, L.ONE), L.ZERO))],
        [loop(loop(put(j, L.ZERO), var="j"))],
        [loop(put(i, L.ZERO), L.Call("rt.gemm", (L.Subview("t"), L.Subview("t"), L.Subview("u"))))],
        [loop(put(i, L.ZERO), L.Let("s", L.Size("t", 0)))],
        [loop(put(i, L.ZERO)), L.Return((L.Subview("t"),))],
        [loop(put(i, L.ZERO), L.Rebind("u", "t"))],
        [L.While([put(i, L.ZERO), L.Break()])],
    ],
)
def test_what_other_iterations_or_others_see_stays(body):
    whole = [L.Alloc("t", F, (n, m)), *body]
    assert narrowed(*whole) == whole


def test_parameters_and_vectors_stay():
    body = [L.Alloc("t", F, (n, m)), loop(put(i, L.ZERO))]
    assert narrowed(*body, params=["t"]) == body
    vector = [L.Alloc("t", F, (n,)), loop(put(i), load(i))]
    assert narrowed(*vector) == vector


def test_a_softmax_keeps_one_row():
    @s2s.value_and_grad(backend="loops")
    def f(x):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return np.sum((e / np.sum(e, axis=1, keepdims=True)) ** 2)

    x = np.random.default_rng(0).normal(size=(4, 5))
    value, x_bar = f(x)
    assert "np.empty((x.shape[1],)" in f.lowered
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(value, np.sum(p**2))
    p_bar = 2 * p
    np.testing.assert_allclose(x_bar, p * (p_bar - np.sum(p * p_bar, axis=1, keepdims=True)))
