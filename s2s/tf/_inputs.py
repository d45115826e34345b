"""Arguments as TensorFlow takes them: Python's numbers and lists become float32 and int32, or what
they meet has."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objects.variable import Variable

# What has a dtype of its own.
TYPED = (np.ndarray, np.generic, Variable)


def given(value: Any, dtype: Any = None) -> Any:
    """An array, number or Variable as it is; lists and Python's numbers as arrays."""
    return value if isinstance(value, TYPED) else made(value, dtype)


def made(value: Any, dtype: Any = None) -> Any:
    found = np.asarray(value)
    if dtype is None:
        dtype = {"float64": np.float32, "int64": np.int32}.get(found.dtype.name, found.dtype)
    return np.asarray(value, dtype)


def alike(x: Any, y: Any) -> Any:
    """A pair of operands: one that is a list has the other's dtype."""
    if isinstance(x, (list, tuple)) and isinstance(y, TYPED):
        return made(x, y.dtype), y
    if isinstance(y, (list, tuple)) and isinstance(x, TYPED):
        return x, made(y, x.dtype)
    return given(x) if isinstance(x, (list, tuple)) else x, (
        given(y) if isinstance(y, (list, tuple)) else y
    )


def filled(x: Any, y: Any) -> Any:
    """The same where both must be arrays: a Python number has the other's dtype and shape."""
    x, y = alike(x, y)
    if isinstance(x, (int, float)):
        x = np.zeros_like(y) + x
    if isinstance(y, (int, float)):
        y = np.zeros_like(x) + y
    return x, y


def dtype_of(*numbers: Any) -> Any:
    """The dtype of a range or fill: that of the first that has one, or float32, int32 or bool."""
    for x in numbers:
        if isinstance(x, TYPED):
            return x.dtype
    for x in numbers:
        if isinstance(x, float):
            return np.float32
    return np.bool_ if isinstance(numbers[0], bool) else np.int32


def in_floats(x: Any) -> Any:
    """Integers and truth values as float32, as activations of Keras take them."""
    return x if x.dtype.kind == "f" else x.astype(np.float32)
