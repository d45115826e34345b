"""Conversion of arguments by TensorFlow's rules: Python scalars and lists become float32 or int32,
or take the dtype of the other operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objects.variable import Variable

# Types that have a dtype.
TYPED = (np.ndarray, np.generic, Variable)


def given(value: Any, dtype: Any = None) -> Any:
    """An array, NumPy scalar or Variable as it is; lists and Python scalars as arrays."""
    return value if isinstance(value, TYPED) else made(value, dtype)


def made(value: Any, dtype: Any = None) -> Any:
    """An array; by default, float64 becomes float32 and int64 becomes int32."""
    found = np.asarray(value)
    if dtype is None:
        dtype = {"float64": np.float32, "int64": np.int32}.get(found.dtype.name, found.dtype)
    return np.asarray(value, dtype)


def alike(x: Any, y: Any) -> Any:
    """A pair of operands; a list is converted to the dtype of the other operand.  Lists and Python
    scalars among themselves become arrays of one dtype."""
    if not isinstance(x, TYPED) and not isinstance(y, TYPED):
        one, other = given(x), given(y)
        if one.dtype == other.dtype:
            return one, other
        return made(x, np.float32), made(y, np.float32)
    if isinstance(x, (list, tuple)):
        return made(x, y.dtype), y
    if isinstance(y, (list, tuple)):
        return x, made(y, x.dtype)
    return x, y


def filled(x: Any, y: Any) -> Any:
    """As `alike`, where both must be arrays: a Python scalar is broadcast to the dtype and shape of
    the other operand."""
    x, y = alike(x, y)
    if isinstance(x, (int, float)):
        x = np.zeros_like(y) + x
    if isinstance(y, (int, float)):
        y = np.zeros_like(x) + y
    return x, y


def dtype_of(*numbers: Any) -> Any:
    """The dtype of a range or fill: that of the first typed argument, else float32, int32 or
    bool."""
    for x in numbers:
        if isinstance(x, TYPED):
            return x.dtype
    for x in numbers:
        if isinstance(x, float):
            return np.float32
    return np.bool_ if isinstance(numbers[0], bool) else np.int32


def in_floats(x: Any) -> Any:
    """Integers and booleans as float32, as Keras activations convert them."""
    return x if x.dtype.kind == "f" else x.astype(np.float32)
