"""Run-time functions that lowered code calls, besides NumPy's scalar functions.

The functions here are plain Python, for `backend="loops"`.  `s2s.kernels_numba.scalar` registers
their compiled versions with Numba; it must be imported before lowered code is compiled.

Start with this file, which has matrix products, growing lists, chunks of parallel loops, integer
and special functions.  `linalg.py`, `fft.py` and `random.py` have matrix functions, Fourier
transforms and random draws; `registry.py` maps routines to their compiled versions, `operations.py`
functions to their entries in the table of operations.  Lowered code uses this package under the
name `rt`.  May import `transforms`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..transforms.runtime import special_functions
from . import (
    fft,  # noqa: F401
    linalg,  # noqa: F401
)


def __getattr__(name: str) -> Any:
    """`draws`, the module `random`, which few programs use; importing it takes 10 ms."""
    if name != "draws":
        raise AttributeError(name)
    from . import random

    globals()["draws"] = random
    return random


class Failure(Exception):
    """An error of the user's program whose message contains run-time values: `args` are the site,
    which has the template of the message, and the values."""


def show(template: str, dtypes: str, *values: Any) -> None:
    """Print values.  Compiled code passes Python scalars, which are converted to their dtypes."""
    typed = [
        v if dtype == "array" else np.dtype(dtype).type(v)
        for dtype, v in zip(dtypes.split(), values)
    ]
    print(template.format(*typed), end="")


# ---------------------------------------------------------------- matrix products


def gemm(swap_a: bool, swap_b: bool, alpha: Any, a: Any, b: Any, beta: Any, c: Any) -> None:
    """c = alpha * a @ b + beta * c, with `a` and `b` transposed first if so flagged.  All are
    C-contiguous; `c` shares no memory with the others."""
    product = np.dot(a.T if swap_a else a, b.T if swap_b else b)
    if alpha != 1:
        product = alpha * product
    if beta == 0:
        c[...] = product
    else:
        c *= beta
        c += product


def gemm_at(a: Any, rows: Any, columns: Any, b: Any, add: bool, c: Any) -> None:
    """c = A @ b, or c += A @ b, where A[i, p] is element rows[i] + columns[p] of `a` in C order.
    All are C-contiguous; `c` shares no memory with the others."""
    product = np.dot(a.reshape(-1)[rows[:, None] + columns], b)
    c[...] = c + product if add else product


# ---------------------------------------------------------------- lists


def lent(a: Any) -> Any:
    """An array as the argument of a call inside a program.  Its type is read-only, so that the
    callee is compiled once for writeable and read-only arrays."""
    return a


# No memory has room for so many elements.  Below it, sums and twice of capacities do not overflow.
MAX_CAPACITY = 1 << 60


def reserve(buffer: Any, used: int, more: int) -> Any:
    """A buffer with the first `used` elements and capacity for `more`."""
    if more <= buffer.shape[0] - used:
        return buffer
    if more > MAX_CAPACITY:
        raise MemoryError("Allocation failed (probably too large).")
    longer = np.empty(2 * (used + more) + 8, buffer.dtype)
    for i in range(used):
        longer[i] = buffer[i]
    return longer


# ---------------------------------------------------------------- threads

# A loop whose iterations compiled code may run in parallel.
prange = range

# Maximum number of chunks of a parallel loop: enough for any machine, and few enough to combine
# their results quickly.  Lowered code relies on it.
MAX_CHUNKS = 64
# From this many rows on, a loop is not split across its rows.
MIN_UNSPLIT_ROWS = 16
# Limit on the elements in private copies of all chunks of a loop, for more than two chunks.
MAX_PRIVATE_ELEMENTS = 1 << 20


def chunks(trips: int, work: int, least: int, held: int) -> int:
    """The number of chunks of a parallel loop.  Each chunk does at least `least` of the `work`, and
    has private copies of `held` elements.  The number must not depend on the machine: it
    determines the order of summation."""
    if work < 2 * least:
        return 1
    most = max(2, MAX_PRIVATE_ELEMENTS // max(1, held))
    return max(1, min(trips, MAX_CHUNKS, most, work // least))


def across(rows: int, width: int, trips: int, work: int, least: int, held: int) -> int:
    """The number of parts that each chunk of a loop over few rows is split into, across its
    `width`."""
    if rows < trips or rows >= MIN_UNSPLIT_ROWS:
        return 1
    most = min(MAX_CHUNKS, max(2, MAX_PRIVATE_ELEMENTS // max(1, held))) // rows
    return max(1, min(width, most, work // (least * rows)))


# ---------------------------------------------------------------- integers


# The largest int64.
INT64_MAX = (1 << 63) - 1


def stack_limit(reserve: int) -> int:
    """The lowest address at which a stack frame may start; 0 here, since CPython has a recursion
    limit of its own."""
    return 0


def stack_is_low(limit: int) -> bool:
    """True if the stack pointer is below the limit."""
    return False


def trip_count(start: int, stop: int, step: int) -> int:
    """The trip count of range(start, stop, step), at most INT64_MAX."""
    start, stop, step = int(start), int(stop), int(step)
    span = stop - start if step > 0 else start - stop
    return min((span - 1) // abs(step) + 1, INT64_MAX) if span > 0 else 0


def arange_count(start: float, stop: float, step: float) -> int:
    """The number of elements of arange(start, stop, step); -1 if it is nan."""
    steps = (stop - start) / step
    if steps != steps:
        return -1
    if not steps < 2.0**62:
        return 1 << 62
    return int(math.ceil(steps)) if steps > 0 else 0


def slice_start(given: bool, start: int, n: int, step: int) -> int:
    """The first index of x[start::step], for n elements."""
    if not given:
        return 0 if step > 0 else n - 1
    if start < 0:
        start += n
        if start < 0:
            return 0 if step > 0 else -1
    if start >= n:
        return n if step > 0 else n - 1
    return start


def slice_stop(given: bool, stop: int, n: int, step: int) -> int:
    """The end index of x[:stop:step], for n elements; -1 is before the first."""
    if not given:
        return n if step > 0 else -1
    if stop < 0:
        stop += n
        if stop < 0:
            return 0 if step > 0 else -1
    if stop >= n:
        return n if step > 0 else n - 1
    return stop


def to_int(x: Any) -> Any:
    """Conversion as by NumPy's astype(int64): truncation toward zero; nan and inf do not raise."""
    return np.asarray(x).astype(np.int64)[()]


def natural_power(x: Any, n: Any) -> Any:
    """x ** n of integers for n >= 0, with wraparound on overflow."""
    base: Any = x if isinstance(x, np.generic) else np.int64(x)
    out: Any = type(base)(1)
    n = int(n)
    while n > 0:
        if n & 1:
            out = out * base
        n >>= 1
        if n:
            base = base * base
    return out


# ---------------------------------------------------------------- scalar functions


def floor_divide(x: Any, y: Any) -> Any:
    return np.floor_divide(x, y)


def remainder(x: Any, y: Any) -> Any:
    return np.remainder(x, y)


def fmod(x: Any, y: Any) -> Any:
    return np.fmod(x, y)


def erf(x: Any) -> Any:
    return np.float64(math.erf(x))


def erfc(x: Any) -> Any:
    return np.float64(math.erfc(x))


def cbrt(x: Any) -> Any:
    return np.cbrt(x)


def sinc(x: Any) -> Any:
    return np.sinc(x)


def heaviside(x: Any, at_zero: Any) -> Any:
    return np.heaviside(x, at_zero)


def float_power(x: Any, y: Any) -> Any:
    return np.float_power(x, y)


# ---------------------------------------------------------------- special functions


def _as_float64(function: Any) -> Any:
    """A function of Python floats as one that takes any scalars and returns float64."""

    def call(*args: Any) -> Any:
        return np.float64(function(*map(float, args)))

    call.__name__ = call.__qualname__ = function.__name__
    return call


for _function in special_functions.FUNCTIONS:
    globals()[_function.__name__] = _as_float64(_function)
