"""Runs programs of `sizes_programs` on every pair of extreme integers and compares with NumPy.

    python -m tests.attack.sizes_run numba read write …

The array is the middle of a larger one, whose other elements must not change.  It runs in its own
process, so that a signal fails one test and does not end the run.  Prints the failures and the
number of cases.
"""

from __future__ import annotations

import itertools
import random
import sys
import warnings
from typing import Any

import numpy as np

import s2s
from tests.attack import sizes_programs as programs
from tests.scale import count

LARGE = 1 << 46  # no array is as long as this
N = 12
NEAR = [0, 1, 2, 3, 4, 5, N - 1, N, N + 1]
FAR = [2**31, 2**62, 2**62 + 1, 2**63 - 1]
NUMBERS = [*NEAR, *(-n for n in NEAR[1:]), *FAR, *(-n for n in FAR), -(2**63)]
STEPS = [1, 2, 3, N, 2**31, 2**62, 2**63 - 1, 0]
STEPS += [-s for s in STEPS if s] + [-(2**63)]
GUARD = 1e100


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except (MemoryError, ValueError):
        return ValueError  # NumPy distinguishes "too large" from "larger than memory"
    except (IndexError, OverflowError) as error:
        return type(error)


REFUSED = Exception  # any exception


def expected(function: Any, x: Any, numbers: tuple[int, ...]) -> Any:
    if function in programs.SHAPES:
        # What NumPy does with the largest numbers differs, and some of it crashes.
        if max(numbers) > LARGE:
            return REFUSED
    return outcome(function, x, *numbers)


def cases(function: Any) -> list[tuple[int, ...]]:
    numbers = NUMBERS
    if function in programs.SHAPES:
        numbers = [n for n in NUMBERS if abs(n) != 2**31]  # it may fit into memory
    if function is programs.loop_ahead:
        numbers = [n for n in NUMBERS if n < 2**31]
    found: list[tuple[int, ...]] = list(itertools.product(numbers, repeat=2))
    if function in programs.STEPPED:
        found = [(a, b, c) for a, b in found for c in STEPS]
    most = count(150, len(found))
    return found if len(found) <= most else random.Random(0).sample(found, most)


def differs(want: Any, got: Any) -> bool:
    if isinstance(want, type) or isinstance(got, type):
        return not isinstance(got, type) if want is REFUSED else want is not got
    return not np.allclose(want, got)


def slope(function: Any, x: Any, numbers: tuple[int, ...]) -> float:
    """The directional derivative along ones.  The functions are polynomials of degree two, at most
    four, for which these differences are exact."""
    h = 0.25
    f = [function(x + k * h, *numbers) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)


def judge(function: Any, backend: str) -> tuple[int, list[str]]:
    value = s2s.function(function, backend=backend)
    gradient = s2s.value_and_grad(function, backend=backend)
    made, wrong = 0, []
    for numbers in cases(function):
        around = np.full(3 * N, GUARD)
        x = around[N : 2 * N]
        x[:] = np.linspace(0.5, 1.5, N)
        want = expected(function, x.copy(), numbers)
        got = outcome(value, x, *numbers)
        both: Any = outcome(gradient, x, *numbers)
        if function in programs.WRAPPING:
            bad = isinstance(got, type) != isinstance(both, type)
        else:
            bad = differs(want, got) or differs(want, both if isinstance(both, type) else both[0])
            if not bad and not isinstance(both, type):
                bad = differs(slope(function, x.copy(), numbers), np.sum(both[1]))
        touched = (around[:N] != GUARD).any() or (around[2 * N :] != GUARD).any()
        if bad or touched:
            wrong.append(f"{function.__name__}{numbers}: {want} is {got}, {both} {touched=}")
        made += 1
    return made, wrong


def main(backend: str, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    made = 0
    for name in names:
        print(name, flush=True)
        some, wrong = judge(getattr(programs, name), backend)
        made += some
        for line in wrong[:20]:
            print("WRONG", line, flush=True)
    print(f"{made} cases")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
