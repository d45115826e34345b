"""Random and mutated Python programs, whose value and gradient are compared with plain Python.

    python -m tests.fuzz.frontend --n 10000 --seed 0

Half of the programs come from `grammar`, half from `mutate`.  A program passes if it has the same
value and the same writes to its arguments, an error where plain Python raises one, and a gradient
that agrees with differences; or if it is refused with a line.  Anything else is a failure: a wrong
value, an internal error, more than `SECONDS` of compilation.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import linecache
import re
import signal
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import s2s
from s2s.errors import InternalCompilerError, S2SError

from . import grammar
from .mutate import Mutator
from .run import bounded

SECONDS = 30
# Errors of plain Python that compiled code need not raise (docs/language.md): arithmetic yields
# inf, nan or a wrapped integer, and unused values are not computed.
DEVIATIONS = (ZeroDivisionError, OverflowError, RecursionError, MemoryError, IndexError)
# Python scalars have the attributes of NumPy's, and functions of `math` return nan.
_ACCEPTED = re.compile(
    r"'(int|float|bool)' object has no attribute|math domain error|broadcast(able)? "
)
# Programs whose result is undefined, or that compute with inf throughout.
_SYMMETRIC = re.compile(r"eigh|eigvalsh|cholesky")  # gradients along symmetric matrices
_ARBITRARY = re.compile(r"\bempty(_like)?\b|1e30[89]|\binf\b")
# Programs for which differences are invalid: they overflow, or average over many discontinuities.
_MISLEADING = re.compile(r"1e\+30[89]|%|//|\bmod\b|remainder|floor|trunc|round")


@dataclass
class Program:
    source: str
    name: str
    arguments: Callable[[], list[Any]]
    globals: dict[str, Any]
    static: tuple[str, ...] = ()


@dataclass
class Outcome:
    """The outcome of a call: its value, or its error if that is not None, and the arguments
    afterwards."""

    value: Any = None
    error: BaseException | None = None
    after: list[Any] = field(default_factory=list)


class Slow(BaseException):
    """Derives from BaseException, so that no handler catches it."""


def program(seed: int, number: int, mutator: Mutator) -> Program:
    if number % 2:
        case, text = mutator.mutant(seed, number)
        n = case.trips[number % len(case.trips)]
        space = dict(vars(sys.modules[case.function.__module__]))

        def arguments() -> list[Any]:
            args, keywords = case.arguments(n, np.float64)
            names = case.function.__code__.co_varnames[len(args) :]
            return [*args, *(keywords[k] for k in names if k in keywords)]

        return Program(text, case.name, arguments, space, case.static)

    def made() -> list[Any]:
        rng = np.random.default_rng(number)
        a, b = rng.uniform(0.2, 1.8, 2).tolist()
        return [a, b, rng.uniform(-1.0, 1.0, 3), rng.uniform(-1.0, 1.0, 3), number % 4]

    return Program(grammar.generate(seed, number), "f", made, {})


def load(program: Program, path: Path) -> Callable[..., Any]:
    path.write_text(program.source)
    module = types.ModuleType(path.stem)
    vars(module).update(program.globals, __name__=path.stem, __file__=str(path))
    sys.modules[path.stem] = module
    exec(compile(program.source, str(path), "exec"), vars(module))
    return vars(module)[program.name]


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise Slow(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def plain(f: Callable[..., Any], args: list[Any]) -> Outcome:
    """The outcome under plain Python; raises TimeoutError after a time limit."""
    try:
        return Outcome(value=bounded(f, args), after=args)
    except TimeoutError:
        raise
    except Exception as error:
        return Outcome(error=error, after=args)


def compiled(f: Callable[..., Any], args: list[Any]) -> Outcome:
    try:
        return Outcome(value=f(*args), after=args)
    except Exception as error:
        return Outcome(error=error, after=args)


def same(a: Any, b: Any) -> bool:
    """True if two results are equal in structure and, within rounding, in value."""
    if isinstance(a, (tuple, list)) or isinstance(b, (tuple, list)):
        alike = isinstance(a, (tuple, list)) and isinstance(b, (tuple, list))
        alike = alike and isinstance(a, list) == isinstance(b, list)
        return alike and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) or isinstance(b, dict):
        if not (isinstance(a, dict) and isinstance(b, dict)) or list(a) != list(b):
            return False
        return all(same(a[k], b[k]) for k in a)
    if isinstance(a, (str, bytes, type(None))) or isinstance(b, (str, bytes, type(None))):
        return type(a) is type(b) and a == b
    numbers = (int, float, complex, np.generic, np.ndarray)
    if isinstance(a, numbers) and isinstance(b, numbers):
        p, q = np.asarray(a), np.asarray(b)
        if p.dtype.kind not in "biufc" or q.dtype.kind not in "biufc" or p.shape != q.shape:
            return p.shape == q.shape and p.dtype.kind == q.dtype.kind
        return bool(np.allclose(p, q, rtol=1e-6, atol=1e-9, equal_nan=True))
    if type(a) is not type(b) or isinstance(a, types.ModuleType):
        return a is b
    fields = getattr(a, "__dict__", None)
    return fields is None or same(dict(fields), dict(vars(b)))


def refused(error: BaseException) -> bool:
    return isinstance(error, S2SError) and not isinstance(error, InternalCompilerError)


def inside(error: BaseException) -> str:
    """The location at which an error was raised."""
    cause = error.__cause__ or error
    frame = traceback.extract_tb(cause.__traceback__)[-1]
    return f"{type(cause).__name__}: {cause} [{Path(frame.filename).name}:{frame.lineno}]"


def judge(program: Program, path: Path) -> tuple[str, str]:
    """("ok" | "error" | "refused" | "discarded" | "deviation" | "failed", reason)"""
    f = load(program, path)
    if _ARBITRARY.search(program.source.replace(grammar.HEADER, "")):
        return "discarded", "not determined"
    try:
        with time_limit(SECONDS), np.errstate(all="ignore"):
            expected = plain(f, program.arguments())
    except (TimeoutError, Slow):
        return "discarded", "does not end in plain Python"
    try:
        with time_limit(SECONDS):
            function = s2s.function(f, backend="loops", static_argnames=program.static)
            actual = compiled(function, program.arguments())
            verdict = compare(expected, actual)
            if verdict[0] == "ok":
                verdict = compare_gradient(program, f, expected)
    except Slow as error:
        if isinstance(expected.error, DEVIATIONS):
            return "deviation", "a loop that an error would have ended"
        return "failed", f"slow: {error}"
    return verdict


def compare(expected: Outcome, actual: Outcome) -> tuple[str, str]:
    error = actual.error
    if error is not None:
        if isinstance(error, InternalCompilerError):
            return "failed", f"internal: {inside(error)}"
        if refused(error):
            return "refused", str(error).splitlines()[0].split(": ", 1)[-1]
        if expected.error is not None:
            return "error", type(error).__name__
        if "so its result is None" in str(error):
            return "refused", "a function that ends without a return"
        return "failed", f"raises: {inside(error)}"
    if expected.error is not None:
        kind = type(expected.error).__name__
        if isinstance(expected.error, DEVIATIONS) or _ACCEPTED.search(str(expected.error)):
            return "deviation", kind
        return "failed", f"no error: {kind}: {expected.error}"
    if isinstance(expected.value, complex) and actual.value != actual.value:
        return "deviation", "a root of a negative number"
    if not same(expected.value, actual.value):
        return "failed", f"value: {expected.value!r} became {actual.value!r}"
    if not same(expected.after, actual.after):
        return "failed", f"arguments: {expected.after!r} became {actual.after!r}"
    return "ok", ""


def compare_gradient(program: Program, f: Callable[..., Any], run: Outcome) -> tuple[str, str]:
    """Compare the gradient along a direction, if the value is a finite float and the differences
    converge."""
    value = run.value
    if not isinstance(value, (float, np.floating)) or not np.isfinite(value):
        return "ok", ""
    args = program.arguments()
    floats = [
        k
        for k, a in enumerate(args)
        if isinstance(a, float) or (isinstance(a, np.ndarray) and a.dtype == np.float64)
    ]
    if not floats or _SYMMETRIC.search(program.source):
        return "ok", ""
    names = f.__code__.co_varnames
    wrt = tuple(names[k] for k in floats)
    if f.__code__.co_flags & inspect.CO_VARARGS:
        return "ok", ""  # their names are not those of the arguments
    gradient = s2s.grad(f, wrt=wrt, backend="loops", static_argnames=program.static)
    actual = compiled(gradient, program.arguments())
    if actual.error is not None:
        if refused(actual.error):
            return "refused", str(actual.error).splitlines()[0].split(": ", 1)[-1]
        return "failed", f"gradient raises: {inside(actual.error)}"
    rng = np.random.default_rng(0)
    direction = {k: rng.normal(size=np.shape(args[k])) for k in floats}
    slope = sum(float(np.sum(g * direction[k])) for g, k in zip(actual.value, floats))

    def moved(h: float) -> float:
        args = program.arguments()
        for k, v in direction.items():
            args[k] = float(args[k] + h * v) if isinstance(args[k], float) else args[k] + h * v
        return float(f(*args))

    try:
        with np.errstate(all="ignore"):
            slopes = [(moved(h) - moved(-h)) / (2 * h) for h in (1e-4, 3e-5, 1e-5, 3e-6)]
    except Exception:
        return "ok", ""
    scale = max(1.0, abs(slopes[0]), abs(value))
    steady = np.all(np.isfinite(slopes)) and max(slopes) - min(slopes) < 1e-4 * scale
    if steady and not all(abs(slope - s) < 1e-3 * scale for s in slopes):
        if _MISLEADING.search(program.source):
            return "ok", ""
        return "failed", f"gradient: {slopes[1]} became {slope}"
    return "ok", ""


@dataclass
class Report:
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, 0)  # (seconds, number)

    def text(self) -> str:
        lines = [f"---- program {n}: {why}\n{source}" for n, why, source in self.failures]
        total = sum(self.counts.values())
        counts = ", ".join(f"{n} {k}" for k, n in self.counts.most_common())
        slowest = f"slowest {self.slowest[0]:.1f} s (program {self.slowest[1]})"
        return "\n".join([*lines, f"{total} programs: {counts}; {slowest}"])


def run(
    count: int, seed: int = 0, first: int = 0, progress: bool = False, most: int = 20
) -> Report:
    """Run the programs; stop after `most` kinds of failure."""
    report, mutator = Report(), Mutator()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, first + count):
            made = program(seed, number, mutator)
            path = Path(folder) / f"front_{seed}_{number}.py"
            started = time.monotonic()
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    kind, why = judge(made, path)
            except RecursionError:
                kind, why = "failed", "RecursionError in the judge"
            report.slowest = max(report.slowest, (time.monotonic() - started, number))
            sys.modules.pop(path.stem, None)
            linecache.clearcache()
            path.unlink()
            report.counts[kind] += 1
            if kind == "failed":
                signature = why.split(" became ")[0][:60] if ": " in why else why
                report.kinds[signature] += 1
                if report.kinds[signature] == 1:
                    text = made.source.replace(grammar.HEADER, "")
                    report.failures.append((number, why, text))
                    if progress:
                        print(f"---- program {number}: {why}\n{text}", flush=True)
            if progress and number % 50 == 49:
                print(f"{number - first + 1}/{count}: {dict(report.counts)}", file=sys.stderr)
            if len(report.kinds) >= most:
                break
    return report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.frontend", description=__doc__)
    parser.add_argument("--n", type=int, default=500, help="how many programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--most", type=int, default=20, help="stop after so many failures")
    options = parser.parse_args()
    report = run(options.n, options.seed, options.first, progress=True, most=options.most)
    print(report.text().splitlines()[-1])
    return 1 if report.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
