"""Uses, definitions and live names, on loop IR as text."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.liveness import (
    defs,
    induction_vars_read_outside,
    live_after_loops,
    names_in,
    upward_exposed,
    uses,
)
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import expr, ir, loops_of


@pytest.mark.parametrize(
    ("source", "read", "defined"),
    [
        ("s = x[i] + k", {"x", "i", "k"}, ("s",)),
        ("x[i] = k", {"x", "i", "k"}, ()),
        ("t = np.empty((n,), np.float64)", {"n"}, ("t",)),
        ("v = x.reshape((n,))", {"x", "n"}, ("v",)),
        ("for i in range(n):\n    s = k", {"n"}, ("i",)),
        ("if k < x.shape[0]:\n    s = n", {"k", "x"}, ()),
        ("while True:\n    s = k", set(), ()),
        ("(p, q) = g(k)", {"k"}, ("p", "q")),
        ("return (k,)", {"k"}, ()),
        ("raise rt.Failure(1, k)", {"k"}, ()),
    ],
)
def test_own_names_of_a_statement(source, read, defined):
    """Names in nested blocks are not the statement's own."""
    (stmt,) = ir(source)
    assert uses(stmt) == read
    assert defs(stmt) == defined


def test_buffers_passed_as_a_whole_are_read():
    assert uses(L.Rebind("t", "x")) == {"x"} and defs(L.Rebind("t", "x")) == ("t",)
    call = L.Call("rt.gemm", (L.Subview("x", (L.Name("i"),)), L.Subview("y")))
    assert uses(call) == {"x", "i", "y"}
    assert names_in([expr("np.exp(x[i + k])"), L.Subview("y")]) == {"x", "i", "k", "y"}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("s = k\nt = s", {"k"}),
        ("t = s\ns = k", {"s", "k"}),
        # A loop may run zero times, so its definitions do not kill.
        ("for i in range(n):\n    s = k\nt = s", {"n", "k", "s"}),
        # What the previous iteration set is read in the next one.
        ("for i in range(n):\n    t = s\n    s = k", {"n", "s", "k"}),
        ("for i in range(n):\n    s = i\n    t = s", {"n"}),
        # A `while` body is entered at least once.
        ("while True:\n    s = k\n    break\nt = s", {"k"}),
        ("while True:\n    if k < n:\n        break\n    s = k\nt = s", {"k", "n", "s"}),
        # Both branches must define the name.
        ("if p:\n    s = k\nelse:\n    s = n\nt = s", {"p", "k", "n"}),
        ("if p:\n    s = k\nt = s", {"p", "k", "s"}),
        # Nothing after an error or a return is executed.
        ("if p:\n    raise ValueError('no')\nelse:\n    s = k\nt = s", {"p", "k"}),
        ("return (k,)\nt = s", {"k"}),
    ],
)
def test_upward_exposed(source, names):
    assert upward_exposed(ir(source)) == names


def test_what_lives_after_each_loop():
    body = ir(
        """
        for i in range(n):
            for j in range(m):
                s = s + x[i]
            t = s
        return (t,)
        """
    )
    outer, inner = loops_of(body)
    after = live_after_loops(body)
    assert after[id(outer)] == {"t"}
    # The inner loop's body runs again: `s` is read by the next outer iteration, too.
    assert {"s", "x", "m"} <= after[id(inner)]
    assert "j" not in after[id(inner)]


def test_a_break_goes_to_what_follows_the_loop():
    body = ir(
        """
        for i in range(n):
            for j in range(m):
                s = j
            if s < k:
                break
            t = s
        return (s,)
        """
    )
    outer, inner = loops_of(body)
    after = live_after_loops(body)
    assert after[id(outer)] == {"s"}
    assert {"s", "k"} <= after[id(inner)] and "t" not in after[id(inner)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("for i in range(n):\n    s = i", False),
        ("for i in range(n):\n    s = k\nt = i", True),
        ("t = i\nfor i in range(n):\n    s = k", True),
        ("for i in range(n):\n    s = k\nfor j in range(i):\n    s = k", True),
        ("for j in range(n):\n    for i in range(j):\n        x[i] = 1.0", False),
        ("for j in range(n):\n    for i in range(j):\n        x[i] = 1.0\n    x[i] = 0.0", True),
        ("if p:\n    for i in range(n):\n        x[i] = 1.0\nelse:\n    s = i", True),
    ],
)
def test_induction_variables_read_outside(source, found):
    assert induction_vars_read_outside(ir(source), {"i"}) is found
