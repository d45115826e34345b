"""Elementary functions, declared by their partials.

Constants are Python floats (weak scalars), so that float32 code stays float32."""

from __future__ import annotations

import math

import numpy as np

from ..declare import elementwise, strong_product

LN2 = math.log(2.0)
LN10 = math.log(10.0)

# ---------------------------------------------------------------- exponentials, logarithms


@elementwise("numpy.exp", "math.exp")
def exp(x, *, out):
    return out


@elementwise("numpy.exp2", "math.exp2", "scipy.special.exp2")
def exp2(x, *, out):
    return LN2 * out


@elementwise("numpy.expm1", "math.expm1", "scipy.special.expm1")
def expm1(x, *, out):
    return out + 1.0


@elementwise("numpy.log", singular=True)
def log(x):
    return 1.0 / x


@elementwise("numpy.log2", "math.log2", singular=True)
def log2(x):
    return 1.0 / (x * LN2)


@elementwise("numpy.log10", "math.log10", singular=True)
def log10(x):
    return 1.0 / (x * LN10)


@elementwise("numpy.log1p", "math.log1p", "scipy.special.log1p", singular=True)
def log1p(x):
    return 1.0 / (1.0 + x)


def _excess(x, out):
    """x - out; 0 where both are the same infinity."""
    return np.where(x == out, 0.0, x - out)


@elementwise("numpy.logaddexp", kinks="1 in both operands where both are -inf")
def logaddexp(x, y, *, out):
    return np.exp(_excess(x, out)), np.exp(_excess(y, out))


@elementwise("numpy.logaddexp2", kinks="as logaddexp")
def logaddexp2(x, y, *, out):
    return np.exp2(_excess(x, out)), np.exp2(_excess(y, out))


# ---------------------------------------------------------------- roots


@elementwise("numpy.sqrt", "math.sqrt", singular=True, kinks="inf at 0, 0 where its cotangent is 0")
def sqrt(x, *, out):
    return 1.0 / (2.0 * out)


@elementwise("numpy.cbrt", "math.cbrt", "scipy.special.cbrt", singular=True, kinks="as sqrt")
def cbrt(x, *, out):
    return 1.0 / (3.0 * (out * out))


@elementwise("numpy.square")
def square(x):
    return 2.0 * x


@elementwise("numpy.reciprocal", singular=True)
def reciprocal(x, *, out):
    return -out / x


@elementwise("numpy.hypot", kinks="0 at the origin")
def hypot(x, y, *, out):
    return strong_product(x, 1.0 / out), strong_product(y, 1.0 / out)


# ---------------------------------------------------------------- trigonometry


@elementwise("numpy.sin", "math.sin")
def sin(x):
    return np.cos(x)


@elementwise("numpy.cos", "math.cos")
def cos(x):
    return -np.sin(x)


@elementwise("numpy.tan", "math.tan")
def tan(x, *, out):
    return 1.0 + out * out


@elementwise("numpy.arcsin", "numpy.asin", "math.asin", singular=True)
def arcsin(x):
    return 1.0 / np.sqrt(1.0 - x * x)


@elementwise("numpy.arccos", "numpy.acos", "math.acos", singular=True)
def arccos(x):
    return -1.0 / np.sqrt(1.0 - x * x)


@elementwise("numpy.arctan", "numpy.atan", "math.atan")
def arctan(x):
    return 1.0 / (1.0 + x * x)


@elementwise("numpy.arctan2", "numpy.atan2", "math.atan2", singular=True)
def arctan2(y, x):
    square = x * x + y * y
    return x / square, -y / square


@elementwise("numpy.degrees", "numpy.rad2deg", "math.degrees")
def degrees(x):
    return 180.0 / math.pi


@elementwise("numpy.radians", "numpy.deg2rad", "math.radians")
def radians(x):
    return math.pi / 180.0


# ---------------------------------------------------------------- hyperbolic functions


@elementwise("numpy.sinh", "math.sinh")
def sinh(x):
    return np.cosh(x)


@elementwise("numpy.cosh", "math.cosh")
def cosh(x):
    return np.sinh(x)


@elementwise("numpy.tanh", "math.tanh")
def tanh(x, *, out):
    return 1.0 - out * out


@elementwise("numpy.arcsinh", "numpy.asinh", "math.asinh")
def arcsinh(x):
    return 1.0 / np.sqrt(1.0 + x * x)


@elementwise("numpy.arccosh", "numpy.acosh", "math.acosh", singular=True)
def arccosh(x):
    return 1.0 / np.sqrt(x * x - 1.0)


@elementwise("numpy.arctanh", "numpy.atanh", "math.atanh", singular=True)
def arctanh(x):
    return 1.0 / (1.0 - x * x)
