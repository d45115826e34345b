"""Loops that become a grid are the outer ones."""

from __future__ import annotations

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.target.interchange import interchange_for_grids, is_grid
from tests.cuda.compiling import routine, same_name

SUMS = """
def f(b, d, n, m):
    for i in range(n):
        for j in range(m):
            b[j] += d[i, j]
    return (b,)
"""
RECURRENCE = """
def f(b, d, n, m):
    for i in range(1, n):
        for j in range(m):
            d[i, j] = d[i - 1, j] * b[j]
    return (d,)
"""
TYPES = {"b": "float64[:]", "d": "float64[:, :]"}


def after(source: str) -> str:
    found = routine(source, **TYPES)
    interchange_for_grids(found.body, same_name, lambda hint: f"{hint}_1")
    return print_module([found]).split("\n\n\n")[1]


def test_a_sum_over_rows():
    assert after(SUMS) == (
        "def f(b, d, n, m):\n"
        "    for j in range(m):\n"
        "        for k_1 in range(n):\n"
        "            b[j] += d[k_1, j]\n"
        "    return (b,)\n"
    )


def test_a_recurrence_along_rows():
    assert "    for j in range(m):\n        for k_1 in range(1, n):\n" in after(RECURRENCE)


def test_grids_stay():
    source = SUMS.replace("b[j] += d[i, j]", "d[i, j] = b[j]")
    assert "    for i in range(n):\n        for j in range(m):\n" in after(source)


def test_loops_with_buffers_of_their_own_are_grids():
    found = routine("""
def f(b, n, m):
    for i in range(n):
        t = np.empty((m,), np.float64)
        for j in range(m):
            t[j] = b[j]
        b[i] = t[0]
    for i in range(n):
        t = np.empty((m,), np.float64)
        for j in range(m):
            t[j] = 1.0
        b[i + m] = t[0]
    return (b,)
""", **TYPES)  # fmt: skip
    test = is_grid(found.body, same_name)
    assert [test(s) for s in found.body if isinstance(s, L.Loop)] == [False, True]
