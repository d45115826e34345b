"""Products against NumPy: every pair of ranks, layouts, zero sizes, accumulation."""

from __future__ import annotations

import re

import numpy as np
import pytest

import s2s
from s2s.transforms.ir.op_registry import RULES
from tests.transforms.lower.harness import check, lowered, run

R = np.random.default_rng(5)


def normal(*shape):
    return R.normal(size=shape)


@pytest.mark.parametrize(
    "left, right",
    [
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((2, 0), (0, 4)), ((0,), (0,)),
        ((0, 3), (3, 4)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_matmul(left, right, dtype):
    x, y = ((normal(*s) * 5).astype(dtype) for s in (left, right))
    tol = 1e-4 if dtype == "float32" else 1e-12
    check(lambda b, x, y: x @ y, np.matmul, x, y, tol=tol)


def test_mixed_dtypes():
    check(lambda b, x, y: x @ y, np.matmul, normal(2, 3).astype("float32"), normal(3, 2), tol=1e-6)
    check(lambda b, x, y: x @ y, np.matmul, np.arange(6).reshape(2, 3), normal(3, 2), tol=1e-12)


def test_transposed_operands_are_not_copied():
    def f(b, x, y):
        return b.emit("transpose", x, axes=(1, 0)) @ b.emit("transpose", y, axes=(1, 0))

    x, y = normal(3, 2), normal(4, 3)
    check(f, lambda x, y: x.T @ y.T, x, y, tol=1e-12)
    text = lowered(f, x, y).text
    assert text.count("np.empty") == 1 and "rt.gemm(True, True" in text


def test_strided_and_computed_operands():
    x = normal(6, 4)[::2, ::-1]
    check(lambda b, x, y: x @ (y + 1.0), lambda x, y: x @ (y + 1.0), x, normal(4, 2), tol=1e-12)


def test_accumulates_into_an_array():
    def f(b, g, x, y):
        g = b.emit("copy", g, hint="g_bar")
        return b.emit("update_add", g, b.emit("transpose", x, axes=(1, 0)) @ y, path=())

    args = normal(3, 4), normal(2, 3), normal(2, 4)
    check(f, lambda g, x, y: g + x.T @ y, *args, tol=1e-12)
    text = lowered(f, *args).text
    assert text.count("np.empty") == 1 and "rt.gemm(True, False, np.float64(1.0)" in text


@pytest.mark.parametrize("shape", [(5, 2, 3), (2, 4, 1, 3), (0, 2, 3)])
def test_matrices_times_one_are_one_product(shape):
    def f(b, x, y):
        return x @ b.emit("transpose", y, axes=(1, 0))

    x, y = normal(*shape), normal(4, 3)
    check(f, lambda x, y: x @ y.T, x, y, tol=1e-12)
    assert re.search(r"^    rt.gemm\(False, True", lowered(f, x, y).text, re.MULTILINE)


def test_mismatch_raises():
    with pytest.raises(ValueError, match="mismatch|match"):
        run(lambda b, x, y: x @ y, normal(2, 3), normal(4, 2), asked=False)


def test_outer():
    check(
        lambda b, x, y: b.emit("outer", np.exp(x), y),
        lambda x, y: np.outer(np.exp(x), y),
        normal(3),
        normal(2),
    )


@pytest.mark.parametrize(
    "subscripts, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,kj->ik", [(2, 3), (4, 3)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]), ("bij,bjk->kbi", [(5, 2, 3), (5, 3, 4)]),
        ("i,i->", [(3,), (3,)]), ("i,j->ij", [(3,), (2,)]),
        ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]), ("ij->j", [(2, 3)]),
        ("ij,ij->i", [(2, 3), (2, 3)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]), ("ij,j,i->", [(2, 3), (3,), (2,)]),
        ("ab,cd->abcd", [(2, 3), (2, 2)]), ("aij,bij->ab", [(2, 3, 4), (5, 3, 4)]),
        ("aij,jib->ab", [(2, 3, 4), (4, 3, 5)]), ("aij,jk->kia", [(2, 3, 4), (4, 5)]),
        ("bimj,bkjm->bik", [(2, 3, 4, 5), (2, 3, 5, 4)]), ("aij,ijb->ab", [(2, 1, 1), (1, 1, 5)]),
        ("aij,ijb->ab", [(2, 0, 3), (0, 3, 5)]), ("ij,kl,jl->ik", [(2, 3), (4, 5), (3, 5)]),
        ("ij,ij,ij->i", [(2, 3)] * 3), ("bi,bij,bj->b", [(2, 3), (2, 3, 3), (2, 3)]),
    ],
)  # fmt: skip
def test_einsum(subscripts, shapes):
    if "einsum" not in RULES:
        pytest.skip("no rule yet")
    xs = [normal(*s) for s in shapes]
    check(
        lambda b, *xs: b.emit("einsum", *xs, subscripts=subscripts),
        lambda *xs: np.einsum(subscripts, *xs),
        *xs,
        tol=1e-12,
    )


def test_axes_that_are_summed_together_are_joined_in_place():
    def f(b, x, y):
        return b.emit("einsum", x, y, subscripts="aij,bij->ab")

    args = normal(2, 3, 4), normal(5, 3, 4)
    text = lowered(f, *args).text
    assert text.count("np.empty") == 1 and "rt.gemm(False, True" in text


def test_a_chain_is_products_of_matrices():
    def f(b, x, y, z):
        return b.emit("einsum", x, y, z, subscripts="ij,jk,kl->il")

    text = lowered(f, normal(2, 3), normal(3, 4), normal(4, 5)).text
    assert text.count("rt.gemm") == 2 and "for " not in text


def test_what_a_loop_has_kept_is_multiplied_where_it_lies():
    def f(x, w):
        for _ in range(3):
            w = np.tanh(w @ w)
            x = x @ w
        return np.sum(x)

    gradient = s2s.grad(f, backend="loops", wrt=("x", "w"))
    gradient(np.ones((2, 3)), np.full((3, 3), 0.2))
    operands = re.findall(r"rt\.gemm\((.*)\)", gradient.lowered)
    assert any(re.search(r"\w+\[\w+\]", text) for text in operands), operands


@pytest.mark.parametrize("terms", [0, 1, 3, 4])
@pytest.mark.parametrize("spelling", ["matmul", "stack", "turned", "vector", "dot", "einsum"])
def test_a_sum_of_few_products_is_written_out(terms, spelling):
    """Constant sizes come from arrays that the program creates."""

    def f(x, y):
        few = np.ones((5, terms)) * x  # (5, terms)
        wide = np.ones((terms, 7)) * y
        if spelling == "matmul":
            return np.sum(np.sin(few @ wide))
        if spelling == "stack":
            return np.sum(np.sin((np.ones((2, 5, terms)) * few) @ wide))
        if spelling == "turned":
            return np.sum(np.sin(few @ (np.ones((7, terms)) * y).T))
        if spelling == "vector":
            return np.sum(np.sin(few @ wide[:, 0]))
        if spelling == "dot":
            return np.sin(np.dot(few[0], wide[:, 1]))
        return np.sum(np.einsum("ik,kj->j", few, wide) ** 2)

    at = 0.3, 0.7
    want = f(*at)
    got, (dx, dy) = s2s.value_and_grad(f, wrt=("x", "y"), backend="loops")(*at)
    h = 1e-6
    slopes = [(f(*np.add(at, d)) - f(*np.subtract(at, d))) / (2 * h) for d in ((h, 0), (0, h))]
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose([dx, dy], slopes, rtol=1e-6, atol=1e-7)


def test_a_short_product_joins_the_loop_that_reads_it():
    def f(x):
        turn = np.zeros((3, 3))
        turn[0, 1], turn[1, 0], turn[2, 2] = x[0, 0], -x[0, 1], 1.0
        for _ in range(2):
            turn = turn @ turn  # operands are read before they are overwritten
        return np.tanh(turn @ x) * x

    g = s2s.function(f, backend="loops")
    x = normal(3, 20)
    np.testing.assert_allclose(g(x), f(x), rtol=1e-12)
    assert "gemm" not in g.lowered
    assert re.search(r"np\.tanh\(turn\w*\[i, 0\] \* x\[0, j\] \+ ", g.lowered)
