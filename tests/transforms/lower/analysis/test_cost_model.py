"""The work of loops, in additions, and trip counts."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.cost_model import (
    DEFAULT_TRIP_COUNT,
    loop_cost,
    trip_count,
)
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.operations import CALL_COST
from tests.transforms.lower.loop_ir_text import ir, loops_of, run_body


def value(e: L.Expr, **names: int) -> int:
    return run_body([L.Let("value_", e)], **names)["value_"]


def cost(body: str, dtype: str = "float64") -> int:
    """The work of one iteration of a loop with this body."""
    lines = "\n    ".join(body.splitlines())
    (loop,) = ir(f"for i in range(n):\n    {lines}", x=f"{dtype}[:]", y=f"{dtype}[:]", s=dtype)
    assert isinstance(loop, L.Loop)
    return value(loop_cost(loop, L.ONE), n=10, m=3)


@pytest.mark.parametrize(
    "bounds", [(0, 7, 1), (3, 9, 1), (9, 3, -1), (0, 10, 3), (10, 0, -4), (4, 4, 1)]
)
def test_trips(bounds):
    start, stop, step = map(str, bounds)
    (loop,) = ir(f"for i in range({start}, {stop}, {step}):\n    s = i")
    assert isinstance(loop, L.Loop)
    assert value(trip_count(loop)) == len(range(*bounds))


def test_no_iterations():
    (loop,) = ir("for i in range(5, n):\n    s = i")
    assert isinstance(loop, L.Loop)
    assert value(trip_count(loop), n=2) <= 0


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("y[i] = 0.0", 1),
        ("y[i] = x[i]", 2),
        ("y[i] = x[i] + s", 3),
        ("y[i] = x[i] / s", 6),
        ("y[i] = np.sqrt(x[i])", 6),
        ("y[i] = np.exp(x[i])", 2 + CALL_COST),
        ("y[i] = -x[i]", 3),
        ("# a note", 0),
        ("if s > 0.0:\n    y[i] = 0.0\nelse:\n    y[i] = s", 3),  # both branches
    ],
)
def test_statements(body, want):
    assert cost(body) == want


def test_half_the_width_costs_half():
    assert cost("y[i] = np.exp(x[i])", "float32") * 2 == pytest.approx(
        cost("y[i] = np.exp(x[i])"), abs=1
    )


def test_inner_loops():
    assert cost("for j in range(m):\n    y[j] = 0.0") == 3
    assert cost("for j in range(m):\n    for k in range(n):\n        y[j] = 0.0") == 30
    # A trip count that is loaded, or set in the loop by more than one statement, is assumed.
    assert (
        cost("for j in range(rt.to_int(x[i])):\n    y[j] = 0.0")
        == 1 + CALL_COST + DEFAULT_TRIP_COUNT
    )
    twice = "k = i\nk = k + 1\nfor j in range(k):\n    y[j] = 0.0"
    assert cost(twice) == 1 + DEFAULT_TRIP_COUNT


def test_bounds_that_vary_count_as_in_the_middle():
    body = ir(
        """
        for i in range(n):
            last = i + 1
            for j in range(i, last):
                y[j] = 0.0
            for j in range(i):
                y[j] = 0.0
        """
    )
    triangle = loop_cost(loops_of(body)[0], L.Name("n"))
    assert value(triangle, n=100) == 100 * (1 + 1 + 50)


def test_a_search_is_left_in_its_first_iteration():
    (loop,) = ir("for i in range(n):\n    for j in range(m):\n        y[j] = 0.0")
    assert isinstance(loop, L.Loop)
    loops_of([loop])[1].exits_early = True
    assert value(loop_cost(loop, L.Name("n")), n=10, m=1000) == 10
