"""Special functions: functions of `math` and `scipy.special` without a NumPy ufunc."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import is_float
from ...ir.op_registry import surface
from ...runtime import special_functions as functions
from ..axes_and_sizes import constant_value, unsupported_error
from ..declare import as_numpy_scalar, as_operand, elementwise, scipy_operands
from ..operation_text import TextRule, by_weakness, call

ROOT_PI = math.sqrt(math.pi)
# Library programs (`rules/library`) call the functions of this module, also on arrays.
RUNTIME_PATH = functions.__name__


def by_element(function: Callable[..., float]) -> Callable[..., Any]:
    """A scalar function applied elementwise: computed in float64, cast to the operands' dtype."""
    each = np.vectorize(function, otypes=[float])

    def evaluate(*args: Any) -> Any:
        floats = [a for a in args if np.asarray(a).dtype.kind == "f"] or args[-1:]
        dtype = np.exp(np.zeros(0, np.result_type(*floats))).dtype
        return each(*args).astype(dtype)[()]

    return evaluate


def _operation(name: str, function: Callable[..., float]) -> Callable[..., Any]:
    """The function on scalars, arrays and Syms, for use in the partials of other functions."""
    evaluate = by_element(function)

    def apply(*args: Any) -> Any:
        for x in args:
            if isinstance(x, Sym):
                return x.b.emit(name, *args)
        return evaluate(*args)

    return apply


def _text(name: str, of_math: str = "") -> TextRule:
    scipy = call(f"special.{name}")
    return by_weakness(call(f"math.{of_math}"), scipy) if of_math else scipy


# ---------------------------------------------------------------- the normal distribution


@elementwise(
    "math.erf",
    "scipy.special.erf",
    evaluate=by_element(math.erf),
    python=True,
    text=_text("erf", "erf"),
)
def erf(x):
    return 2.0 / ROOT_PI * np.exp(-(x * x))


@elementwise(
    "math.erfc",
    "scipy.special.erfc",
    f"{RUNTIME_PATH}.erfc",
    evaluate=by_element(functions.erfc),
    python=True,
    text=_text("erfc", "erfc"),
)
def erfc(x):
    return -2.0 / ROOT_PI * np.exp(-(x * x))


@elementwise(
    "scipy.special.erfcx",
    f"{RUNTIME_PATH}.erfcx",
    evaluate=by_element(functions.erfcx),
    text=_text("erfcx"),
)
def erfcx(x, *, out):
    return 2.0 * x * out - 2.0 / ROOT_PI


@elementwise(
    "scipy.special.erfinv",
    evaluate=by_element(functions.erfinv),
    text=_text("erfinv"),
    singular=True,
)
def erfinv(x, *, out):
    return 0.5 * ROOT_PI * np.exp(out * out)


@elementwise(
    "scipy.special.erfcinv",
    evaluate=by_element(functions.erfcinv),
    text=_text("erfcinv"),
    singular=True,
)
def erfcinv(x, *, out):
    return -0.5 * ROOT_PI * np.exp(out * out)


@elementwise(
    "scipy.special.ndtri",
    f"{RUNTIME_PATH}.ndtri",
    evaluate=by_element(functions.ndtri),
    text=_text("ndtri"),
    singular=True,
)
def ndtri(x, *, out):
    return math.sqrt(2.0 * math.pi) * np.exp(0.5 * out * out)


@elementwise("scipy.special.expit", evaluate=by_element(functions.expit), text=_text("expit"))
def expit(x, *, out):
    return out * (1.0 - out)


# ---------------------------------------------------------------- gamma

_digamma = _operation("digamma", functions.digamma)
_polygamma = _operation("polygamma", functions.polygamma)


@elementwise(
    "math.lgamma",
    "scipy.special.gammaln",
    f"{RUNTIME_PATH}.lgamma",
    evaluate=by_element(functions.lgamma),
    python=True,
    text=_text("gammaln", "lgamma"),
    singular=True,
)
def lgamma(x):
    return _digamma(x)


@elementwise(
    "math.gamma",
    "scipy.special.gamma",
    f"{RUNTIME_PATH}.gamma",
    evaluate=by_element(functions.gamma),
    python=True,
    text=_text("gamma", "gamma"),
    singular=True,
)
def gamma(x, *, out):
    return out * _digamma(x)


@elementwise(
    "scipy.special.digamma",
    "scipy.special.psi",
    evaluate=by_element(functions.digamma),
    text=_text("digamma"),
    singular=True,
)
def digamma(x):
    return _polygamma(1, x)


@elementwise(
    order=True, evaluate=by_element(functions.polygamma), text=_text("polygamma"), singular=True
)
def polygamma(n, x):
    return 0, _polygamma(n + 1, x)


@elementwise(
    "scipy.special.betaln",
    f"{RUNTIME_PATH}.betaln",
    evaluate=by_element(functions.betaln),
    text=_text("betaln"),
    singular=True,
)
def betaln(a, b):
    joint = _digamma(a + b)
    return _digamma(a) - joint, _digamma(b) - joint


@elementwise(
    "scipy.special.beta",
    evaluate=by_element(functions.beta),
    text=_text("beta"),
    singular=True,
)
def beta(a, b, *, out):
    joint = _digamma(a + b)
    return out * (_digamma(a) - joint), out * (_digamma(b) - joint)


# ---------------------------------------------------------------- Bessel functions

_jv = _operation("jv", functions.jv)
_iv = _operation("iv", functions.iv)
_ive = _operation("ive", functions.ive)


@elementwise(order=True, evaluate=by_element(functions.jv), text=_text("jv"))
def jv(n, x):
    return 0, 0.5 * (_jv(n - 1, x) - _jv(n + 1, x))


@elementwise(order=True, evaluate=by_element(functions.iv), text=_text("iv"))
def iv(n, x):
    return 0, 0.5 * (_iv(n - 1, x) + _iv(n + 1, x))


@elementwise(
    order=True, evaluate=by_element(functions.ive), text=_text("ive"), kinks="as abs(x) at 0"
)
def ive(n, x, *, out):
    return 0, 0.5 * (_ive(n - 1, x) + _ive(n + 1, x)) - np.sign(x) * out


# ---------------------------------------------------------------- surfaces


def _of_order(name: str, what: str, *paths: str) -> None:
    @surface(*paths)
    def build(b: Builder, n: Any, x: Any) -> Sym:
        order = constant_value(b.sym(n)) if not isinstance(n, (int, float)) else n
        if isinstance(order, float) and order == int(order):
            order = int(order)
        if isinstance(order, float) or (isinstance(order, Sym) and is_float(order.type)):
            raise unsupported_error(
                b, f"{paths[0]} whose {what} is no integer", f"give it an int as {what}"
            )
        value = as_operand(b, x)
        if name == "polygamma":  # SciPy computes it in float64
            value = value.astype("float64")
        else:
            value = scipy_operands([b.sym(order), value], True)[1]
        return as_numpy_scalar(b.emit(name, order, value))


def _of_fixed_order(path: str, name: str, order: int) -> None:
    @surface(path)
    def build(b: Builder, x: Any) -> Sym:
        # SciPy has separate functions of orders 0 and 1, which return float64 for integers.
        return as_numpy_scalar(b.emit(name, order, *scipy_operands([as_operand(b, x)], False)))


_of_order("polygamma", "order", "scipy.special.polygamma")
_of_order("jv", "order", "scipy.special.jv", "scipy.special.jn")
_of_order("iv", "order", "scipy.special.iv")
_of_order("ive", "order", "scipy.special.ive")
for _order in (0, 1):
    _of_fixed_order(f"scipy.special.j{_order}", "jv", _order)
    _of_fixed_order(f"scipy.special.i{_order}", "iv", _order)
    _of_fixed_order(f"scipy.special.i{_order}e", "ive", _order)
_of_fixed_order("numpy.i0", "iv", 0)
