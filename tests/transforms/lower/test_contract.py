"""Products against NumPy: every pair of ranks, layouts, zero sizes, accumulation."""

from __future__ import annotations

import re

import numpy as np
import pytest

import s2s
from s2s.transforms.rules.registry import RULES

from .harness import check, lowered, run

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
