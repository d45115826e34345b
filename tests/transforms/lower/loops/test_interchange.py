"""Loops are interchanged if every element is written once and no iteration reads what another one
writes."""

from __future__ import annotations

import copy

import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.interchange import interchange_loops
from tests.transforms.lower.loop_ir_text import at

F = "float64"
i, j, k, n, m = (L.Name(name) for name in "ijknm")


def nest(put, over=((i, n), (j, m))):
    for var, stop in reversed(over):
        put = L.Loop(var.name, L.ZERO, stop, L.ONE, [put])
    return put


def changed(stmt, may_alias=lambda a, b: a == b):
    body = [copy.deepcopy(stmt)]
    interchange_loops(body, may_alias)
    return body[0]


ZERO = L.Lit(0.0, F)


def test_in_the_order_of_memory():
    put = L.Store("y", (j, i), ZERO)
    assert changed(nest(put)) == nest(put, over=((j, m), (i, n)))
    put = L.Store("y", (k, L.add(i, L.ONE), j), at("x", j), add=True)
    was = nest(put, over=((i, n), (j, m), (k, n)))
    assert changed(was) == nest(put, over=((k, n), (i, n), (j, m)))
    own = L.Store("y", (j, i), at("y", j, i))
    assert changed(nest(own)) == nest(own, over=((j, m), (i, n)))


def test_inside_other_statements():
    put = L.Store("y", (j, i), ZERO)
    new = changed(L.If(L.TRUE, [L.Let("t", n), nest(put)]))
    assert new.then[1] == nest(put, over=((j, m), (i, n)))


@pytest.mark.parametrize(
    "stmt",
    [
        nest(L.Store("y", (i, j), ZERO)),
        nest(L.Store("y", (j, i), at("x", i, j))),
        nest(L.Store("y", (j, i), at("y", i, j))),
        nest(L.Store("y", (j, i), at("y", j, L.sub(i, L.ONE)))),
        nest(L.Store("y", (j, i), at("z", j, i))),
        nest(L.Store("y", (j, j), ZERO)),
        nest(L.Store("y", (j, L.add(i, j)), ZERO)),
        nest(L.Store("y", (L.Load("p", (j,), "int64"), i), ZERO)),
        nest(L.Store("y", (j, L.ZERO), ZERO, add=True)),
        nest(L.Store("y", (j, i), ZERO), over=((i, n), (j, i))),
        nest(L.Store("y", (j, i), ZERO), over=((i, n), (j, L.Load("y", (k, k), "int64")))),
    ],
    ids=[
        "in order", "no better", "reads what another writes", "reads the one before",
        "reads what may be the same", "a diagonal", "a sum", "where an array says",
        "the same element again", "a triangle", "a bound that it writes",
    ],
)  # fmt: skip
def test_left_alone(stmt):
    assert changed(stmt, lambda a, b: a == b or {a, b} == {"y", "z"}) == stmt
