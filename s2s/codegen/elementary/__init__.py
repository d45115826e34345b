"""Elementary functions as branch-free LLVM IR, which LLVM can vectorise in loops.

A loop that calls the C library for each element is not vectorised.  These functions consist of
additions, multiplications and selects: argument reduction, a polynomial, recombination.  The error
is below 2 ulp over the whole range on machines with fused multiply-add.  Special values are those
of NumPy (`tests/s2s/codegen/elementary/`; docs/accuracy.md has a table).

Reduction and recombination follow W. J. Cody and W. Waite, Software Manual for the Elementary
Functions (1980), and P. T. P. Tang's table-free variants.  Double-word sums follow T. J. Dekker
(1971).  The polynomials are near-minimax (Chebyshev) fits of the functions named with them.

Start reading with `vector_ops.py`, then `exponential.py`.  Of `codegen`, this folder may import
`llvm_utils` and `value_types` only.
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
from .vector_ops import FORMATS, FloatBuilder, FloatValue

FUNCTIONS: dict[Any, Callable[..., FloatValue]] = {
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


# These return float64 for any argument type.
RETURN_FLOAT64 = {kernels.cbrt, kernels.sinc, kernels.expit, kernels.float_power}  # type: ignore[attr-defined]


def result_of(function: Any, args: tuple[Any, ...]) -> Any:
    """The result type of a function for these argument types; None if it is not here."""
    first = args[0] if args else None
    if first not in FORMATS or any(a != first for a in args) or not callable(function):
        return None
    if function not in FUNCTIONS:
        return None
    return float64 if function in RETURN_FLOAT64 else first


def find(callee: Callee) -> Callable[..., FloatValue] | None:
    """The emitter of a function for these argument types, or None."""
    here = result_of(callee.function, callee.args) is not None
    return FUNCTIONS[callee.function] if here else None


def call(builder: Any, function: Callable[..., FloatValue], callee: Callee, args: list[Any]) -> Any:
    """Call an elementary function.  It is defined once per module and always inlined."""
    module, kind = builder.module, callee.args[0]
    name = f"s2s.{function.__name__}.{kind}"
    made = module.globals.get(name)
    if made is None:
        number = args[0].type
        type_ = ir.FunctionType(number, [number] * len(args))
        made = new_function(module, type_, name, "alwaysinline")
        inner = ir.IRBuilder(made.append_basic_block())
        kit = FloatBuilder(inner, kind)
        inner.ret(function(kit, *(FloatValue(kit, a) for a in made.args)).value)
    result = builder.call(made, args)
    # A float64 result has only the precision of the arguments.
    return result if callee.result == kind else builder.fpext(result, ir.DoubleType())
