"""Runs many programs and reports a reduced form of each that fails."""

from __future__ import annotations

import builtins
import gc
import linecache
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .generate import generate
from .judges import ALWAYS, EXTRAS
from .plain import arguments, load
from .shrink import shrink
from .trial import Verdict, judge

LONGEST = 20_000  # limit on the executed lines of a program


@dataclass
class Report:
    counts: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    examples: dict[str, int] = field(default_factory=dict)  # programs by refusal message
    failures: list[tuple[int, str, str]] = field(default_factory=list)  # number, reason, source
    seconds: float = 0.0

    def summary(self) -> str:
        total = sum(self.counts.values())
        kinds = ("ok", "refused", "discarded", "failed")
        counts = ", ".join(f"{self.counts[k]} {k}" for k in kinds)
        rate = total / self.seconds if self.seconds else 0.0
        lines = [f"{total} programs: {counts}; {rate:.1f} per second"]
        lines += ["runs judged: " + ", ".join(f"{n} {k}" for k, n in self.judged.most_common())]
        for why, n in self.refusals.most_common(20):
            lines.append(f"refused {n} times, first program {self.examples[why]}: {why}")
        return "\n".join(lines)

    def text(self) -> str:
        return "\n\n".join(map(describe, self.failures)) + "\n\n" + self.summary()


def describe(failure: tuple[int, str, str]) -> str:
    number, reason, source = failure
    return f"---- program {number}: {reason}\n{source[source.index('def f(') :]}"


def judges_of(number: int, thorough: bool, backend: str = "") -> tuple[str, ...]:
    """The oracles for a program: two for every program, and a further one for every third."""
    if backend:
        return (backend,)
    if thorough:
        return (*ALWAYS, *EXTRAS)
    turn, rest = divmod(number, 3)
    return ALWAYS if rest else (*ALWAYS, EXTRAS[turn % len(EXTRAS)])


def run(
    count: int,
    seed: int = 0,
    first: int = 0,
    *,
    thorough: bool = False,
    backend: str = "",
    progress: bool = False,  # show a progress bar, and failures immediately
    most: int = 20,
    shrinking: bool = True,
) -> Report:
    """Run the programs; stop after `most` failures of different kinds."""
    report, seen = Report(), Counter[str]()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name, _seldom_collecting():
        folder = Path(name)
        for number in range(first, first + count):
            judges = judges_of(number, thorough, backend)
            source = generate(seed, number, pure="jax" in judges and not thorough)
            verdict = judge(source, folder, judges)
            report.counts[verdict.kind] += 1
            report.judged += verdict.judged
            if verdict.kind == "refused":
                kind = signature(verdict.reason)
                report.refusals[kind] += 1
                report.examples.setdefault(kind, number)
            if verdict.kind == "failed":
                kind = signature(verdict.reason)
                seen[kind] += 1
                if seen[kind] <= 2:
                    if shrinking:
                        source = shrink(source, same_failure(verdict, folder))
                    report.failures.append((number, verdict.reason, source))
                    if progress:
                        print("\n" + describe(report.failures[-1]), flush=True)
            report.seconds = time.monotonic() - started
            if progress:
                _bar(number - first + 1, count, report)
            if number % 50 == 49:
                _tidy(folder)
            if len(seen) >= most:
                break
    return report


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Reduce the frequency of garbage collections, which the many small objects of the compiler
    make too frequent."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def _tidy(folder: Path) -> None:
    linecache.clearcache()
    for path in folder.glob("*.py"):
        path.unlink()
    gc.collect()


def same_failure(verdict: Verdict, folder: Path) -> Callable[[str], bool]:
    """True if a smaller program runs in plain Python and fails in the same way."""
    assert verdict.where is not None
    name, n = verdict.where

    def fails(source: str) -> bool:
        if not valid(source, folder):
            return False
        again = judge(source, folder, (name,), (n,))
        return again.kind == verdict.kind and signature(again.reason) == signature(verdict.reason)

    return fails


def valid(source: str, folder: Path) -> bool:
    """True if the program terminates under plain Python for every trip count."""
    try:
        f = load(source, folder)
        attributes = {"np", "T", *dir(np), *dir(np.ndarray), *dir(list)}
        if not set(f.__code__.co_names) <= attributes | set(f.__globals__) | set(dir(builtins)):
            return False  # a removed definition that plain Python does not reach
        with np.errstate(all="ignore"):
            for n in range(4):
                float(bounded(f, arguments(n)))
    except Exception:  # noqa: BLE001
        return False
    return True


def bounded(f: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The result of a program; raises TimeoutError after `LONGEST` executed lines."""
    left = LONGEST

    def trace(*_: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TimeoutError
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return f(*args)
    finally:
        sys.settrace(before)


def signature(reason: str) -> str:
    """A key that is equal for failures with the same cause."""
    lines = reason.splitlines()
    text = re.sub(r"n=\d, ", "", lines[0]) if lines else ""
    text = re.sub(r"/\S*?:\d+(:\d+)?", "", text)
    text = re.sub(
        r"\b[a-z]+\d*_?\d*\b may share memory with [a-z]+\d*_?\d*",
        "a may share memory with b",
        text,
    )
    return re.sub(r"\(?[-\d.e]{2,}\)?|\[.*\]|'[^']*'", "#", text)[:70]


def _bar(done: int, count: int, report: Report) -> None:
    filled = 30 * done // count
    bar = "#" * filled + "." * (30 - filled)
    rate = done / report.seconds if report.seconds else 0.0
    left = f"{report.counts['failed']} failed, {rate:.1f}/s"
    end = "\n" if done == count else ""
    print(f"\r[{bar}] {done}/{count}, {left} ", end=end, file=sys.stderr, flush=True)
