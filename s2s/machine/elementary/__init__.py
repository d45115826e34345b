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
from . import arcs, exponential, logarithm, normal, trigonometric
from . import power as powers
from .kit import FORMATS, Kit, Number

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
    np.arcsin: arcs.arcsin,
    np.arccos: arcs.arccos,
    np.arctan: arcs.arctan,
    np.arctan2: arcs.arctan2,
    operator.pow: powers.power,
    np.power: powers.power,
    kernels.float_power: powers.power,
    kernels.cbrt: powers.cbrt,
    np.hypot: powers.hypot,
    kernels.erf: normal.erf,
    kernels.erfc: normal.erfc,
}


def find(kind: Any, signature: Any) -> Callable[..., Number] | None:
    """The function for what Numba knows by `kind`, if it is here for these types."""
    # Where Numba widens the result, it is that of the arguments' precision all the same.
    first, *others = signature.args or (None,)
    if not {first, signature.return_type} <= FORMATS.keys() or {*others} - {first}:
        return None
    key = getattr(kind, "typing_key", None)
    return FUNCTIONS.get(key) if callable(key) else None


def call(builder: Any, function: Callable[..., Number], signature: Any, args: list[Any]) -> Any:
    """A call of what is written once per module, and stands in place of the call in the end."""
    module, type_ = builder.module, signature.args[0]
    name = f"s2s.{function.__name__}.{type_}"
    made = module.globals.get(name)
    if made is None:
        number = args[0].type
        made = ir.Function(module, ir.FunctionType(number, [number] * len(args)), name)
        made.linkage = "internal"
        made.attributes.add("alwaysinline")
        inner = ir.IRBuilder(made.append_basic_block())
        kit = Kit(inner, type_)
        inner.ret(function(kit, *(Number(kit, a) for a in made.args)).value)
    result = builder.call(made, args)
    return result if signature.return_type == type_ else builder.fpext(result, ir.DoubleType())
