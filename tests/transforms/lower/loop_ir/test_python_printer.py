"""The printed form: precedence as Python's, and scalars of NumPy's types."""

from __future__ import annotations

import ast
import itertools

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import (
    HEADER,
    expr,
    print_module,
    print_typed,
    tuple_,
)
from tests.transforms.lower.loop_ir_text import dedented, run_body, text

A, B, C = (L.Name(name) for name in "abc")
ARITHMETIC = ("+", "-", "*", "//", "%", "&", "|", "^")


def op(sign: str, left: L.Expr, right: L.Expr, dtype: str = "int64") -> L.Bin:
    return L.Bin(sign, left, right, dtype)


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(ARITHMETIC, ARITHMETIC)))
def test_parentheses_keep_the_tree(outer, inner):
    """Oracle: Python's own parser, which is given all parentheses."""
    for left in (True, False):
        e = op(outer, op(inner, A, B), C) if left else op(outer, A, op(inner, B, C))
        full = f"(a {inner} b) {outer} c" if left else f"a {outer} (b {inner} c)"
        assert ast.dump(ast.parse(expr(e))) == ast.dump(ast.parse(full))


@pytest.mark.parametrize(
    ("e", "want"),
    [
        (op("**", L.Un("-", A, "int64"), B), "(-a) ** b"),
        (L.Un("-", op("**", A, B), "int64"), "-a ** b"),
        (op("**", op("**", A, B), C), "(a ** b) ** c"),
        (op("**", A, op("**", B, C)), "a ** (b ** c)"),
        (op("<", op("<", A, B, "bool"), C, "bool"), "(a < b) < c"),  # no chain
        (op("<", op("+", A, B), C, "bool"), "a + b < c"),
        (L.Un("not", op("and", A, B, "bool"), "bool"), "not (a and b)"),
        (op("and", L.Un("not", A, "bool"), B, "bool"), "not a and b"),
        (op("or", A, op("and", B, C, "bool"), "bool"), "a or b and c"),
        (op("and", A, op("or", B, C, "bool"), "bool"), "a and (b or c)"),
        (L.Un("-", op("+", A, B), "int64"), "-(a + b)"),
        (op("-", A, L.lit(-1)), "a - -1"),
        (op("*", L.Select(A, B, C, "int64"), B), "(b if a else c) * b"),
        (L.Select(A, B, L.Select(B, A, C, "int64"), "int64"), "b if a else a if b else c"),
        (L.Select(A, L.Select(B, A, C, "int64"), B, "int64"), "(a if b else c) if a else b"),
        (L.Field(L.Load("r", (A,), "record"), "x", "float64"), 'r[a]["x"]'),
        (L.Load("x", (), "float64"), "x[()]"),
        (L.Size("x", 1), "x.shape[1]"),
    ],
)
def test_precedence(e, want):
    assert expr(e) == want


@pytest.mark.parametrize(
    ("value", "dtype", "inside", "alone"),
    [
        (3, "int64", "3", "np.int64(3)"),
        (0.1, "float64", "0.1", "np.float64(0.1)"),
        (3, "float64", "3.0", "np.float64(3.0)"),
        (0.5, "float32", "np.float32(0.5)", "np.float32(0.5)"),
        (7, "uint8", "np.uint8(7)", "np.uint8(7)"),
        (True, "bool", "True", "True"),
        (-0.0, "float64", "-0.0", "np.float64(-0.0)"),
        (float("nan"), "float64", "np.nan", "np.float64(np.nan)"),
        (float("-inf"), "float64", "-np.inf", "np.float64(-np.inf)"),
        (
            1 - 2j,
            "complex128",
            "np.complex128(complex(1.0, -2.0))",
            "np.complex128(complex(1.0, -2.0))",
        ),
        (1 + 0j, "complex64", "np.complex64(1.0)", "np.complex64(1.0)"),
    ],
)
def test_literals(value, dtype, inside, alone):
    """Stored or passed on, a literal has its NumPy type."""
    e = L.Lit(value, dtype)
    assert (expr(e), print_typed(e)) == (inside, alone)
    if dtype != "bool":
        got = run_body([L.Let("v", e)])["v"]
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, np.asarray(value, dtype))
        assert np.signbit(got.real) == np.signbit(np.asarray(value).real)


def test_two_literals_are_not_folded_by_python():
    """1.0 / 0.0 raises for Python's floats."""
    zero, one = L.Lit(0.0, "float64"), L.Lit(1.0, "float64")
    e = L.Bin("/", one, zero, "float64")
    assert expr(e) == "np.float64(1.0) / np.float64(0.0)"
    with np.errstate(all="ignore"):
        assert run_body([L.Let("v", e)])["v"] == np.inf


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint64"])
def test_narrow_integers_wrap_around(dtype):
    most = np.iinfo(dtype).max
    x = L.Name("x", dtype)
    e = op("+", x, L.Lit(1, dtype), dtype)
    assert expr(e) == f"np.{dtype}(x + np.{dtype}(1))"
    assert expr(L.Cast(e, dtype)) == expr(e)
    with np.errstate(all="ignore"):
        assert run_body([L.Let("v", e)], x=np.array(most, dtype)[()])["v"] == np.iinfo(dtype).min


@pytest.mark.parametrize(
    ("loop", "want"),
    [
        (L.Loop("i", L.ZERO, A, L.ONE), "range(a)"),
        (L.Loop("i", B, A, L.ONE), "range(b, a)"),
        (L.Loop("i", B, A, L.lit(2)), "range(b, a, 2)"),
        (L.Loop("i", L.ZERO, A, B), "range(0, a, b)"),
        (L.Loop("i", L.ZERO, A, L.ONE, parallel=True), "rt.prange(a)"),
    ],
)
def test_ranges(loop, want):
    assert text([loop]) == f"for i in {want}:\n    pass"


def test_branches():
    end: list[L.Stmt] = [L.Let("s", A)]
    nested = L.If(A, end, [L.If(B, end, [L.Comment("no"), L.If(C, end)])])
    assert text([nested]) == dedented(
        """
        if a:
            s = a
        elif b:
            s = a
        else:
            # no
            if c:
                s = a
        """
    )
    # An `else` without statements is not printed, a body without them is `pass`.
    assert (
        text([L.If(A, [L.Comment("nothing")], [L.Comment("")])]) == "if a:\n    # nothing\n    pass"
    )


@pytest.mark.parametrize(
    ("stmt", "want"),
    [
        (L.Alloc("t", "bool", (A,)), "t = np.empty((a,), np.bool_)"),
        (L.Alloc("t", "float32", ()), "t = np.empty((), np.float32)"),
        (L.View("v", "x", (A, B)), "v = x.reshape((a, b))"),
        (L.Rebind("t", "x"), "t = x"),
        (L.Store("x", (A,), L.ONE, add=True), "x[a] += 1"),
        (L.Fail("ValueError", 'a "b"\n\\'), 'raise ValueError("a \\"b\\"\\n\\\\")'),
        (L.Fail("ValueError", "", 3, (A, L.lit(1))), "raise rt.Failure(3, a, np.int64(1))"),
        (
            L.Call("rt.gemm", (L.Subview("x"), L.Subview("y", (A,)), L.lit(2))),
            "rt.gemm(x, y[a], np.int64(2))",
        ),
        (L.CallBuffers(("p", "q"), "rt.f", ()), "p, q = rt.f()"),
        (L.CallRoutine(("p",), "g", (L.Subview("x"), A)), "(p,) = g(rt.lent(x), a)"),
        (L.CallRoutine((), "g", ()), "g()"),
        (L.Print('"{}', (A, L.Subview("x"))), 'rt.show("\\"{}", "int64 array", a, x)'),
        (L.Return((L.Subview("x"),)), "return (x,)"),
        (L.Return((A, L.lit(2))), "return (a, np.int64(2))"),
        (L.Return(()), "return ()"),
    ],
)
def test_statements(stmt, want):
    assert text([stmt]) == want


def test_comments_cannot_end_their_line():
    assert text([L.Comment("a\nimport os"), L.Break()]).splitlines()[-1] == "break"
    assert text([L.Comment(""), L.Break()]) == "break"


def test_a_module():
    routines = [
        L.Routine("f", [L.Param("x", "float64", 1), L.Param("n", "int64")], [L.Return(())]),
        L.Routine("g", [], []),
    ]
    module = print_module(routines, "# Generated.\n")
    assert module == (
        f"# Generated.\n{HEADER}\n\ndef f(x, n):\n    return ()\n\n\ndef g():\n    pass\n"
    )
    assert tuple_((A,)) == "(a,)" and tuple_(()) == "()"
