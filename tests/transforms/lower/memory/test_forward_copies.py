"""Copies of rows are replaced by their source."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.memory.forward_copies import forward_copies
from tests.transforms.lower.loop_ir_text import at, loop, routine

F = "float64"
I, J, N = L.Name("i"), L.Name("j"), L.Name("n")  # noqa: E741
PARAMS = ["a", "q", "r", "j", "n"]


def minus(e):
    return L.Un("-", e, F)


ALLOC = L.Alloc("t", F, (N,))
ROW = at("a", J, I)
COPY = L.Store("t", (I,), minus(ROW))
SUM = L.Let("acc", L.Bin("+", L.Name("acc", F), at("t", I), F))
FIRST = loop(COPY, SUM)
OWN = L.Store("a", (J, I), L.Name("acc", F), add=True)
USE = L.Store("q", (I,), at("t", I), add=True)
LAST = loop(OWN, USE)


def done(*body, may_alias=lambda a, b: a == b):
    new = copy.deepcopy(list(body))
    forward_copies(new, may_alias, Emitter({"t", "acc", "i", *PARAMS}).new_name)
    lines = print_module([routine([*new, L.Return(())], *PARAMS)], "")
    return lines.split(":\n", 1)[1].replace("    return ()\n", "").rstrip()


def test_a_copy_is_a_number_of_each_iteration():
    assert (
        done(ALLOC, FIRST, LAST)
        == """\
    for i in range(n):
        t_1 = -a[j, i]
        acc = acc + t_1
    for i in range(n):
        t_2 = -a[j, i]
        a[j, i] += acc
        q[i] += t_2"""
    )


def test_a_copy_of_a_copy():
    """The second copy is replaced by the first, which is then removed, too."""
    other = [
        L.Alloc("b", F, (N,)),
        loop(L.Store("b", (I,), ROW)),
        loop(L.Store("t", (I,), at("b", I))),
    ]
    text = done(ALLOC, *other, loop(USE))
    assert "b[i]" not in text and "t[i]" not in text
    assert text.endswith("""\
    for i in range(n):
        b_2 = a[j, i]
        t_2 = b_2
        q[i] += t_2""")


def test_by_way_of_another_number():
    named = loop(L.Let("v", ROW), L.Store("t", (I,), minus(L.Name("v", F))), SUM)
    assert "t_2 = -a[j, i]" in done(ALLOC, named, LAST)


def test_a_copy_that_changes_last():
    more = L.Store("t", (I,), at("r", I), add=True)
    assert (
        done(ALLOC, FIRST, loop(more, OWN, USE))
        == """\
    for i in range(n):
        t_1 = -a[j, i]
        acc = acc + t_1
    for i in range(n):
        t_2 = -a[j, i]
        t_2 = t_2 + r[i]
        a[j, i] += acc
        q[i] += t_2"""
    )
    assert "np.empty" in done(ALLOC, FIRST, loop(more), loop(USE))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([FIRST, loop(L.Store("a", (J, L.add(I, L.ONE)), L.Name("acc", F))), LAST],
                     id="written between"),
        pytest.param([FIRST, LAST, loop(USE)], id="read after it was written"),
        pytest.param([loop(COPY, SUM, OWN), loop(USE)], id="written by the loop that copies"),
        pytest.param([FIRST, loop(L.Store("a", (J, L.add(I, L.ONE)), L.ZERO), USE)],
                     id="another element is written"),
        pytest.param([FIRST, loop(L.Store("a", (I, J), L.ZERO), USE)], id="another row"),
        pytest.param([FIRST, loop(loop(L.Store("a", (J, I), L.ZERO), var="k"), USE)],
                     id="written in a loop inside"),
        pytest.param([FIRST, L.Let("j", L.add(J, L.ONE)), LAST], id="another row by then"),
        pytest.param([FIRST, L.Let("n", L.add(N, L.ONE)), LAST], id="other rounds by then"),
        pytest.param([FIRST, loop(OWN, USE, stop=L.ONE)], id="a part of it"),
        pytest.param([FIRST, loop(OWN, L.Store("q", (I,), at("t", L.add(I, L.ONE))))],
                     id="another element is read"),
        pytest.param([loop(L.Store("t", (I,), at("a", I, J)), SUM), LAST], id="a column"),
        pytest.param(
            [loop(L.Store("t", (I,), L.Apply("np.exp", (ROW,), F)), SUM), LAST], id="more"
        ),
        pytest.param([loop(COPY, SUM, COPY), loop(OWN, USE)], id="copied twice"),
        pytest.param(
            [FIRST, L.Call("rt.gemm", (L.Subview("a"),)), LAST], id="written by a routine"
        ),
        pytest.param([loop(L.If(L.compare(">", I, J), [COPY]), SUM), LAST], id="some of it"),
        pytest.param([loop(COPY, L.If(L.compare(">", I, J), [L.Break()])), LAST],
                     id="ends early"),
        pytest.param([FIRST], id="read in its own loop alone"),
        pytest.param([FIRST, LAST, L.Return((L.Subview("t"),))], id="a result"),
    ],
)  # fmt: skip
def test_left_alone(body):
    assert "np.empty" in done(ALLOC, *body)


def test_memory_that_may_be_the_same_is_not_written():
    same = loop(L.Store("r", (I,), L.Name("acc", F)), USE)
    assert "np.empty" not in done(ALLOC, FIRST, same)
    assert "np.empty" in done(
        ALLOC, FIRST, same, may_alias=lambda a, b: a == b or {a, b} == {"a", "r"}
    )


def orthogonal(A):
    A = A.copy()
    total = 0.0
    for k in range(A.shape[1]):
        length = np.sqrt(np.dot(A[:, k], A[:, k]) + 0.1)
        for j in range(k + 1, A.shape[1]):
            r = np.dot(A[:, k], A[:, j]) / length
            A[:, j] -= A[:, k] * r
            total += r * r
    return total + np.sum(A**2)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_gradients(n):
    x = np.random.default_rng(n).normal(size=(n + 1, n))
    s2s.check_grads(orthogonal, x)
