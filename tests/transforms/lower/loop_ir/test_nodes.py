"""Traversal and rewriting of expressions."""

from __future__ import annotations

from s2s.transforms.lower.loop_ir import nodes as L

AT, X, Y = L.Name("i"), L.Name("x", "float64"), L.Name("y", "float64")
LOAD = L.Load("a", (L.add(AT, L.ONE), AT), "float64")
SUM = L.Bin("+", LOAD, L.Apply("np.sin", (X,), "float64"), "float64")


def test_an_expression_comes_before_its_parts() -> None:
    inside = [LOAD, LOAD.index[0], AT, L.ONE, AT, SUM.right, X]
    assert [*L.walk_expr(SUM)] == [SUM, *inside]
    assert [*L.walk_expr(X)] == [X]


def test_what_nothing_is_replaced_in_stays_itself() -> None:
    new = L.map_expr(SUM, lambda e: Y if e == X else None)
    assert new == L.Bin("+", LOAD, L.Apply("np.sin", (Y,), "float64"), "float64")
    assert isinstance(new, L.Bin) and new.left is LOAD
    assert L.map_expr(SUM, lambda e: None) is SUM
    choice = L.Select(L.TRUE, X, L.Un("-", X, "float64"), "float64")
    assert L.map_expr(choice, lambda e: Y if e == X else None) == L.Select(
        L.TRUE, Y, L.Un("-", Y, "float64"), "float64"
    )
