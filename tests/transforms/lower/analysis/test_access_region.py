"""Index ranges of accesses in a loop, and whether two of them are disjoint."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.access_region import AccessRegions, IndexInLoops
from s2s.transforms.lower.analysis.single_assignment import single_definitions
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import expr, ir, loops_of

I, N, M = L.Name("i"), L.Name("n"), L.Name("m")  # noqa: E741


def regions(source: str) -> tuple[AccessRegions, list[IndexInLoops]]:
    """The regions of the first loop of a text, and the places of its stores."""
    body = ir(source)
    outer = loops_of(body)[0]
    found = AccessRegions(outer, single_definitions(list(L.walk(outer.body))))
    places: list[IndexInLoops] = []

    def visit(block: list[L.Stmt], around: list[L.Loop]) -> None:
        for s in block:
            if isinstance(s, L.Store):
                places.append((s.index, around))
            for inner in L.blocks_of(s):
                visit(inner, [*around, s] if isinstance(s, L.Loop) else around)

    visit(outer.body, [])
    return found, places


def test_inclusive_ends_over_the_inner_loops():
    found, [(index, loops)] = regions(
        """
        for t in range(k):
            for i in range(2, n):
                for j in range(m - 1, -1, -1):
                    x[i + j + 1] = 1.0
        """
    )
    ends = found.index_bounds(index[0], loops)
    assert ends is not None
    low, high = ({term: c for term, c in end.items() if c} for end in ends)
    assert low == {None: 3}  # i = 2, j = 0
    assert high == {N: 1, M: 1, None: -1}  # i = n - 1, j = m - 1


@pytest.mark.parametrize(
    ("index", "step"),
    [
        pytest.param("n - i", "1", id="falls with the variable"),
        pytest.param("i * i", "1", id="not linear"),
        pytest.param("x[i]", "1", id="loaded"),
        pytest.param("t", "1", id="varies in the outer loop"),
        pytest.param("i", "2", id="no unit step"),
    ],
)
def test_ends_are_unknown(index, step):
    found, [(at, loops)] = regions(
        f"for t in range(k):\n    for i in range(0, n, {step}):\n        y[{index}] = 1.0"
    )
    assert found.index_bounds(at[0], loops) is None


def test_definitions_in_the_loop_are_substituted():
    found, [(index, loops)] = regions(
        """
        for t in range(k):
            last = n - 1
            for i in range(last):
                x[i + last] = 1.0
        """
    )
    ends = found.index_bounds(index[0], loops)
    assert ends is not None
    assert {t: c for t, c in ends[1].items() if c} == {N: 2, None: -3}


@pytest.mark.parametrize(
    ("stores", "apart"),
    [
        ("x[0] = 1.0\nx[1] = 1.0", True),
        ("x[0] = 1.0\nx[0] = 1.0", False),
        ("x[n] = 1.0\nx[n + 1] = 1.0", True),
        ("x[n] = 1.0\nx[m] = 1.0", False),  # n and m may be equal
        ("x[t] = 1.0\nx[t + 1] = 1.0", False),  # of different iterations
        ("x[n, 0] = 1.0\nx[n, 1] = 1.0", True),  # one axis suffices
        ("x[0, m] = 1.0\nx[n, m] = 1.0", False),
        ("for i in range(n):\n    x[i] = 1.0\nx[n] = 1.0", True),
        ("for i in range(n + 1):\n    x[i] = 1.0\nx[n] = 1.0", False),
        ("for i in range(1, n):\n    x[i] = 1.0\nx[0] = 1.0", True),
        ("for i in range(n):\n    x[i] = 1.0\nfor j in range(n, m):\n    x[j] = 1.0", True),
        ("for i in range(n):\n    x[i] = 1.0\nfor j in range(n - 1, m):\n    x[j] = 1.0", False),
        ("for i in range(n if n < 4 else 4):\n    x[i] = 1.0\nx[4] = 1.0", False),
        ("for i in range(2 if p else 4):\n    x[i] = 1.0\nx[4] = 1.0", True),
        ("for i in range(2 if p else 4):\n    x[i] = 1.0\nx[3] = 1.0", False),
    ],
)
def test_disjoint_accesses(stores, apart):
    lines = "\n    ".join(stores.splitlines())
    found, (a, b) = regions(f"for t in range(k):\n    {lines}")
    assert found.disjoint(a, b) is found.disjoint(b, a) is apart


def test_spelt_in_values_from_before_the_loop():
    found, _ = regions("for t in range(k):\n    s = n + 1\n    r = x[t]\n    q = n // m")
    assert found.before_loop(expr("s * 2"), set()) == expr("(n + 1) * 2")
    assert found.before_loop(expr("i + s"), {"i"}) == expr("i + (n + 1)")
    assert found.before_loop(expr("t + 1"), set()) is None
    assert found.before_loop(expr("r", r="float64"), set()) is None
    assert found.before_loop(expr("q"), set()) is None  # fails where m is zero
