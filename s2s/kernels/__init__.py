"""What lowered code calls at run time, besides NumPy's scalar functions.

Here in plain Python, for `backend="loops"`.  `s2s.kernels_numba.scalar` tells Numba how to compile
each of them; it must be imported before lowered code is compiled.
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
from . import random as draws  # noqa: F401


class Failure(Exception):
    """An error of the user's program whose message holds run-time values: `args` are the
    site, which tells how to phrase it, and the values."""


def show(template: str, dtypes: str, *values: Any) -> None:
    """Prints; compiled code hands over Python numbers, which get their dtypes back."""
    told = [
        v if dtype == "array" else np.dtype(dtype).type(v)
        for dtype, v in zip(dtypes.split(), values)
    ]
    print(template.format(*told), end="")


# ---------------------------------------------------------------- products


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
    """An array as the argument of a call inside a program: of a type that is read only, so that
    a function is compiled once for all arrays it is given."""
    return a


def reserve(buffer: Any, used: int, more: int) -> Any:
    """A buffer that holds the first `used` elements and has room for `more`."""
    if used + more <= buffer.shape[0]:
        return buffer
    longer = np.empty(2 * (used + more) + 8, buffer.dtype)
    for i in range(used):
        longer[i] = buffer[i]
    return longer


# ---------------------------------------------------------------- threads

# A loop whose rounds compiled code may run at once.
prange = range

# So many chunks are enough for any machine; few enough to add their results up quickly.  Lowered
# code relies on it.
CHUNKS = 64
# With so many rows there is no need to cut across them.
ROWS = 16
# So many elements may the chunks of a loop hold apart, in more than two of them.
ROOM = 1 << 20


def chunks(trips: int, work: int, least: int, held: int) -> int:
    """How many chunks to split a loop into, so that each does at least so much of the work that
    counts; it holds so many elements apart.  They must not depend on the machine: they decide in
    which order numbers are added."""
    if work < 2 * least:
        return 1
    most = max(2, ROOM // max(1, held))
    return max(1, min(trips, CHUNKS, most, work // least))


def across(rows: int, width: int, trips: int, work: int, least: int, held: int) -> int:
    """How many parts to cut each of the chunks of a loop over few rows into."""
    if rows < trips or rows >= ROWS:
        return 1
    most = min(CHUNKS, max(2, ROOM // max(1, held))) // rows
    return max(1, min(width, most, work // (least * rows)))


# ---------------------------------------------------------------- integers


# The largest integer of 64 bits.
MOST = (1 << 63) - 1


def stack_limit(reserve: int) -> int:
    """The lowest address for the frame of a function.  CPython has a limit of its own."""
    return 0


def stack_is_low(limit: int) -> bool:
    """Whether the stack has reached that address."""
    return False


def trip_count(start: int, stop: int, step: int) -> int:
    """How many numbers range(start, stop, step) has; MOST if they are more."""
    start, stop, step = int(start), int(stop), int(step)
    span = stop - start if step > 0 else start - stop
    return min((span - 1) // abs(step) + 1, MOST) if span > 0 else 0


def arange_count(start: float, stop: float, step: float) -> int:
    """How many numbers arange(start, stop, step) has; -1 if that is not a number."""
    steps = (stop - start) / step
    if steps != steps:
        return -1
    if not steps < 2.0**62:
        return 1 << 62
    return int(math.ceil(steps)) if steps > 0 else 0


def slice_start(given: bool, start: int, n: int, step: int) -> int:
    """Where x[start::step] begins."""
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
    """Where x[:stop:step] ends; -1 is before the first."""
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
    """As NumPy's astype(int64): toward zero; nan and inf do not raise."""
    return np.asarray(x).astype(np.int64)[()]


def natural_power(x: Any, n: Any) -> Any:
    """Of integers, n >= 0; what does not fit is cut off."""
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


# ---------------------------------------------------------------- functions


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
    """A function of Python numbers as one of NumPy's."""

    def call(*args: Any) -> Any:
        return np.float64(function(*map(float, args)))

    call.__name__ = call.__qualname__ = function.__name__
    return call


for _function in special_functions.FUNCTIONS:
    globals()[_function.__name__] = _as_float64(_function)
