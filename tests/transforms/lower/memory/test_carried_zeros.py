"""Zeros that each iteration stores and the next one accumulates to are neither loaded nor
stored."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.carried_zeros import peel_carried_zeros
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import drawn, loop, run_body
from tests.transforms.lower.memory.test_layout import again

F = "float64"
I, K, N, STEPS = L.Name("i"), L.Name("k"), L.Name("n"), L.Name("steps")  # noqa: E741
INNER = L.add(I, L.ONE)
ZERO = L.Lit(0.0, F)


def at(buffer, index=I, dtype=F):
    return L.Load(buffer, (index,), dtype)


def put(buffer, expr, index=I, add=False):
    return L.Store(buffer, (index,), expr, add)


def rounds(*body, start=L.ZERO):
    return L.Loop("k", start, STEPS, L.ONE, list(body))


ADD = put("x", at("t"), INNER, add=True)
READ = put("u", L.Bin("/", at("x", INNER), L.Lit(3.0, F), F))
CLEAR = put("x", ZERO, INNER)
GROW = loop(put("t", L.Bin("+", at("u"), L.Lit(1.0, F), F)))
EDGE = put("x", at("t", L.ZERO), L.ZERO, add=True)
FAR_EDGE = put("x", at("t", L.ZERO), L.add(N, L.ONE), add=True)


def kept(*body, may_alias=lambda a, b: a == b):
    new = copy.deepcopy(list(body))
    peel_carried_zeros(new, may_alias, lambda name: f"{name}_1")
    return new


def run(body, n, steps):
    found = run_body(body, **{x: np.linspace(1.0, 2.0, n + 2) for x in "xtuy"}, n=n, steps=steps)
    return {name: found[name] for name in "xtuy"}


def branches(body):
    return sum(isinstance(s, L.If) for s in L.walk(body))


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_the_same_numbers(n, steps):
    body = [rounds(EDGE, FAR_EDGE, loop(ADD, READ, CLEAR), GROW)]
    new = kept(*body)
    assert branches(new) == 1
    was, now = run(body, n, steps), run(new, n, steps)
    for name, values in was.items():
        np.testing.assert_array_equal(now[name], values)


def test_later_iterations_do_not_touch_the_sum():
    (new,) = kept(rounds(loop(ADD, READ, CLEAR), GROW))
    branch = new.body[0]
    assert branch.cond == L.compare("==", K, L.ZERO)
    assert branch.then == [loop(ADD, READ, CLEAR)]
    assert not any(isinstance(s, L.Store) and s.buffer == "x" for s in L.walk(branch.orelse))


ROWS = L.Load("rows", (K,), "int64")


@pytest.mark.parametrize(
    "body",
    [
        [rounds(loop(ADD, READ, put("x", L.Lit(1.0, F), INNER)))],
        [rounds(loop(ADD, READ, put("x", ZERO, I)))],
        [rounds(loop(CLEAR, ADD, READ))],
        [rounds(loop(ADD, READ, CLEAR, put("x", at("t"), INNER, add=True)))],
        [rounds(loop(ADD, READ, CLEAR), loop(put("x", at("t"), add=True)))],
        [rounds(loop(put("y", at("x"))), loop(ADD, put("x", at("t"), INNER), CLEAR))],
        [
            rounds(
                loop(ADD, READ, CLEAR),
                drawn("x"),
            )
        ],
        [rounds(L.Alloc("x", F, (N,)), loop(ADD, READ, CLEAR))],
        [rounds(loop(ADD, READ, CLEAR), L.Rebind("x", "y"))],
        [rounds(loop(ADD, READ, CLEAR, stop=K))],
        [rounds(L.Let("m", ROWS), loop(ADD, READ, CLEAR, stop=L.Name("m")))],
        [rounds(loop(put("x", at("t"), K, add=True), put("x", ZERO, K)))],
        [rounds(L.Let("s", L.ONE), loop(ADD, READ, CLEAR), start=L.Name("s"))],
        [rounds(L.If(L.compare(">", K, N), [loop(ADD, READ, CLEAR)]))],
        [rounds(loop(ADD, L.If(L.compare(">", I, N), [L.Fail("ValueError", "")]), CLEAR))],
        [loop(ADD, READ, CLEAR)],
        [rounds(loop(put("x", at("t", dtype="int64"), INNER, add=True), CLEAR))],
    ],
    ids=[
        "not zero",
        "another element",
        "zeros first",
        "added after",
        "added elsewhere",
        "set between",
        "seen as a whole",
        "made anew",
        "another array next time",
        "as many as the round says",
        "as many as data says",
        "one element again and again",
        "a start that changes",
        "in some rounds",
        "fails between",
        "no rounds",
        "integers",
    ],
)
def test_others_stay(body):
    assert kept(*body) == body


def test_shared_memory_stays():
    body = [rounds(loop(ADD, READ, CLEAR), loop(put("y", at("t"))))]
    assert kept(*body, may_alias=lambda a, b: a == b or {a, b} == {"x", "y"}) == body


def back_and_forth(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        b[1:-1] = a[:-2] - 2.0 * a[1:-1] + a[2:]
        a[1:-1] = 0.5 * b[:-2] + b[1:-1] - b[2:]
    return np.sum(a**2) + np.sum(b)


def on_a_grid(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        b[1:-1, 2:-1] = a[:-2, 2:-1] + 0.5 * a[1:-1, 3:] + a[2:, 1:-2]
        a[1:-1, 2:-1] = 0.25 * b[1:-1, 2:-1] - b[1:-1, :-3]
    return np.sum(a**2) + np.sum(b)


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("program", [back_and_forth, on_a_grid])
def test_the_same_gradient(program, n, steps, dtype):
    shape = (n,) if program is back_and_forth else (n, n + 2)
    rng = np.random.default_rng(n)
    a, b = rng.random(shape).astype(dtype), rng.random(shape).astype(dtype)
    now = s2s.grad(program, wrt=("a", "b"), backend="loops")
    found = now(a, b, steps)
    names = (
        "forward_scaled_copies", "scatter_to_gather", "split_interior", "peel_carried_zeros",
        "hoist_fills", "fuse_zero_accumulate",
    )  # fmt: skip
    with switched_off(*names):
        was = s2s.grad(again(program), wrt=("a", "b"), backend="loops")
        right = was(a, b, steps)
    last = "if __3 == (steps if steps >= 0 else 0) - 1"
    assert last in now.lowered and "if __3" not in was.lowered
    for x, y in zip(found, right):
        np.testing.assert_allclose(x, y, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-6)
