"""The largest errors of the elementary functions of compiled code: `make accuracy`.

Compares millions of results with those of a format with eleven (for float64) or twenty-nine (for
float32) more bits of precision, and writes the table in docs/accuracy.md. Where NumPy has no wider
format for a function, mpmath computes a smaller number of reference values.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from scipy import special

import s2s
from s2s.backends.backends import run_text

PAGE = Path(__file__).resolve().parent.parent / "docs" / "accuracy.md"
START, END = "<!-- table -->\n", "<!-- end -->\n"
CHUNK = 1 << 19
ONE = (
    "exp exp2 expm1 sinh cosh tanh log log2 log10 log1p arcsinh arccosh arctanh sin cos tan arcsin "
    "arccos arctan cbrt erf erfc expit"
).split()
TWO = ["power", "hypot", "arctan2"]


def compiled(name: str) -> Callable[..., Any]:
    owner = "np" if hasattr(np, name) else "special"
    arguments = "x, y" if name in TWO else "x"
    text = f"def {name}_of({arguments}):\n    return {owner}.{name}({arguments})\n"
    space: dict[str, Any] = {"np": np, "special": special}
    return s2s.function(run_text(text, f"<{name}>", space)[f"{name}_of"], backend="numba")


def exact(name: str, arguments: list[Any]) -> Any:
    """In a longer format."""
    long = np.longdouble if arguments[0].dtype == np.float64 else np.float64
    given = [a.astype(long) for a in arguments]
    if name == "expit":
        return 1 / (1 + np.exp(-given[0]))
    if hasattr(np, name):
        return getattr(np, name)(*given)
    if long is np.float64:
        return getattr(special, name)(*given)
    function = getattr(mpmath, name)
    with mpmath.workprec(120):
        # Beyond the clip all results are the same, and mpmath gives up.
        each = [_long(function(mpmath.mpf(x))) for x in np.clip(arguments[0], -99, 99).tolist()]
    return np.array(each, np.longdouble)


def _long(x: Any) -> Any:
    if not mpmath.isfinite(x):
        return np.longdouble(float(x))
    high = float(x)
    return np.longdouble(high) + np.longdouble(float(x - high))


def arguments(name: str, dtype: Any, count: int) -> Iterator[list[Any]]:
    """Bit patterns, numbers of usual size, numbers close to 1, and those among which functions turn
    from one formula to the next."""
    rng = np.random.default_rng(0)
    form = np.finfo(dtype)
    slow = dtype is np.float64 and not hasattr(np, name) and name != "expit"
    left = count // 100 if slow else count
    while left > 0:
        size = min(CHUNK, left)
        left -= size
        found = []
        for _ in range(2 if name in TWO else 1):
            raw = rng.integers(0, 2**form.bits, size, np.uint64)
            bits = raw.astype(f"uint{form.bits}").view(dtype)
            usual = (rng.normal(size=size) * np.exp(rng.uniform(-4, 4, size))).astype(dtype)
            close = (1 + rng.normal(size=size) * np.exp(rng.uniform(-12, 0, size))).astype(dtype)
            turning = rng.uniform(-1.6, 1.6, size).astype(dtype)
            which = rng.integers(0, 4, size)
            found.append(np.choose(which, [bits, usual, close, turning]))
        if name == "power":  # results should be in range
            ends = np.log(float(form.max)) / np.abs(np.log(np.abs(found[0].astype(np.float64))))
            inside = (rng.uniform(-1.05, 1.02, size) * ends).astype(dtype)
            found[1] = np.where(rng.random(size) < 0.8, inside, found[1])
            found[0] = np.where(rng.random(size) < 0.9, np.abs(found[0]), found[0])
        yield found


def errors(got: Any, want: Any) -> Any:
    """In units in the last place of the exact value; infinite where only one is finite."""
    form = np.finfo(got.dtype)
    _, exponent = np.frexp(want)
    exponent = np.maximum(exponent - 1, form.minexp) - form.nmant
    off = np.abs(got.astype(want.dtype) - want) / np.ldexp(want.dtype.type(1), exponent)
    # What rounds to infinity is not finite in the shorter format.
    rounded = want.astype(got.dtype)
    beside = ~np.isfinite(rounded) | ~np.isfinite(got)
    same = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
    almost = np.isinf(rounded) & (np.abs(got) == form.max) | np.isinf(got) & (off <= 2)
    near = np.isinf(got) & (np.abs(rounded) == form.max)
    return np.where(beside, np.where(same | almost | near, 0.0, np.inf), off).astype(float)


def worst(name: str, dtype: Any, count: int) -> tuple[float, list[float]]:
    function = compiled(name)
    found, where = 0.0, [0.0]
    with np.errstate(all="ignore"):
        for given in arguments(name, dtype, count):
            off = errors(function(*given), exact(name, given))
            i = int(np.argmax(off))
            if off[i] > found:
                found, where = float(off[i]), [float(a[i]) for a in given]
    return found, where


def table(count: int, names: list[str]) -> str:
    lines = ["| function | float64 | float32 |", "| --- | --- | --- |"]
    for name in names:
        row = []
        for dtype in (np.float64, np.float32):
            found, where = worst(name, dtype, count)
            row.append(f"{found:.2f}")
            print(f"{name} {dtype.__name__} {found:.3f} at {where}", flush=True)
        lines.append(f"| `{name}` | {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=5_000_000, help="for each function")
    parser.add_argument("--only", default="", help="names, separated by commas; writes nothing")
    options = parser.parse_args()
    if np.finfo(np.longdouble).nmant < 63:
        print("this machine has no floats that are longer than float64", file=sys.stderr)
        return 1
    made = table(options.points, options.only.split(",") if options.only else ONE + TWO)
    if options.only:
        return 0
    page = PAGE.read_text()
    before, rest = page.split(START)
    _, after = rest.split(END)
    PAGE.write_text(before + START + made + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
