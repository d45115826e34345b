"""x[i] = x[i] + e becomes x[i] += e."""

from __future__ import annotations

import copy

import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.memory.canonicalize_accumulate import canonicalize_accumulate
from tests.transforms.lower.loop_ir_text import routine

F = "float64"
I, E, T = L.Name("i"), L.Name("e", F), L.Name("t", F)  # noqa: E741
OLD = L.Load("x", (I,), F)


def spelt(*stmts, dtype=F):
    body: list[L.Stmt] = [L.Loop("i", L.ZERO, L.Size("x", 0), L.ONE, copy.deepcopy(list(stmts)))]
    canonicalize_accumulate(body, {"x": dtype})
    text = print_module([routine([*body, L.Return(())], "x", "e")], "")
    return [line.strip() for line in text.splitlines() if line.startswith(8 * " ")]


def put(expr, buffer="x", index: L.Expr = I):
    return L.Store(buffer, (index,), expr)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (L.Bin("+", OLD, E, F), "x[i] += e"),
        (L.Bin("+", E, OLD, F), "x[i] += e"),
        (L.Bin("-", OLD, E, F), "x[i] += -e"),
        (L.Bin("-", E, OLD, F), "x[i] = e - x[i]"),
        (L.Bin("*", OLD, E, F), "x[i] = x[i] * e"),
    ],
)
def test_one_statement_or_two(expr, text):
    assert spelt(put(expr)) == [text]
    named = spelt(L.Let("t", expr), put(T))
    assert named == ([text] if "+=" in text else [f"t = {text[7:]}", "x[i] = t"])


def test_left_alone():
    let = L.Let("t", L.Bin("+", OLD, E, F))
    left = ["t = x[i] + e", "x[i] = t"]
    assert spelt(let, put(T), put(T, "y")) == [*left, "y[i] = t"]
    assert spelt(let, put(T, index=L.ZERO)) == ["t = x[i] + e", "x[0] = t"]
    assert spelt(let, L.Let("e", T), put(T))[0] == left[0]
    assert spelt(let, put(T), dtype="float32") == left
