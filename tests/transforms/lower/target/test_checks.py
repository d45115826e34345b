"""Checks of all elements become loops whose iterations fail."""

from __future__ import annotations

from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.target.checks import fail_in_loops
from tests.cuda.compiling import routine


def after(source: str) -> str:
    found = routine(source, y="int64[:]", d="int64[:, :]")
    fail_in_loops(found.body)
    return print_module([found]).split("\n\n\n")[1]


def test_a_check_moves_into_its_loop():
    assert after("""
def f(y, n):
    bad = False
    for i in range(n):
        bad = bad or y[i] < 0
    if bad:
        raise ValueError("negative")
    return (y,)
""") == (
        "def f(y, n):\n"
        "    for i in range(n):\n"
        "        if y[i] < 0:\n"
        '            raise ValueError("negative")\n'
        "    return (y,)\n"
    )  # fmt: skip


def test_a_check_moves_into_a_nest():
    text = after("""
def f(d, n):
    bad = False
    for i in range(n):
        for j in range(n):
            bad = bad or d[i, j] < 0
    if bad:
        raise ValueError("negative")
    return (d,)
""")
    assert "            if d[i, j] < 0:\n" in text and "bad" not in text


def test_a_condition_with_another_use_stays():
    source = """
def f(y, n):
    bad = False
    for i in range(n):
        bad = bad or y[i] < 0
    if bad:
        raise ValueError("negative")
    return (bad,)
"""
    assert "bad = bad or y[i] < 0" in after(source)


def test_a_loop_that_stores_stays():
    source = """
def f(y, n):
    bad = False
    for i in range(n):
        bad = bad or y[i] < 0
        y[i] = 1
    if bad:
        raise ValueError("negative")
    return (y,)
"""
    assert "bad = bad or y[i] < 0" in after(source)
