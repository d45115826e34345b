"""Operands of an einsum are contracted in the order with the shallowest loop nests."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.ops import contraction_order
from tests.transforms.lower.harness import check


def order(subscripts: str) -> list[str]:
    """The pairwise products, in order."""
    inputs, out = subscripts.split("->")
    letters, made = inputs.split(","), []
    while len(letters) > 1:
        i, j = contraction_order.first_pair(tuple(letters), out)
        kept = contraction_order.product_subscripts(letters, i, j, out)
        made.append(f"{letters[i]},{letters[j]}->{kept}")
        letters = [kept, *(s for p, s in enumerate(letters) if p not in (i, j))]
    return made


@pytest.mark.parametrize(
    ("subscripts", "products"),
    [
        # Contracting the first two would take three nested loops as well, but the next product
        # four.
        ("i,kl,lj->ijk", ["kl,lj->jk", "jk,i->ijk"]),
        ("ij,jk,k->i", ["jk,k->j", "j,ij->i"]),
        ("i,ij,jk->k", ["i,ij->j", "j,jk->k"]),
        ("ij,jk,kl->il", ["ij,jk->ik", "ik,kl->il"]),
        ("i,j,ij->", ["i,ij->j", "j,j->"]),
        ("ab,ab,bc->ac", ["ab,ab->ab", "ab,bc->ac"]),
    ],
)
def test_order(subscripts, products):
    assert order(subscripts) == products


def test_letters_are_summed_where_nobody_else_has_them():
    assert contraction_order.product_subscripts(["ab", "bc", "cd"], 0, 1, "ad") == "ac"
    assert contraction_order.product_subscripts(["ab", "bc", "cd"], 1, 2, "abd") == "bd"


def test_axes_are_in_the_order_of_an_operand_that_has_them():
    assert contraction_order.product_subscripts(["ijk", "kl", "lj"], 1, 2, "i") == "jk"
    assert contraction_order.product_subscripts(["i", "kl", "lj"], 1, 2, "ikj") == "kj"


def test_many_operands_take_no_long_search():
    text = ",".join(a + b for a, b in zip("abcdefghijkl", "bcdefghijklm"))
    assert len(order(f"{text}->am")) == 11


@pytest.mark.parametrize(
    "subscripts", ["i,kl,lj->ijk", "ijk,kl,lj->i", "ij,jk,kl,lm->im", "i,j,k->ijk", "ij,j,jk,k->"]
)
@pytest.mark.parametrize("sizes", [(3, 4, 2, 5, 3), (1, 1, 1, 1, 1), (2, 0, 3, 2, 2)])
def test_results(subscripts, sizes):
    rng = np.random.default_rng(0)
    size = dict(zip("ijklm", sizes))
    inputs = subscripts.split("->")[0].split(",")
    xs = [rng.normal(size=[size[c] for c in s]) for s in inputs]
    check(
        lambda b, *xs: b.emit("einsum", *xs, subscripts=subscripts),
        lambda *xs: np.einsum(subscripts, *xs),
        *xs,
        tol=1e-12,
    )


def test_an_adjoint_takes_no_more_loops_than_its_function():
    def f(a, b, c):
        return np.sum(np.einsum("ijk,kl,lj->i", a, b, c) ** 2)

    gradient = s2s.grad(f, backend="loops", wrt=("a", "b", "c"))
    gradient(np.ones((2, 3, 4)), np.ones((4, 5)), np.ones((5, 3)))
    # No intermediate array has both subscripts i and l.
    assert "a.shape[0], a.shape[2], b.shape[1]" not in gradient.lowered
