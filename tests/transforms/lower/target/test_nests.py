"""Which loops of a nest become a grid."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.dependence import explain_dependence
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.target.nests import Nest, as_nest
from tests.cuda.compiling import same_name
from tests.transforms.lower.loop_ir_text import ir


def nest(source: str, live: str = "", **types: str) -> Nest | str:
    (stmt,) = ir(source, **types)
    assert isinstance(stmt, L.Loop)
    after = frozenset(live.split())

    def explain(loop: L.Loop, names: frozenset[str]):
        return explain_dependence(loop, names, same_name, set())

    return as_nest(stmt, lambda loop: after, explain)


def shape(source: str, live: str = "", **types: str) -> tuple[list[str], list[str], list[str]]:
    """The variables of the grid, those inside of threads, and what threads reduce into."""
    found = nest(source, live, **types)
    assert isinstance(found, Nest), found
    r = found.reductions
    return (
        [loop.var for loop in found.grid],
        [loop.var for loop in found.inside],
        sorted({*r.scalar_reductions, *r.array_reductions}),
    )


MATRIX = {"x": "float64[:, :]", "y": "float64[:, :]"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[i, j] = x[i, j]", (["i", "j"], [], [])),
        ("b[j] += x[i, j]", (["j"], ["i"], [])),
        ("b[i] += x[i, j]", (["i"], ["j"], [])),
        # Different columns may add to the same element: several threads do.
        ("b[i + j] += x[i, j]", (["i", "j"], [], ["b"])),
        ("b[0] += x[i, j]", (["i", "j"], [], ["b"])),
        ("s = s + x[i, j]", (["i", "j"], [], ["s"])),
        # Each column is a recurrence.
        ("y[i + 1, j] = y[i, j] * 0.5", (["j"], ["i"], [])),
        ("y[i, j + 1] = y[i, j] * 0.5", (["i"], ["j"], [])),
    ],
)
def test_nests(body, expected):
    source = f"for i in range(n):\n    for j in range(m):\n        {body}"
    live = "s" if body.startswith("s ") else ""
    grid, inside, reduced = expected
    found = nest(source, live, b="float64[:]", s="float64", **MATRIX)
    if body == "y[i, j + 1] = y[i, j] * 0.5":
        assert isinstance(found, Nest) and [loop.var for loop in found.grid] == ["i"]
        return
    assert shape(source, live, b="float64[:]", s="float64", **MATRIX) == expected


def test_a_diagonal_recurrence_is_no_grid():
    source = """
    for i in range(n):
        for j in range(m):
            y[i + 1, j + 1] = y[i, j]
    """
    assert nest(source, **MATRIX) == "iterations may touch the same elements of y"


def test_a_break_prevents_interchange():
    source = """
    for i in range(n):
        for j in range(m):
            if x[i, j] > 0.0:
                break
            y[i + 1, j] = y[i, j]
    """
    assert isinstance(nest(source, **MATRIX), str)


def test_triangular_bounds_stay_inside_of_a_thread():
    source = """
    for i in range(n):
        for j in range(i):
            y[i, j] = x[i, j]
    """
    assert shape(source, **MATRIX) == (["i"], [], [])


def test_a_bound_that_may_fail_is_not_computed_before_the_loop():
    source = """
    for i in range(n):
        for j in range(m // k):
            y[i, j] = x[i, j]
    """
    assert shape(source, **MATRIX) == (["i"], [], [])
