"""Arithmetic of the usual numbers, for which Numba need not be asked.

To be asked at all, Numba loads all it knows (`awake`), which takes longer than compiling a small
kernel.  Most kernels do no more than add, multiply, compare and convert floats, integers and truth
values, and call functions of our own.
"""

from __future__ import annotations

import operator
import types as python
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.registry import cpu_target
from numba.core.typing.templates import signature

from . import elementary

FLOATS = (types.float32, types.float64)
NUMBERS = (*FLOATS, types.int64)
_SAME = (operator.add, operator.sub, operator.mul)
_COMPARE = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def awake() -> None:
    """From here on Numba knows all it knows."""
    target: Any = cpu_target
    target.typing_context.refresh()
    target.target_context.refresh()


def resolve(function: Any, args: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """As of Numba's typing, for numbers of one of these types: what it knows a function by, and
    the signature."""
    first = args[0] if args else None
    if function is operator.not_ and first == types.boolean:
        return python.SimpleNamespace(typing_key=function), signature(first, first)
    if first not in NUMBERS or any(a is not first for a in args):
        return None
    result = None
    if len(args) == 1:
        if function is operator.neg:
            result = first
    elif len(args) == 2:
        if function in _SAME or (function is operator.truediv and first in FLOATS):
            result = first
        elif function in _COMPARE:
            result = types.boolean
    if isinstance(function, np.ufunc) and function.nin == len(args) and first in FLOATS:
        result = first if function in elementary.FUNCTIONS else None
    if result is None:
        return None
    return python.SimpleNamespace(typing_key=function), signature(result, *args)


def converted(builder: Any, value: Any, old: Any, new: Any) -> Any:
    """A number as one of another type, or None if Numba has to be asked."""
    if old == types.boolean and new in NUMBERS:
        integer = builder.zext(value, ir.IntType(64))
        return integer if new == types.int64 else builder.uitofp(value, _FLOAT[new])
    if old == types.int64 and new in FLOATS:
        return builder.sitofp(value, _FLOAT[new])
    if old in FLOATS and new in FLOATS:
        wider = new == types.float64
        return (builder.fpext if wider else builder.fptrunc)(value, _FLOAT[new])
    return None


_FLOAT = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
