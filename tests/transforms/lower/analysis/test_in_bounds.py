"""Conditional accumulations: the element surely exists, and a load is surely from another one."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.in_bounds import AccumulationFacts, conditional_accumulations
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import expr, ir, loops_of

X = L.Size("x", 0)


def facts(source: str, params: str = "xn", **sizes: tuple[L.Expr, ...]):
    body = ir(source)
    puts = [s for s in L.walk(body) if isinstance(s, L.Store) and s.add]
    return body, puts, AccumulationFacts(body, [*params], sizes or {"x": (X,)})


def there(source: str, **sizes) -> bool:
    _, (put,), found = facts(source, **sizes)
    return found.is_in_bounds(put)


GUARDED = """
    for c in range({}):
        for j in range(n):
            if j < 3:
                x[{}] += 1.0
    """


@pytest.mark.parametrize(
    ("stop", "index", "sizes", "known"),
    [
        ("x.shape[0]", "c", {}, True),
        ("n", "c", {}, False),  # n may be greater than the size
        ("n", "c", {"x": (L.Name("n"),)}, True),
        ("x.shape[0]", "c + 1", {}, False),
        ("x.shape[0]", "c - 1", {}, False),
        ("4", "c", {"x": (L.lit(4),)}, True),
        ("5", "c", {"x": (L.lit(4),)}, False),
        ("x.shape[0]", "c & 3", {"x": (L.lit(4),)}, True),
        ("x.shape[0]", "c % 4", {"x": (L.lit(4),)}, True),
        ("x.shape[0]", "c % 5", {"x": (L.lit(4),)}, False),
        ("x.shape[0]", "0", {}, False),  # the array may be empty
        ("x.shape[0]", "0", {"x": (L.lit(1),)}, True),
        ("x.shape[0]", "c, 0", {}, False),  # sizes of another rank
    ],
)
def test_the_element_exists(stop, index, sizes, known):
    assert there(GUARDED.format(stop, index), **sizes) is known


def test_own_buffers_have_the_sizes_they_are_allocated_with():
    source = "t = np.empty(({},), np.float64)\n" + "\n".join(
        [
            "for c in range(n):",
            "    for j in range(n):",
            "        if j < c:",
            "            t[c] += 1.0",
        ]
    )
    assert there(source.format("n")) and not there(source.format("4"))
    twice = source.format("n") + "\nt = np.empty((n,), np.float64)"
    assert not there(twice)  # two buffers of one name


def test_a_load_below_the_index():
    """With one bit cleared, a non-negative integer gets smaller."""
    body, (put,), found = facts(
        """
        for c in range(x.shape[0]):
            for j in range(n):
                if c & 1 << j != 0:
                    x[c] += x[c ^ 1 << j] + x[c & 1]
        """
    )
    (load, other) = (e for e in L.subexprs_read(put) if isinstance(e, L.Load))
    assert found.is_in_bounds(put)
    assert found.is_disjoint_load(put, load, put)
    assert not found.is_disjoint_load(put, other, put)
    assert not found.is_disjoint_load(body[0], load, put)  # another statement


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("for i in range(n):\n    if p:\n        x[i] += 1.0", 1),
        ("for i in range(n):\n    x[i] += 1.0", 0),
        ("for i in range(n):\n    if p:\n        x[i] = 1.0", 0),
        ("for i in range(n):\n    if p:\n        x[i] += 1.0\n    else:\n        x[0] += 1.0", 2),
        ("for i in range(n):\n    for j in range(n):\n        if p:\n            x[i] += 1.0", 0),
        ("for i in range(n):\n    while True:\n        x[i] += 1.0", 0),
    ],
)
def test_conditional_accumulations_of_an_innermost_loop(source, count):
    assert len(conditional_accumulations(loops_of(ir(source))[0])) == count


def test_no_facts_without_accumulations():
    body, _, found = facts("for c in range(n):\n    x[c] = x[0]")
    (put,) = (s for s in L.walk(body) if isinstance(s, L.Store))
    assert not found.is_in_bounds(put)
    load = expr("x[0]")
    assert isinstance(load, L.Load) and not found.is_disjoint_load(put, load, put)
