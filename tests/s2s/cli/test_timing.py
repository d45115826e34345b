"""Timing of calls: how often what is called, and times as text."""

from __future__ import annotations

import gc

import pytest

from s2s.cli import timing
from s2s.cli.timing import Timing, duration, measure


def test_measure_counts_its_calls():
    calls = []
    timing = measure(lambda: calls.append(1), 0.0)
    assert 0 < timing.best <= timing.median and timing.calls <= len(calls)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.56e-6, "4.56 µs"), (7e-9, "7 ns"), (0.0, "0 ns")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances only in calls of `work(seconds)`."""

    class Clock:
        now = 0.0

        def work(self, seconds):
            self.now += seconds

    made = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: made.now)
    return made


def test_short_calls_are_measured_in_batches(clock):
    found = measure(lambda: clock.work(1e-6), 0.01)
    assert found.best == pytest.approx(1e-6) == found.median
    assert found.calls >= 10_000 - 1000  # ten milliseconds of them


def test_long_calls_are_measured_one_by_one(clock):
    calls = []

    def call():
        calls.append(1)
        clock.work(0.1 * (1 + len(calls) % 2))

    found = measure(call, 1.0)
    assert (found.best, found.median) == (pytest.approx(0.1), pytest.approx(0.15, abs=0.06))
    assert found.calls == len(calls) - 1  # one is not timed


def test_what_runs_before_each_call_is_not_timed(clock):
    order = []

    def call():
        order.append("call")
        clock.work(0.1)

    def before():
        order.append("before")
        clock.work(5.0)

    found = measure(call, 20.0, before)
    assert found.best == found.median == pytest.approx(0.1)
    assert order[0] == "call" and order[1:] == ["before", "call"] * found.calls


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_before(enabled, clock):
    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        measure(lambda: clock.work(0.01), 0.02)
        assert gc.isenabled() is enabled

        def fail():
            clock.work(0.01)
            if not gc.isenabled():
                raise RuntimeError

        with pytest.raises(RuntimeError):
            measure(fail, 0.02)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was else gc.disable)()


def test_text():
    assert str(Timing(1.5e-3, 2e-3, 10)) == "1.5 ms"
