"""Closed forms of counters: the same values, and independent iterations."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from s2s.transforms.lower.target.induction import substitute_inductions
from tests.transforms.lower.loop_ir_text import ir, run_body, text


def substituted(source: str, **types: str) -> str:
    body = ir(source, **types)
    substitute_inductions(body)
    return text(body)


def test_a_counter_of_a_loop():
    assert substituted("""
        for i in range(n):
            s[used] = x[i]
            used = used + 1
    """) == (
        "for i in range(n):\n    s[used + i] = x[i]\n"
        "used = used + (n if n > 0 else 0)"
    )  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        "for i in range(n):\n    if x[i] > 0.0:\n        k = k + 1",
        "for i in range(n):\n    k = k + i",
        "for i in range(n):\n    k = k + 1\n    if x[k] > 0.0:\n        break",
        "for i in range(n):\n    k = k + 1\n    k = k + 2",
        "for i in range(n):\n    k = k + at[i]",
        "for i in range(0, n, 2):\n    k = k + 1",
        "while True:\n    k = k + 1\n    if k > n:\n        break",
        "for i in range(n):\n    s = s + 1.0",
    ],
)
def test_other_counters_stay(source):
    types = {"at": "int64[:]", "s": "float64"}
    assert substituted(source, **types) == text(ir(source, **types))


@pytest.mark.parametrize("n", [-1, 0, 1, 4])
@pytest.mark.parametrize(
    "source",
    [
        "for i in range(n):\n    y[k] = 1.0 + i\n    k = k + 2\n    y[k] = 2.0",
        "for i in range(n - 1, -1, -1):\n    k = k - 1\n    y[k + 20] = 1.0 + i",
        "for i in range(2, n):\n    for j in range(i):\n        y[k] = 1.0 * j\n        k = k + 1",
        "for i in range(n):\n    for j in range(n):\n        y[k] = 1.0 * j\n        k = k + 1",
    ],
)
def test_values(source, n):
    body = ir(source)
    after = copy.deepcopy(body)
    substitute_inductions(after)
    assert text(after) != text(body)
    found = [run_body(b, y=np.zeros(40), n=n, k=3) for b in (body, after)]
    assert np.array_equal(found[0]["y"], found[1]["y"]) and found[0]["k"] == found[1]["k"]
