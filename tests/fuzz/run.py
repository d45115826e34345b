"""Runs many programs and reports the smallest form of each that fails."""

from __future__ import annotations

import builtins
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .generate import HELPERS, generate
from .shrink import shrink
from .trial import Verdict, arguments, judge, load


@dataclass
class Report:
    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str, str]] = field(default_factory=list)  # number, reason, source

    def summary(self) -> str:
        parts = [", ".join(f"{k}: {v}" for k, v in sorted(self.counts.items()))]
        parts += [f"refused {n} times: {why}" for why, n in self.refusals.most_common(20)]
        return "\n".join(parts)

    def text(self) -> str:
        return "\n".join([self.summary(), *map(describe, self.failures)])


def describe(failure: tuple[int, str, str]) -> str:
    number, reason, source = failure
    return f"---- program {number}: {reason}\n{source.removeprefix(HELPERS)}"


def still_fails(verdict: Verdict, source: str, folder: Path) -> bool:
    """Whether a smaller program runs in plain Python and fails in the same manner."""
    assert verdict.where is not None
    backend, n = verdict.where
    try:
        f = load(source, folder)
        attributes = {"np", "T", *dir(np), *dir(np.ndarray), *dir(list)}
        if not set(f.__code__.co_names) <= attributes | set(f.__globals__) | set(dir(builtins)):
            return False  # a dropped definition that plain Python happens not to miss
        with np.errstate(all="ignore"):
            for k in range(4):
                float(f(*arguments(k)))
    except Exception:  # noqa: BLE001
        return False
    again = judge(source, folder, (backend,), (n,))
    return again.kind == "failed" and signature(again.reason) == signature(verdict.reason)


def signature(reason: str) -> str:
    """What two failures of one cause have in common."""
    text = reason.partition(": ")[2].splitlines()[0]
    text = re.sub(r"/\S*?:\d+(:\d+)?", "", text)
    return re.sub(r"[-\d.e]+|'[^']*'", "#", text)[:60]


def run(
    count: int,
    seed: int = 0,
    first: int = 0,
    backends: tuple[str, ...] = ("loops", "python"),
    progress: bool = False,  # a bar, and failures as they are found
    most: int = 20,
    shrinking: bool = True,
) -> Report:
    """Stops after `most` failures of different kinds."""
    report = Report()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(first, first + count):
            program = generate(seed, number)
            verdict = _judge(program.source, folder, backends)
            report.counts[verdict.kind] += 1
            if verdict.kind == "refused":
                report.refusals[verdict.reason] += 1
            if verdict.kind == "failed":
                kind = signature(verdict.reason)
                seen[kind] += 1
                if seen[kind] <= 2:
                    if shrinking and verdict.where is not None:
                        program = shrink(program, lambda s, v=verdict: still_fails(v, s, folder))
                    report.failures.append((number, verdict.reason, program.source))
                    if progress:
                        print("\n" + describe(report.failures[-1]), flush=True)
                if len(seen) >= most:
                    break
            if progress:
                _bar(number - first + 1, count, report)
    return report


def _judge(source: str, folder: Path, backends: tuple[str, ...]) -> Verdict:
    try:
        return judge(source, folder, backends)
    except Exception as error:  # noqa: BLE001
        return Verdict("failed", f"plain Python: {type(error).__name__}: {error}")


def _bar(done: int, count: int, report: Report) -> None:
    filled = 30 * done // count
    failed = report.counts["failed"]
    end = "\n" if done == count else ""
    bar = "#" * filled + "." * (30 - filled)
    print(f"\r[{bar}] {done}/{count}, {failed} failed", end=end, file=sys.stderr, flush=True)
