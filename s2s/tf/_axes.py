"""Conversion of axis arguments: TensorFlow accepts lists where NumPy requires tuples."""

from __future__ import annotations

from typing import Any


def axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis
