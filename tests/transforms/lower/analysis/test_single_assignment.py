"""Integers with a single definition, and expressions with these substituted."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.single_assignment import (
    fixed_integers,
    resolve,
    resolve_name,
    single_definitions,
    value_before_loop,
)
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import expr, ir


def fixed(source: str, params: str = "xnk") -> dict[str, L.Expr]:
    return fixed_integers(ir(source), [*params])


def test_definitions_are_substituted_in_one_another():
    found = fixed("a = x.shape[0]\nb = a - 1\nc = b * b")
    assert found == {
        "a": expr("x.shape[0]"),
        "b": expr("x.shape[0] - 1"),
        "c": expr("(x.shape[0] - 1) * (x.shape[0] - 1)"),
    }


@pytest.mark.parametrize(
    ("source", "has"),
    [
        ("a = n + 1", True),
        ("a = n", True),
        ("a = np.int64(1)", False),  # a literal may well be the start of a count
        ("a = rt.to_int(np.floor(s))", True),
        ("a = np.gcd(n, k)", True),
        ("a = rt.trip_count(0, n, k)", True),
        ("a = rt.stack_limit(n)", False),
        ("a = x[0]", False),
        ("a = n + 1\na = n + 2", False),
        ("a = m + 1\nm = n + 1\nm = k + 1", False),  # of a name with two values
        ("for i in range(n):\n    a = i + 1", True),  # one value wherever `i` is bound
        ("for i in range(n):\n    a = n + 1\nfor i in range(k):\n    b = i + 1", True),
        ("for i in range(n):\n    a = i + 1\nfor i in range(k):\n    b = i + 1", False),
    ],
)
def test_fixed_integers(source, has):
    types = {"x": "int64[:]", "s": "float64"}
    assert ("a" in fixed_integers(ir(source, **types), [*"xnk"])) is has


def test_parameters_have_a_definition_already():
    assert "n" not in fixed("n = k + 1")


def test_floats_are_left_out():
    assert not fixed_integers(ir("a = s + 1.0", s="float64"), ["s"])


def test_single_definitions_of_an_iteration():
    found = single_definitions(ir("a = i + 1\nb = x[i]\nc = c + 1\nd = i\nd = a", x="int64[:]"))
    assert found == {"a": expr("i + 1"), "b": expr("x[i]", x="int64[:]")}


def test_substitution():
    known = {"a": expr("n + 1"), "b": expr("a * 2")}
    assert resolve(expr("a * b"), known) == expr("(n + 1) * (a * 2)")  # not again inside
    assert resolve(L.Name("a"), known) == known["a"]
    assert resolve(e := expr("x[k]"), known) is e
    assert resolve_name(L.Name("a"), known) == known["a"]
    assert resolve_name(e := expr("a + 1"), known) is e
    assert resolve_name(L.Name("z"), known) == L.Name("z")


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("n + 1", "n + 1"),
        ("a", "n + 1"),
        ("a + b", "n + 1 + (n + 1) * 2"),
        ("a if n < k else k", "n + 1 if n < k else k"),
        ("-a", "-(n + 1)"),
        ("x.shape[0]", "x.shape[0]"),
        ("i", None),
        ("c", None),  # depends on the iteration
        ("t", None),  # defined in the loop, with no known definition
        ("y.shape[0]", None),  # the buffer is allocated in the loop
        ("x[0]", None),
        ("n // k", None),
        ("n % k", None),
        ("n ** k", None),
        ("n << k", None),
        ("np.maximum(n, k)", None),
    ],
)
def test_values_before_a_loop(source, want):
    known = {"a": expr("n + 1"), "b": expr("a * 2"), "c": expr("i + 1")}
    got = value_before_loop(expr(source), {"i", "a", "b", "c", "t", "y"}, known)
    assert got == (None if want is None else expr(want))
