"""Programs whose loops are almost independent.

All values are small integers, so that sums are exact in any order.  A result on threads that
differs in any bit is a race, or a read of another chunk's data.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from tests.switches import threads_everywhere

N, TIMES = 37, 50


@pytest.fixture(autouse=True)
def every_loop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    with threads_everywhere():
        yield


def indirect(x, k):  # type: ignore[no-untyped-def]
    """Two iterations may write to one element; the last write must win."""
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[k[i]] = x[i] * x[i]
    return np.sum(y * y)


def indirect_read(x, k):  # type: ignore[no-untyped-def]
    """Elements are written at k[i] and read at i."""
    y = x.copy()
    for i in range(x.shape[0]):
        y[i] = y[k[i]] + x[i]
    return np.sum(y)


def carried(x, k):  # type: ignore[no-untyped-def]
    last = 1.0
    total = 0.0
    for i in range(x.shape[0]):
        total += last * x[i]
        last = x[i]
    return total


def carried_in_a_branch(x, k):  # type: ignore[no-untyped-def]
    last = 1.0
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            last = x[i]
        total += last * x[k[i]]
    return total


def sum_that_is_read(x, k):  # type: ignore[no-untyped-def]
    total = 0.0
    out = 0.0
    for i in range(x.shape[0]):
        total += x[i]
        if total > 3.0:
            out += x[i] * x[i]
    return out


def renamed(x, k):  # type: ignore[no-untyped-def]
    """z is y of one or two iterations ago."""
    y = x.copy()
    z = x * 2.0
    for step in range(4):
        w = y.copy()
        for i in range(1, x.shape[0]):
            w[i] = z[i - 1] + y[i]
        if step > 1:
            z = y
        y = w
    return np.sum(y * z)


def swapped(x, k):  # type: ignore[no-untyped-def]
    a, b = x.copy(), x * 0.0
    for _ in range(3):
        for i in range(1, x.shape[0] - 1):
            b[i] = a[i - 1] + a[i + 1]
        a, b = b, a
    return np.sum(a * x) + np.sum(b)


def overlapping_views(x, k):  # type: ignore[no-untyped-def]
    y = x.copy()
    low, high = y[:-1], y[1:]
    for i in range(low.shape[0]):
        high[i] = low[i] + x[i]
    return np.sum(y * x)


def reversed_view(x, k):  # type: ignore[no-untyped-def]
    y = x.copy()
    back = y[::-1]
    for i in range(x.shape[0]):
        back[i] += y[i]
    return np.sum(y * x)


def shifted_in_place(x, k):  # type: ignore[no-untyped-def]
    y = x.copy()
    y[1:] = y[:-1] + y[1:]
    y[:-1] += y[1:]
    return np.sum(y * y)


def rows_of_one_matrix(x, k):  # type: ignore[no-untyped-def]
    m = np.outer(x, x)
    for i in range(1, x.shape[0]):
        for j in range(x.shape[0]):
            m[i, j] = m[i, j] + m[i - 1, (j + 1) % x.shape[0]]
            if m[i, j] > 50.0:
                m[i, j] = 1.0
    return np.sum(m)


def columns_apart(x, k):  # type: ignore[no-untyped-def]
    m = np.outer(x, x)
    for j in range(x.shape[0]):
        for i in range(1, x.shape[0]):
            m[i, j] = (m[i, j] + m[i - 1, j]) * 0.5
    return np.sum(m)


def transposed_in_place(x, k):  # type: ignore[no-untyped-def]
    m = np.outer(x, x + 1.0)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            m[i, j] = m[j, i] + 1.0
    return np.sum(m * x)


def largest(x, k):  # type: ignore[no-untyped-def]
    """Maximum, minimum and argmin."""
    high, low, at = x[0], x[0], 0
    for i in range(x.shape[0]):
        high = max(high, x[i] * x[k[i]])
        low = min(low, x[i] * 3.0)
        if x[i] >= x[at]:
            at = i
    return high * 2.0 + low + x[at] * 5.0


def own_buffer(x, k):  # type: ignore[no-untyped-def]
    """A buffer that each iteration allocates, which is hoisted."""
    total = 0.0
    for i in range(x.shape[0]):
        row = np.zeros(x.shape[0])
        for j in range(i % 5 + 1):
            row[j] = x[i] * x[j]
        total += np.sum(row) * x[k[i]]
    return total


def leftover_buffer(x, k):  # type: ignore[no-untyped-def]
    """A buffer from before the loop, in which each iteration reads values of the previous one."""
    row = np.zeros(x.shape[0])
    total = 0.0
    for i in range(x.shape[0]):
        row[k[i]] = x[i]
        total += row[0] + row[k[0]] * x[i]
    return total


def inner_while(x, k):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(x.shape[0]):
        n = 0
        v = abs(x[i]) + 1.0
        while v < 40.0 and n < 6:
            v = v * 2.0
            n += 1
        total += v * x[k[i]]
    return total


def histogram(x, k):  # type: ignore[no-untyped-def]
    counts = np.zeros(5)
    for i in range(x.shape[0]):
        counts[k[i] % 5] += x[i]
        counts[(k[i] + 1) % 5] -= x[i] * 2.0
    return np.sum(counts * counts)


def modulo(x, k):  # type: ignore[no-untyped-def]
    y = np.zeros(7)
    for i in range(x.shape[0]):
        y[i % 7] = y[i % 7] + x[i]
    return np.sum(y * y)


def halves(x, k):  # type: ignore[no-untyped-def]
    """Pairs of iterations write to one element."""
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i // 2] = y[i // 2] * 2.0 + x[i]
    return np.sum(y)


def offsets(x, k):  # type: ignore[no-untyped-def]
    """The dependence distance is known only at run time."""
    d = k[0]
    y = x.copy()
    for i in range(x.shape[0] - d):
        y[i + d] = y[i] + x[i]
    return np.sum(y * x)


def counted(x, k):  # type: ignore[no-untyped-def]
    n = 0
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            y[n] = x[i]
            n += 1
    return np.sum(y * np.arange(x.shape[0])) + n


def running(x, k):  # type: ignore[no-untyped-def]
    return np.sum(np.cumsum(x) * x) + np.sum(np.maximum(x, x[k])) + np.max(x[k] * x)


PROGRAMS = [
    indirect, indirect_read, carried, carried_in_a_branch, sum_that_is_read, renamed, swapped,
    overlapping_views, reversed_view, shifted_in_place, rows_of_one_matrix, columns_apart,
    transposed_in_place, largest, own_buffer, leftover_buffer, inner_while, histogram, modulo,
    halves, offsets, counted, running,
]  # fmt: skip


def same(a: Any, b: Any) -> bool:
    return a[0] == b[0] and np.array_equal(a[1], b[1])


@pytest.mark.parametrize("f", PROGRAMS)
def test_no_race(f: Any) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-3, 4, N).astype(np.float64)
    k = np.concatenate([[3], rng.integers(0, N, N - 1)])
    vars(f).pop("__s2s__", None)
    wanted = s2s.value_and_grad(f, parallel=False, backend="loops")(x, k)
    assert wanted[0] == pytest.approx(f(x.copy(), k))
    shared = s2s.value_and_grad(f)
    assert all(same(shared(x, k), wanted) for _ in range(TIMES))
    vars(f).pop("__s2s__", None)
