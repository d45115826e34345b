"""Integers that the host computes, stores and reads again without waiting for the device."""

from __future__ import annotations

import pytest

from s2s import UnsupportedError
from s2s.transforms.lower.target.host_copies import candidates, stores_of
from s2s.transforms.lower.target.symbols import symbols_of
from tests.cuda.compiling import emitted, host_function, routine
from tests.transforms.lower.loop_ir_text import ir, text

SAVED = """
def f(x, n):
    {decl} = np.empty((n,), np.int64)
    for i in range(n):
        {store}
    for k in range(n):
        m = sizes[k]
        t = np.empty((m,), np.float64)
        for j in range(m):
            t[j] = x[j]
        for j in range(m):
            x[j] = t[m - 1 - j]
    return ()
"""


def saved(store: str, decl: str = "sizes") -> str:
    return emitted(SAVED.format(store=store, decl=decl), x="float64[:]", sizes="int64[:]")[0]


def test_lengths_are_computed_twice_and_read_on_the_host():
    lines = [line.strip() for line in host_function(saved("sizes[i] = i * 2")).splitlines()]
    assert "sizes_host = np.empty((n,), np.int64)" in lines
    at = lines.index("sizes_host[i] = i * 2")
    assert lines[at - 1] == "for i in range(n):"
    assert "m = sizes_host[k]" in lines and not any("dev.fetch" in line for line in lines)


@pytest.mark.parametrize("store", ["sizes[i] = rt.to_int(x[i])", "sizes[i] = sizes[0] + i"])
def test_values_of_the_device_are_refused(store):
    """The second one reads what only the first iteration of the host has stored."""
    if "sizes[0]" in store:
        assert "sizes_host[i] = sizes_host[0] + i" in saved(store)
        return
    with pytest.raises(UnsupportedError, match="control depends on values on the device"):
        saved(store)


def test_dead_copies_are_left_out():
    found, _ = emitted(
        """
def f(x, n):
    at = np.empty((n,), np.int64)
    for i in range(n):
        at[i] = n - 1 - i
    for i in range(n):
        x[at[i]] = 1.0
    return ()
""",
        x="float64[:]",
    )
    assert "host" not in found


def test_candidates_have_all_names_of_their_memory():
    r = routine(
        """
def f(x):
    a = np.empty((3,), np.int64)
    b = np.empty((3,), np.int64)
    c = np.empty((3,), np.float64)
    b = a
    d = x.reshape((1, 3))
    return ()
""",
        x="int64[:]",
        d="int64[:, :]",
    )
    found = candidates(r.body, r.params, symbols_of(r, set()))
    assert found == {"a": frozenset("ab"), "b": frozenset("ab")}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for i in range(n):\n    a[i] = i\n    x[i] = 1.0", "for i in range(n):\n    a[i] = i"),
        ("if n > 1:\n    a[0] = n\nelse:\n    x[0] = 1.0", "if n > 1:\n    a[0] = n"),
        ("x[0] = 1.0", ""),
        ("for i in range(n):\n    k = n\n    a[i] = k", None),
        ("for i in range(n):\n    if x[i] > 1.0:\n        break\n    a[i] = i", None),
    ],
)
def test_the_stores_of_a_statement(source, expected):
    (stmt,) = ir(source, a="int64[:]")
    found = stores_of(stmt, {"a"})
    assert (None if found is None else text(found) if found else "") == expected
