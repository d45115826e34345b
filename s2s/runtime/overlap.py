"""Whether arrays, or the elements of one array, share memory."""

from __future__ import annotations

from typing import Any

import numpy as np


def overlap(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=10_000))  # type: ignore[arg-type]
    except Exception:  # too hard to tell
        return True


def overlaps_itself(a: Any) -> bool:
    """Whether elements of an array may share memory, as in a broadcast or sliding-window view.
    False for all arrays that indexing, transposing and reshaping give, and for other objects."""
    if not isinstance(a, np.ndarray) or a.flags.forc or not a.size:
        return False
    extent = a.itemsize
    for stride, size in sorted((abs(s), n) for s, n in zip(a.strides, a.shape) if n > 1):
        if stride < extent:
            return True
        extent += stride * (size - 1)
    return False
