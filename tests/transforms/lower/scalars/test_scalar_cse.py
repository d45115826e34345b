"""Common scalar expressions are shared, and dead ones removed."""

from __future__ import annotations

import textwrap

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.scalars.scalar_cse import scalar_cse
from tests.transforms.lower.loop_ir_text import routine


def after(body: list[L.Stmt], params: list[str], kept: tuple[L.Expr, ...] = ()) -> str:
    scalar_cse(body, params, kept)
    text = print_module([routine(body, *params)], "")
    return textwrap.dedent(text.split("):\n", 1)[1]).strip()


def power(base: str, exponent: str) -> L.Expr:
    return L.Bin("**", L.Name(base, "float64"), L.Name(exponent, "float64"), "float64")


def let(name: str, e: L.Expr) -> L.Let:
    return L.Let(name, e)


def returned(*names: str) -> L.Return:
    return L.Return(tuple(L.Name(n, "float64") for n in names))


def test_the_second_of_two_is_the_first() -> None:
    body = [
        let("p", power("b", "t")), let("q", power("b", "t")),
        let("r", power("p", "t")), let("s", power("q", "t")), returned("r", "s"),
    ]  # fmt: skip
    assert after(body, ["b", "t"]) == "p = b ** t\nr = p ** t\nreturn (r, r)"


def test_what_is_bound_again_in_between_is_another() -> None:
    twice = [let("p", power("b", "t")), let("t", power("b", "b")), let("q", power("b", "t"))]
    text = after([*twice, returned("p", "q")], ["b", "t"])
    assert text == "p = b ** t\nt = b ** b\nq = b ** t\nreturn (p, q)"


def test_elements_may_change() -> None:
    element = L.Load("x", (L.ZERO,), "float64")
    body = [let("p", element), L.Store("x", (L.ZERO,), L.lit(1.0, "float64")), let("q", element)]
    assert "q = x[0]" in after([*body, returned("p", "q")], ["x"])


def test_sizes_that_nobody_reads_are_not_asked_for() -> None:
    n, m = L.Size("x", 0), L.Size("x", 1)
    body = [let("n", n), let("m", m), let("k", L.add(L.Name("n"), L.ONE)), returned("s")]
    assert after(body, ["x", "s"], (L.Name("m"),)) == "m = x.shape[1]\nreturn (s,)"
