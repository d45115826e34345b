"""Buffers are made once before a loop, exactly where no round could tell."""

from __future__ import annotations

import pytest

from s2s.transforms.lower import loop_ir as L
from s2s.transforms.lower.once import make_once
from s2s.transforms.lower.write import write

N = L.Size("x", 0)


def alloc(*sizes, name="t"):
    return L.Alloc(name, "float64", sizes)


def loop(*body, var="i", parallel=False):
    return L.Loop(var, L.ZERO, N, L.ONE, list(body), parallel)


def text(*body):
    block = list(body)
    make_once(block)
    return write([L.Routine("f", ["x", "k"], block)], "")


def moved(*body):
    """Whether the buffer is made before the loop."""
    out = text(*body)
    return out.index("t = np.empty") < out.index("for i")


def test_a_size_that_stays_the_same():
    assert moved(loop(alloc(N), L.Put("t", (L.ZERO,), L.Lit(1.0, "float64"))))


def test_numbers_the_size_needs_come_along():
    clipped = L.Let("m", L.select(L.compare(">=", L.Name("k"), L.ZERO), L.Name("k"), L.ZERO))
    out = text(loop(clipped, L.Let("two", L.mul(L.Name("m"), L.lit(2))), alloc(L.Name("two"))))
    before = out[: out.index("for i")]
    assert before.index("m = ") < before.index("two = ") < before.index("t = np.empty")


def test_out_of_several_loops_and_out_of_while():
    assert moved(loop(loop(alloc(N), var="j")))
    out = text(L.Forever([alloc(N), L.Break()]))
    assert out.index("t = np.empty") < out.index("while")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([alloc(L.Name("i"))], id="a size of the round"),
        pytest.param([L.Let("m", L.Load("x", (L.ZERO,), "int64")), alloc(L.Name("m"))], id="read"),
        pytest.param([alloc(L.sub(N, L.ONE))], id="perhaps negative"),
        pytest.param([alloc(L.Name("k"))], id="perhaps negative, given"),
        pytest.param([alloc(L.lit(8))], id="small enough for registers"),
        pytest.param([alloc(N), L.Bind("u", "t")], id="another name"),
        pytest.param([alloc(N), L.Alias("u", "t", (N,))], id="another shape"),
        pytest.param([alloc(N), L.BindCall(("u",), "rt.f", (L.Whole("t"),))], id="a call"),
        pytest.param([alloc(N), alloc(N)], id="made twice"),
        pytest.param([L.Branch(L.TRUE, [alloc(N)])], id="not in every round"),
        pytest.param(
            [L.Let("m", L.Bin("//", N, L.Name("k"), "int64")), alloc(L.Name("m"))],
            id="a number that may fail",
        ),
    ],
)
def test_left_where_it_is(body):
    assert not moved(loop(*body))


def test_what_is_returned_is_made_anew():
    out = text(loop(alloc(N)), L.Return((L.Whole("t"),)))
    assert out.index("for i") < out.index("t = np.empty")


def test_rounds_that_run_at_once_have_buffers_of_their_own():
    assert not moved(loop(alloc(N), parallel=True))
