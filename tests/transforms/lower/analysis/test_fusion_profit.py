"""Fusion is refused where a loop would no longer be vectorised."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.fusion_profit import (
    has_expensive_calls,
    is_fusion_unprofitable,
    loop_nest,
)
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import ir, loops_of

COPY = "y[i] = x[i]"
CALLS = "y[i] = np.exp(x[i])"
CHEAP = "y[i] = np.sqrt(x[i])"
BRANCH = "if x[i] > 0.0:\n    z[i] = x[i]"
NEST = "for j in range(m):\n    z[i, j] = 1.0"
SCATTER = "z[rt.to_int(x[i])] = 1.0"
COMPUTED = "k = i // 2\nz[k] = 1.0"


def loop(body: str) -> L.Loop:
    lines = "\n    ".join(body.splitlines())
    (found,) = ir(f"for i in range(n):\n    {lines}")
    assert isinstance(found, L.Loop)
    return found


def refused(first: str, second: str, fails=(False, False), turned=False) -> bool:
    return is_fusion_unprofitable(loop(first), fails[0], loop(second), fails[1], turned)


@pytest.mark.parametrize("other", [COPY, CALLS, CHEAP])
def test_loops_that_both_vectorise(other):
    assert not refused(COPY, other) and not refused(other, COPY)


@pytest.mark.parametrize("scalar", [BRANCH, NEST, SCATTER, COMPUTED])
def test_calls_stay_out_of_scalar_loops(scalar):
    """A vector of calls takes hardly longer than one call."""
    assert refused(CALLS, scalar) and refused(scalar, CALLS)
    assert not refused(CHEAP, scalar) and not refused(scalar, CHEAP)
    assert not refused(COPY, scalar) and not refused(scalar, COPY)


def test_checks_stop_vectorisation():
    assert refused(COPY, COPY, fails=(True, False))
    assert refused(COPY, COPY, fails=(False, True))
    # A nest beside it costs more than the loop, unless that calls functions.
    assert not refused(COPY, NEST, fails=(False, True))
    assert refused(CHEAP, NEST, fails=(False, True))
    # A scalar loop has nothing to lose.
    assert not refused(BRANCH, SCATTER, fails=(True, True))


def test_a_loop_that_was_turned_beside_scalar_code():
    assert refused(COPY, SCATTER, turned=True)
    assert not refused(COPY, COPY, turned=True)
    assert not refused(COPY, NEST, turned=True)


@pytest.mark.parametrize(
    ("first", "second", "no"),
    [
        ("y[p, i] += 1.0", "y[q, i] += 1.0", True),
        ("y[p, i] += 1.0", "y[p, i] += 2.0", False),  # the same row
        ("y[p, i] += 1.0", "z[q, i] += 1.0", False),
        ("y[p, i] = 1.0", "y[q, i] += 1.0", False),
        ("y[p, i] += 1.0\nz[i] = 1.0", "y[q, i] += 1.0", False),
        ("# a note\ny[p, i] += 1.0", "y[q, i] += 1.0", True),
    ],
)
def test_sums_into_rows_that_may_be_the_same(first, second, no):
    assert refused(first, second) is no


def test_expensive_calls():
    assert has_expensive_calls([loop(CALLS)]) and not has_expensive_calls([loop(CHEAP)])
    assert has_expensive_calls(ir("if p:\n    s = np.sin(x[0])"))
    assert has_expensive_calls(ir("for i in range(rt.trip_count(0, n, k)):\n    s = i"))


def test_the_loops_of_a_nest():
    body = ir(
        """
        for i in range(n):
            s = i
            for j in range(n):
                for k in range(n):
                    t = k
            for m in range(n):
                t = m
        """
    )
    assert loop_nest(loops_of(body)[0]) == loops_of(body)[:3]
