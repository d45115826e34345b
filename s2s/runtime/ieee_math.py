"""Python floats with IEEE 754 arithmetic as in compiled code: inf and nan instead of exceptions.

`Real` is a Python float (weak in NumPy's promotion) whose division, powers and remainders
follow IEEE 754; `math` replaces the module of that name.  `backend="python"` runs the
readable source with them, so that its results are those of compiled code.
"""

from __future__ import annotations

import math as _math
import types
from collections.abc import Callable
from typing import Any

import numpy as np


class Real(float):
    """A Python float that never raises in arithmetic."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*map(plain, inputs), **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*plain(args), **{k: plain(v) for k, v in kwargs.items()})


def plain(value: Any) -> Any:
    """The value with `Real` converted to float: only true Python floats are weak in NumPy's
    promotion."""
    if type(value) is Real:
        return float(value)
    if type(value) in (tuple, list):
        return type(value)(plain(v) for v in value)
    return value


def _wrap(value: Any) -> Any:
    return Real(value) if type(value) is float else value


def _binary(name: str, compute: Callable[[Any, Any], Any]) -> None:
    """Define an operator and its reflection.  For operands that are no Python scalars they return
    NotImplemented."""

    def forward(self: Real, other: Any) -> Any:
        if type(other) not in (Real, float, int, bool):
            return NotImplemented
        return Real(compute(np.float64(self), np.float64(other)))

    def backward(self: Real, other: Any) -> Any:
        if type(other) not in (Real, float, int, bool):
            return NotImplemented
        return Real(compute(np.float64(other), np.float64(self)))

    setattr(Real, f"__{name}__", forward)
    setattr(Real, f"__r{name}__", backward)


for _name, _compute in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
}.items():
    _binary(_name, _compute)


def _unary(name: str) -> None:
    compute = getattr(float, name)
    setattr(Real, name, lambda self: Real(compute(self)))


for _name in ("__neg__", "__pos__", "__abs__"):
    _unary(_name)


# ---------------------------------------------------------------- math

_UFUNCS = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atan2": np.arctan2, "atanh": np.arctanh, "cbrt": np.cbrt,
    "copysign": np.copysign, "cos": np.cos, "cosh": np.cosh, "degrees": np.degrees,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "fabs": np.fabs, "fmod": np.fmod,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "pow": np.float_power,
    "radians": np.radians, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh,
}  # fmt: skip


def _quiet(ufunc: np.ufunc) -> Callable[..., Real]:
    def call(*args: Any) -> Real:
        with np.errstate(all="ignore"):
            return Real(ufunc(*(np.float64(a) for a in args)))

    return call


def _log(x: Any, base: Any = None) -> Real:
    with np.errstate(all="ignore"):
        if base is None:
            return Real(np.log(np.float64(x)))
        return Real(np.log(np.float64(x)) / np.log(np.float64(base)))


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that NumPy lacks, without exceptions: inf at a pole or on overflow, nan for other
    arguments outside the domain."""

    def call(*args: Any) -> Any:
        try:
            return _wrap(function(*args))
        except OverflowError:
            return Real(_math.inf)
        except ValueError:
            return Real(_math.inf if _is_pole(function.__name__, args[0]) else _math.nan)

    return call


def _is_pole(name: str, x: Any) -> bool:
    if name == "gamma":
        return x == 0.0
    return name == "lgamma" and x <= 0.0 and x == int(x)


def _math_module() -> types.ModuleType:
    module = types.ModuleType("math", "math, with inf and nan instead of exceptions")
    for name in dir(_math):
        if not name.startswith("_"):
            original = getattr(_math, name)
            setattr(module, name, _wrap(original) if isinstance(original, float) else original)
    for name, ufunc in _UFUNCS.items():
        setattr(module, name, _quiet(ufunc))
    for name in ("erf", "erfc", "gamma", "lgamma", "hypot", "dist", "fsum", "ldexp"):
        setattr(module, name, _guarded(getattr(_math, name)))
    module.log = _log  # type: ignore[attr-defined]
    return module


math = _math_module()
