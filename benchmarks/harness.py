"""Times one row: all its peers in one process, their repetitions interleaved.

    python -m benchmarks.harness <row> [--rounds 40] [--only s2s,JAX]

Noise of the machine affects all peers alike, and the minimum of many repetitions excludes it. The
results of each peer are compared with the reference before timing.  Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from typing import Any

from . import row as r
from . import rows, threads

# A repetition consists of as many calls as fill this time, so that the cost of reading the clock is
# negligible.
CHUNK = 3e-3
# Time limit for all repetitions of one peer, in seconds.
BUDGET = 8.0
LEAST = 2


class Clocked:
    """The measurements of one peer: the number of calls per repetition, and the time per call of
    each repetition."""

    def __init__(self, runner: r.Runner, budget: float) -> None:
        self.run, self.backend, self.budget = runner.run, runner.backend, budget
        self.times: list[float] = []
        self.spent = 0.0
        self.calls = 1
        first = self.timed()
        # Only the first call may compile.
        self.calls = max(1, int(CHUNK / min(first, self.timed())))

    def timed(self) -> float:
        run, calls = self.run, range(self.calls)
        with r.on_backend(self.backend):
            start = time.perf_counter()
            for _ in calls:
                run()
            return (time.perf_counter() - start) / self.calls

    def repeat(self) -> None:
        """Runs another repetition unless the time limit is reached; uncounted calls fill the caches
        before."""
        if self.spent > self.budget and len(self.times) >= LEAST:
            return
        start = time.perf_counter()
        if not self.times or self.times[-1] < 0.1:
            with r.on_backend(self.backend):
                self.run()
        self.times.append(self.timed())
        self.spent += time.perf_counter() - start


def make(maker: r.Maker) -> tuple[r.Runner | None, list[Any], dict[str, Any]]:
    """Returns the runner, its results and its report: the seconds to the first result, or the
    reason why there is none."""
    start = time.perf_counter()
    try:
        runner = maker()
        with r.on_backend(runner.backend):
            results = runner.read()
        return runner, results, {"made": time.perf_counter() - start}
    except ModuleNotFoundError as error:
        return None, [], {"missing": str(error)}
    except Exception as error:
        text = f"{type(error).__name__}: {error}".strip()
        return None, [], {"error": text[:2000], "made": time.perf_counter() - start}


def measure(
    row: r.Row, rounds: int, budget: float, only: list[str] | None = None
) -> dict[str, Any]:
    """For each peer `seconds` (the minimum), `missing`, or `error`."""
    report: dict[str, Any] = {}
    runners: dict[str, r.Runner] = {}
    results: dict[str, list[Any]] = {}
    for peer, maker in row.makers.items():
        if only and peer not in only:
            continue
        runner, found, report[peer] = make(maker)
        if runner is not None:
            runners[peer], results[peer] = runner, found

    reference = next((p for p in r.REFERENCES if p in results), None)
    for peer, found in results.items():
        if peer == r.PRIMAL or reference is None:
            continue
        try:
            apart = r.distance(found, results[reference])
        except ValueError as error:
            report[peer]["error"] = f"other results than {reference}: {error}"
            del runners[peer]
            continue
        report[peer]["apart"] = apart
        if not apart <= row.tolerance:
            report[peer]["error"] = f"results differ from {reference}'s by {apart:.1e}"
            del runners[peer]

    clocks = {peer: Clocked(runner, budget) for peer, runner in runners.items()}
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for clock in clocks.values():
            clock.repeat()
    gc.enable()
    for peer, clock in clocks.items():
        ordered = sorted(clock.times)
        report[peer]["seconds"] = ordered[0]
        report[peer]["median"] = ordered[len(ordered) // 2]
        report[peer]["repetitions"] = len(ordered)
    return {"reference": reference, "peers": report}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("row")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--budget", type=float, default=BUDGET)
    parser.add_argument("--only", help="peers, separated by commas")
    options = parser.parse_args()
    threads.restrict()
    row = rows.find(options.row)
    # Already set if the suite started this process.
    os.environ.setdefault("JAX_ENABLE_X64", str(int(row.dtype == "float64")))
    only = options.only.split(",") if options.only else None
    found = measure(row, options.rounds, options.budget, only)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
