"""Arrays that share memory, and arrays with elements that do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def is_array(value: Any) -> bool:
    """True for an array on the host or on a device."""
    return isinstance(value, np.ndarray) or hasattr(type(value), "_s2s_device")


def overlap(a: Any, b: Any) -> bool:
    """True if two arrays share memory, or if the exact test takes too long."""
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return False  # the host and a device
        return a.address < b.address + b.nbytes and b.address < a.address + a.nbytes
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=10_000))  # type: ignore[arg-type]
    except Exception:  # the exact test exceeded max_work
        return True


def overlaps_itself(a: Any) -> bool:
    """True if elements of an array may share memory, as in a broadcast or sliding-window view.
    False for all results of indexing, transposing and reshaping, and for other objects."""
    if not isinstance(a, np.ndarray) or a.flags.forc or not a.size:
        return False
    extent = a.itemsize
    for stride, size in sorted((abs(s), n) for s, n in zip(a.strides, a.shape) if n > 1):
        if stride < extent:
            return True
        extent += stride * (size - 1)
    return False


def without_repeated_arrays(values: Iterable[Any]) -> list[Any]:
    """The values, with a copy in place of each array that begins where an earlier one does, as one
    that a kernel returns twice does."""
    seen: set[int] = set()
    distinct = []
    for value in values:
        if isinstance(value, np.ndarray):
            if value.__array_interface__["data"][0] in seen:
                value = value.copy()
            seen.add(value.__array_interface__["data"][0])
        distinct.append(value)
    return distinct
