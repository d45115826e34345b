"""Allocations are hoisted out of loops where that is not observable."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.hoist_allocations import hoist_allocations
from tests.transforms.lower.loop_ir_text import loop

F = "float64"
i, n, m = L.Name("i"), L.Name("n"), L.Name("m")
X = L.Size("x", 0)


def alloc(*sizes, name="t"):
    return L.Alloc(name, F, sizes)


def hoisted(*body):
    new = copy.deepcopy(list(body))
    hoist_allocations(new)
    return new


PUT = L.Store("t", (L.ZERO,), L.Lit(0.0, F))


def test_before_the_outermost_loop():
    assert hoisted(loop(alloc(X), PUT)) == [alloc(X), loop(PUT)]
    deep = loop(loop(alloc(X, X), PUT, var="j"), PUT)
    assert hoisted(deep) == [alloc(X, X), loop(loop(PUT, var="j"), PUT)]
    assert hoisted(L.While([alloc(X), L.Break()])) == [alloc(X), L.While([L.Break()])]


def clipped(size):
    return L.select(L.compare(">", size, L.ZERO), size, L.ZERO)


def test_definitions_of_sizes_move_before_the_loop():
    t_1, t_2 = L.Name("t_1"), L.Name("t_2")
    one, two = L.Let("t_1", L.sub(X, L.lit(2))), L.Let("t_2", L.mul(t_1, m))
    unused = L.Let("k", L.add(t_1, i))
    assert hoisted(loop(one, unused, two, alloc(t_2))) == [
        one, two, alloc(clipped(t_2)), loop(unused)
    ]  # fmt: skip


def test_a_definition_moves_before_the_outermost_loop_that_needs_it():
    let, t_1 = L.Let("t_1", L.sub(X, L.lit(2))), L.Name("t_1")
    own = L.Let("t_2", L.add(t_1, i))
    inner = loop(own, alloc(L.Name("t_2")), alloc(t_1, name="u"), var="j")
    found = hoisted(loop(let, inner))
    assert found == [
        let,
        alloc(clipped(t_1), name="u"),
        loop(own, alloc(clipped(L.Name("t_2"))), loop(var="j")),
    ]


def test_sizes_are_never_negative():
    at_least_zero = L.Let("t_1", clipped(L.sub(X, L.lit(2))))
    assert hoisted(loop(at_least_zero, alloc(L.Name("t_1")))) == [
        at_least_zero, alloc(L.Name("t_1")), loop()
    ]  # fmt: skip


def test_broadcast_sizes_are_not_printed_inside_each_other():
    """Nested conditional expressions of sizes would grow exponentially with their number."""

    def sums(a, x, steps):
        y = x[1:]
        for _ in range(steps):
            y = ((((a * y)[::-1] * x[2:])[::-1] * x[:-2])[::-1] * x[1:-1])[::-1] * x[1:-1]
        return np.sum(y)

    f = s2s.grad(sums, wrt=("a", "x"), backend="loops")
    f(0.5, np.linspace(0.1, 1.0, 3), 2)
    assert max(len(line) for line in f.lowered.splitlines() if "np.empty" in line) < 200


def test_as_far_as_sizes_are_known():
    assert hoisted(loop(loop(alloc(L.Size("u", 0)), var="j"), L.CallRoutine(("u",), "g", ()))) == [
        loop(alloc(L.Size("u", 0)), loop(var="j"), L.CallRoutine(("u",), "g", ()))
    ]
    triangle = hoisted(loop(loop(alloc(i), var="j")))
    assert isinstance(triangle[0], L.Loop) and isinstance(triangle[0].body[0], L.Alloc)


def test_the_same_buffer_made_in_two_places():
    assert hoisted(loop(alloc(X), PUT, alloc(X), PUT)) == [alloc(X), loop(PUT, PUT)]


@pytest.mark.parametrize(
    "body",
    [
        [alloc(X), PUT],
        [loop(alloc(i))],
        [loop(alloc(L.Name("t_1")), L.Let("t_1", L.add(L.Name("t_1"), L.ONE)))],
        [loop(L.Let("t_1", L.Bin("//", n, m, "int64")), alloc(L.Name("t_1")))],
        [loop(L.Let("t_1", L.Load("x", (i,), "int64")), alloc(L.Name("t_1")))],
        [loop(alloc(X), L.Rebind("u", "t"))],
        [loop(alloc(X), L.View("u", "t", (X,)))],
        [loop(alloc(X), L.CallRoutine(("u",), "g", (L.Subview("t"),)))],
        [loop(L.If(L.TRUE, [alloc(X)]))],
        [loop(alloc(X), PUT, parallel=True)],
        [loop(loop(alloc(X), var="j", parallel=True))],
        [loop(alloc(X), alloc(n))],
        [loop(alloc(X)), loop(alloc(X))],
        [loop(alloc(L.lit(3)))],
    ],
    ids=[
        "no loop", "a size that grows", "a size that is counted", "a division",
        "a size that is read", "another name", "another shape", "a call that may return it",
        "a branch", "threads", "threads inside", "two sizes", "two loops", "on the stack",
    ],
)  # fmt: skip
def test_left_alone(body):
    assert hoisted(*body) == body


def rows(a, n):
    total, last = 0.0, a[0] * 0.0
    for k in range(n):
        row = np.sin(a[k]) * last
        last = np.exp(-(row**2)) + a[k]
        total += np.dot(row, last[::-1])
    return total + np.sum(last)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_what_one_iteration_hands_to_the_next(n):
    a = np.random.default_rng(0).normal(size=(4, 3))
    s2s.check_grads(rows, a, n, wrt=("a",), backend="loops")
    assert s2s.value_and_grad(rows, wrt=("a",), backend="loops")(a, n)[0] == rows(a, n)
