"""Elementary functions as they are emitted, called from Python for single numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from s2s.codegen import value_types as types
from s2s.codegen.elementary.vector_ops import FloatBuilder, FloatValue
from tests.s2s.codegen.machine_code import DOUBLE, FLOAT, emitted

BITS = (64, 32)
_TYPES = {64: (types.float64, DOUBLE), 32: (types.float32, FLOAT)}


def dtype(bits: int) -> Any:
    return np.dtype(f"float{bits}").type


@functools.cache
def scalar(function: Callable[..., Any], bits: int, count: int = 1) -> Callable[..., Any]:
    """What `function(kit, x, …)` computes, for numbers of so many bits.  A function that returns a
    value of LLVM must return one of the same type."""
    kind, number = _TYPES[bits]

    def write(builder: Any, *args: Any) -> Any:
        kit = FloatBuilder(builder, kind)
        found = function(kit, *(FloatValue(kit, a) for a in args))
        return found.value if isinstance(found, FloatValue) else found

    run = emitted(number, [number] * count, write)
    return lambda *args: dtype(bits)(run(*map(float, args)))


def ulps(found: Any, exact: Any) -> float:
    """The distance from an exact value in units of the last place."""
    kind = type(found)
    with mpmath.workdps(60):
        rounded = kind(float(exact))
        if not np.isfinite(rounded) or not np.isfinite(found):
            same = found == rounded or (np.isnan(found) and np.isnan(rounded))
            return 0.0 if same else float("inf")
        spacing = np.spacing(max(abs(rounded), np.finfo(kind).tiny))
        return float(abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(float(spacing)))


def worst(function: Any, exact: Any, points: Any, bits: int) -> float:
    """The largest error over some points, or pairs of points."""
    rows = [np.atleast_1d(p) for p in points]
    run = scalar(function, bits, len(rows[0]))
    with mpmath.workdps(60):
        return max(
            ulps(run(*row), exact(*(mpmath.mpf(float(dtype(bits)(v))) for v in row)))
            for row in ([dtype(bits)(v) for v in row] for row in rows)
        )


def same(a: Any, b: Any) -> bool:
    """The same number, with the same sign of 0, or both nan."""
    return bool((a == b and np.signbit(a) == np.signbit(b)) or (np.isnan(a) and np.isnan(b)))
