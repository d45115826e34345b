"""The order of kinds, and the least kind of results."""

from __future__ import annotations

import pytest

from s2s.transforms import pipeline  # noqa: F401  (registers the rules)
from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.nodes import Array, ListOf, Scalar, Var
from s2s.transforms.ir.path_kinds import at_most, dtype_kind, least
from s2s.transforms.ir.symbolic_dims import Dim, Facts

K = Var("k", Scalar("float64"))
A = Var("a", Array("float64", (Dim.of(3),)))


def builder() -> Builder:
    """One in which a number and an array are integers on some path."""
    b = Builder(NameSupply({"k", "a"}), Facts({}))
    b.set_least_kind(K, "i")
    b.set_least_kind(A, "i")
    return b


def test_kinds_and_their_order():
    types = (Scalar("bool"), Scalar("uint8"), Array("float32", ()), Scalar("complex128"))
    assert [dtype_kind(t) for t in types] == ["b", "i", "f", "c"]
    assert dtype_kind(Scalar("bool", weak=True)) == "i"  # Python counts a bool as an int
    assert least(["f", "", "i"]) == "i" and least([]) == ""
    assert at_most("i", "f") and not at_most("f", "i")


@pytest.mark.parametrize(
    ("kind", "name", "args", "attrs"),
    [
        ("i", "multiply", (A, 2), {}),
        ("f", "multiply", (A, 2.0), {}),
        ("f", "divide", (A, 2), {}),
        ("f", "sqrt", (A,), {}),
        ("f", "add", (A, Var("b", A.type)), {}),
        ("i", "full", (K, 3), {"dtype": "float64"}),
        ("i", "zeros_like", (A,), {"dtype": "float64"}),
        ("i", "pack", (K, 1), {"shape": (2,), "dtype": "float64"}),
        ("f", "pack", (K, 1.0), {"shape": (2,), "dtype": "float64"}),
        ("i", "sum", (A,), {"axis": None, "keepdims": False}),
    ],
)
def test_the_least_kind_of_results(kind, name, args, attrs):
    b = builder()
    assert b.least_kind(b.emit(name, *args, **attrs).operand) == kind


def test_lists_and_names_that_are_given_up():
    b = builder()
    empty = b.emit("list_new", type=ListOf(Scalar("float64")))
    assert b.least_kind(empty.operand) == ""
    some = b.emit("list_append", empty, K)
    assert b.least_kind(b.emit("list_stack", some).operand) == "i"
    more = b.emit("list_append", some, 1.5)
    assert b.least_kind(b.emit("list_stack", more).operand) == "f"
    b.names.taken.remove("k")
    assert b.fresh_name("k") == "k" and "k" not in b.least_kinds
