"""Random draws (`Draw` statements): NumPy evaluation, source text, and unsupported cases.

A `Draw` is a statement, not an operation: CSE, rematerialisation, code motion and DCE, which act on
operations, leave it alone.  Its target is inactive.  A draw with a location and a scale is expanded
to a standard draw and arithmetic (`rules/numpy/random.py`); derivatives flow through the
arithmetic.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NoReturn

import numpy as np

from ..ir.errors import UnsupportedError
from ..ir.nodes import Call, Draw, Function, Operand

# Methods of `np.random.Generator`, with the number of parameters they draw with.
GENERATOR_METHODS = {
    "random": 0, "standard_normal": 0, "standard_exponential": 0, "laplace": 0, "gumbel": 0,
    "logistic": 0, "rayleigh": 0, "standard_cauchy": 0, "standard_gamma": 1, "beta": 2,
    "chisquare": 1, "noncentral_chisquare": 2, "f": 2, "standard_t": 1, "vonmises": 2,
    "wald": 2, "triangular": 3, "weibull": 1, "power": 1, "pareto": 1, "poisson": 1,
    "binomial": 2, "geometric": 1, "negative_binomial": 2, "zipf": 1, "logseries": 1,
    "hypergeometric": 3, "integers": 2, "permutation": 1, "choice": 3,
}  # fmt: skip
# Functions of `np.random` (the legacy generator), with their number of parameters.
LEGACY_METHODS = {
    **{k: v for k, v in GENERATOR_METHODS.items() if k not in ("random", "integers")},
    "random_sample": 0, "randint": 2,
}  # fmt: skip
# Methods that return integers.
INTEGER_METHODS = (
    "poisson binomial geometric negative_binomial zipf logseries hypergeometric integers randint "
    "permutation choice"
).split()
# Methods of a Generator that Numba lacks, or whose parameters it interprets differently: NumPy
# computes them in the interpreter.
INTERPRETED_METHODS = ("gumbel", "vonmises", "hypergeometric", "choice", "permutation")
# Methods that take dtype=.
DTYPE_METHODS = ("random", "standard_normal", "standard_exponential", "standard_gamma", "integers")


def evaluate_draw(rng: Any, method: str, args: Sequence[Any], size: Any, dtype: str) -> Any:
    """Evaluate a draw with NumPy; `rng` is None for the legacy generator."""
    source = np.random if rng is None else rng
    if method in ("default_rng", "seed"):
        return getattr(np.random, method)(*args)
    if method == "permutation":
        return source.permutation(*args)
    if method == "choice":
        count, replace, *weights = args
        return source.choice(count, size, bool(replace), *weights)
    keywords = {"dtype": dtype} if method in DTYPE_METHODS and rng is not None else {}
    return getattr(source, method)(*args, size=size, **keywords)


def draw_text(stmt: Draw, args: Sequence[str], size: Sequence[str] | None) -> str:
    """The source text of a draw."""
    from .operation_text import dtype_text

    owner = args[0] if stmt.rng is not None else "np.random"
    parts = list(args[1:] if stmt.rng is not None else args)
    shape = None
    if size is not None and stmt.method != "permutation":
        shape = size[0] if len(size) == 1 else f"({', '.join(size)})"
    if stmt.method == "choice":
        count, replace, *weights = parts
        parts = [count, shape or "None", replace, *weights]
        return f"{owner}.choice({', '.join(parts)})"
    if shape is not None:
        parts.append(f"size={shape}")
    dtype = stmt.targets[0].type.dtype if stmt.targets else "rng"
    if stmt.method in DTYPE_METHODS and stmt.rng is not None and dtype not in ("float64", "int64"):
        parts.append(f"dtype={dtype_text(dtype)}")
    return f"{owner}.{stmt.method}({', '.join(parts)})"


# ---------------------------------------------------------------- refusals


def refuse_active_draw(stmt: Draw, active: Container[Operand], function: Function) -> None:
    """Raise if both the target and a parameter of a draw are active.

    The derivative of the draw by such a parameter (other than location and scale) is not known."""
    if stmt.targets and stmt.targets[0] in active and any(x in active for x in stmt.args):
        _refuse(
            stmt,
            f"the derivative of a {stmt.method} draw by its parameters is not known",
            "write the draw as a function of a standard one, as mu + sigma * rng.normal()",
            function,
        )


def refuse_second_draw(stmt: Draw | Call, function: Any = None) -> NoReturn:
    """Raise because the adjoint code would have to repeat a draw.

    `function` has the attribute `source`, which the error message quotes."""
    _refuse(
        stmt,
        "the adjoint of this code would draw the random numbers a second time",
        "draw before the recursion, the loop or the while test, and pass the numbers in",
        function,
    )


def _refuse(stmt: Draw | Call, message: str, advice: str, function: Any) -> NoReturn:
    span = stmt.origin.span if stmt.origin else None
    source = getattr(function, "source", None)
    has_line = source is not None and span is not None and source.file == span.file
    line = source.line(span.line) if has_line else ""  # type: ignore[union-attr]
    raise UnsupportedError(message, span=span, source_line=line, advice=advice)
