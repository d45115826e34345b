"""A loop variable that is read after its loop becomes a scalar that iterations assign."""

from __future__ import annotations

from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.privatize_index import privatize_index
from tests.transforms.lower.loop_ir_text import loop

I, N = L.Name("i"), L.Name("n")  # noqa: E741
PUT = L.Store("x", (I,), L.Lit(1.0, "float64"))


def kept(*body):
    new = list(body)
    privatize_index(new, Emitter({"x", "i", "n"}).new_name)
    return new


def test_read_after():
    own = L.Name("i_1")
    put = L.Store("x", (own,), PUT.expr)
    assert kept(loop(L.Store("x", (I,), PUT.expr)), L.Return((I,))) == [
        L.Loop("i_1", L.ZERO, N, L.ONE, [L.Let("i", own), put]),
        L.Return((I,)),
    ]


def test_as_many_as_last_time():
    (around,) = kept(L.Loop("k", L.ZERO, N, L.ONE, [loop(L.Store("x", (N,), PUT.expr), stop=I)]))
    assert isinstance(around, L.Loop) and isinstance(around.body[0], L.Loop)
    assert around.body[0].body[0] == L.Let("i", L.Name("i_1")) and around.body[0].stop == I


def test_set_anew_in_a_iteration():
    (first, _) = kept(loop(L.Let("i", L.ZERO), L.Store("x", (I,), PUT.expr)), L.Return((I,)))
    assert isinstance(first, L.Loop)
    assert first.body == [L.Let("i", L.Name("i_1")), L.Let("i", L.ZERO), PUT]


def test_not_read():
    assert kept(loop(PUT), loop(PUT)) == [loop(PUT), loop(PUT)]
    assert kept(loop(PUT), L.Let("i", N), L.Return((I,)))[0] == loop(PUT)
