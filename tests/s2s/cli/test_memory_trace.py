"""Memory profile of a run, line by line."""

from __future__ import annotations

import numpy as np

import s2s
from s2s.cli import memory_trace
from s2s.cli.memory_trace import trace

N = 50_000


def two_arrays(x):
    a = np.sin(x)
    b = a * a
    return np.sum(b)


def many_steps(x, n):
    s = 0.0
    for _ in range(n):
        s += x * s
    return s


def traced(f, *args):
    function = s2s.function(f, backend="python")
    specialiser, bound = function._bind("primal", args, {})
    entry, params = specialiser.find(bound, "python")
    return trace(entry, params), entry.compiled.source.splitlines()


def test_arrays_are_seen_where_they_are_made():
    found, source = traced(two_arrays, np.ones(N))
    by_line = {source[n - 1].strip(): after for n, after in zip(found.lines, found.after)}
    size = 8 * N
    assert abs(by_line["a = np.sin(x)"] - size) < 0.05 * size
    assert abs(found.peak - 2 * size) < 0.05 * size
    assert found.complete and found.steps == 3


def test_arguments_are_not_counted():
    found, _ = traced(lambda x: x[0] + 1.0, np.ones(N))
    assert found.peak < N


def test_long_runs_are_told_in_larger_steps(monkeypatch):
    monkeypatch.setattr(memory_trace, "MAX_SAMPLES", 64)
    found, _ = traced(many_steps, 0.5, 1000)
    assert 32 <= len(found.lines) == len(found.after) == len(found.most) <= 64
    assert found.steps > 2000


def test_a_run_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(memory_trace, "TIME_LIMIT_SECONDS", 0.0)
    found, _ = traced(many_steps, 0.5, 1000)
    assert not found.complete and found.steps <= 1100
