"""Names that a body binds to one another's buffers may alias; others alias as given."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.alias import with_bindings
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import ir


def same(a: str, b: str) -> bool:
    return a == b


@pytest.mark.parametrize(
    ("source", "pair", "may"),
    [
        ("v = x.reshape((n,))", ("v", "x"), True),
        ("v = x.reshape((n,))", ("v", "y"), False),
        ("v = x.reshape((n,))\nw = x.reshape((1, n))", ("v", "w"), True),
        ("t = np.empty((n,), np.float64)", ("t", "x"), False),
        ("for i in range(n):\n    v = x.reshape((n,))", ("v", "x"), True),
        ("(p, q) = g(x)\ns = x[0]", ("p", "x"), True),
        ("(p, q) = g(x)\ns = x[0]", ("p", "q"), True),
        ("(p, q) = g(k)", ("p", "x"), False),
    ],
)
def test_bindings(source, pair, may):
    share = with_bindings(ir(source), same)
    assert share(*pair) is share(*reversed(pair)) is may


def test_bindings_are_transitive_in_any_order():
    body: list[L.Stmt] = [L.Rebind("b", "a"), L.Rebind("d", "c"), L.Rebind("c", "b")]
    share = with_bindings(body, same)
    assert all(share(p, q) for p in "abcd" for q in "abcd")
    assert not share("d", "e")


def test_groups_alias_if_any_members_may():
    share = with_bindings(
        [L.Rebind("v", "x"), L.Rebind("w", "y")], lambda a, b: {a, b} == {"x", "y"}
    )
    assert share("v", "w") and not share("v", "z")


def test_a_body_without_bindings_keeps_the_query():
    assert with_bindings(ir("x[0] = 1.0"), same) is same
