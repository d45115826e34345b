"""Elementary functions that a loop computes for several elements at once.

A loop that calls the C library for each element is not vectorised.  These are sums, products and
choices only: the argument is reduced, a polynomial is evaluated, and both sides of every choice are
computed.  The error is below 2 units in the last place over the whole range, given a machine that
multiplies and adds in one step, and special values are those of NumPy
(`tests/s2s/machine/elementary/`; docs/accuracy.md has a table).

Reduction and recombination follow W. J. Cody and W. Waite, Software Manual for the Elementary
Functions (1980), and P. T. P. Tang's table-free variants; sums of two numbers follow T. J. Dekker
(1971); the polynomials are near-minimax fits (Chebyshev) of the functions named with them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from ... import kernels
from ..llvm_utils import new_function
from ..value_types import Callee, float64
from . import erf, exponential, inverse_trig, logarithm, trigonometric
from . import power as powers
from .vector_ops import FORMATS, Kit, Number

FUNCTIONS: dict[Any, Callable[..., Number]] = {
    np.exp: exponential.exp,
    np.exp2: exponential.exp2,
    np.expm1: exponential.expm1,
    np.sinh: exponential.sinh,
    np.cosh: exponential.cosh,
    np.tanh: exponential.tanh,
    kernels.expit: exponential.expit,  # type: ignore[attr-defined]
    np.log: logarithm.log,
    np.log2: logarithm.log2,
    np.log10: logarithm.log10,
    np.log1p: logarithm.log1p,
    np.logaddexp: logarithm.logaddexp,
    np.logaddexp2: logarithm.logaddexp2,
    np.arcsinh: logarithm.arcsinh,
    np.arccosh: logarithm.arccosh,
    np.arctanh: logarithm.arctanh,
    np.sin: trigonometric.sin,
    np.cos: trigonometric.cos,
    np.tan: trigonometric.tan,
    kernels.sinc: trigonometric.sinc,
    np.arcsin: inverse_trig.arcsin,
    np.arccos: inverse_trig.arccos,
    np.arctan: inverse_trig.arctan,
    np.arctan2: inverse_trig.arctan2,
    operator.pow: powers.power,
    np.power: powers.power,
    kernels.float_power: powers.power,
    kernels.cbrt: powers.cbrt,
    np.hypot: powers.hypot,
    kernels.erf: erf.erf,
    kernels.erfc: erf.erfc,
}


# These return float64 in any case.
WIDE = {kernels.cbrt, kernels.sinc, kernels.expit, kernels.float_power}  # type: ignore[attr-defined]


def result_of(function: Any, args: tuple[Any, ...]) -> Any:
    """The type of what a function returns, or None if it is not here for these types."""
    first = args[0] if args else None
    if first not in FORMATS or any(a != first for a in args) or not callable(function):
        return None
    if function not in FUNCTIONS:
        return None
    return float64 if function in WIDE else first


def find(callee: Callee) -> Callable[..., Number] | None:
    """What writes a function, if it is here for these types."""
    here = result_of(callee.function, callee.args) is not None
    return FUNCTIONS[callee.function] if here else None


def call(builder: Any, function: Callable[..., Number], callee: Callee, args: list[Any]) -> Any:
    """A call of what is written once per module, and stands in place of the call in the end."""
    module, kind = builder.module, callee.args[0]
    name = f"s2s.{function.__name__}.{kind}"
    made = module.globals.get(name)
    if made is None:
        number = args[0].type
        type_ = ir.FunctionType(number, [number] * len(args))
        made = new_function(module, type_, name, "alwaysinline")
        inner = ir.IRBuilder(made.append_basic_block())
        kit = Kit(inner, kind)
        inner.ret(function(kit, *(Number(kit, a) for a in made.args)).value)
    result = builder.call(made, args)
    # A wide result is of the arguments' precision all the same.
    return result if callee.result == kind else builder.fpext(result, ir.DoubleType())
