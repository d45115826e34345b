"""Reverse loops count from the stop of the forward loop, whose ends fit in 64 bits."""

from __future__ import annotations

import copy

import pytest

from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.reverse_from_one import count_from_stop
from tests.transforms.lower.loop_ir_text import dedented, ir, run_body, text

LEAST, MOST = -(2**63), 2**63 - 1


def rewritten(source: str, **steps: int) -> list[L.Stmt]:
    body = ir(source)
    count_from_stop(body, steps, Emitter({*"ijab"}).new_name)
    return body


@pytest.mark.parametrize(
    ("before", "step", "after"),
    [
        (
            "for i in range(b - 1, a - 1, -1):\n    x[i] = 1.0", 1,
            "for k in range(b, a, -1):\n    i = k - 1\n    x[i] = 1.0",
        ),
        (
            "for i in range(b + 1, a + 1):\n    x[i] = 1.0", -1,
            "for k in range(b, a):\n    i = k + 1\n    x[i] = 1.0",
        ),
        # The start was clamped so that it does not wrap around.
        (
            "for i in range((b if b >= a else a) - 1, a - 1, -1):\n    s = i", 1,
            "for k in range(b, a, -1):\n    i = k - 1\n    s = i",
        ),
        (
            "for i in range((b if b <= a else a) + 1, a + 1):\n    s = i", -1,
            "for k in range(b, a):\n    i = k + 1\n    s = i",
        ),
    ],
)  # fmt: skip
def test_text(before, step, after):
    assert text(rewritten(before, i=step)) == after


def test_nested_loops_and_others():
    source = """
        for i in range(a):
            for j in range(b - 1, a - 1, -1):
                x[j] = 1.0
        """
    assert "for k in range(b, a, -1):" in text(rewritten(source, j=1))
    assert text(rewritten(source)) == text(rewritten(source, i=1, a=1)) == dedented(source)


def test_a_loop_that_was_reversed_again_stays():
    source = "for i in range(a, b):\n    x[i] = 1.0"
    assert text(rewritten(source, i=1)) == source


@pytest.mark.parametrize(
    ("a", "b", "step"),
    [(0, 3, 1), (3, 3, 1), (5, 2, 1), (MOST - 3, MOST, 1), (3, 0, -1), (LEAST + 3, LEAST, -1),
     (LEAST, LEAST + 2, 1), (LEAST, LEAST, 1), (MOST, MOST - 2, -1)],
)  # fmt: skip
def test_the_indices_are_those_of_the_forward_loop_reversed(a, b, step):
    """Oracle: Python's `range` of the forward loop, reversed; no bound leaves 64 bits."""
    op = "-" if step == 1 else "+"
    before = ir(f"for i in range(b {op} 1, a {op} 1, {-step}):\n    rt.draws.seed(i)")
    after = copy.deepcopy(before)
    count_from_stop(after, {"i": step}, Emitter({*"iab"}).new_name)
    (loop,) = after
    assert isinstance(loop, L.Loop)
    ends = run_body([L.Let("start", loop.start), L.Let("stop", loop.stop)], a=a, b=b)
    assert all(LEAST <= ends[end] <= MOST for end in ("start", "stop"))
    (index, *_) = loop.body
    assert isinstance(index, L.Let) and index.name == "i"
    got = [
        run_body([L.Let(loop.var, L.lit(k)), index])["i"]
        for k in range(ends["start"], ends["stop"], -step)
    ]
    assert got == [*range(a, b, step)][::-1]
