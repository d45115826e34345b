"""Advice for a NaN or inf, by the operation that produced it and its operands."""

from __future__ import annotations

from typing import Any

import numpy as np

_SAFE = "s2s keeps the branch not taken out of the gradient"
_OVERFLOW = "the exact result is too large for {dtype}; scale the numbers down, or take logarithms"
_EXPLOSION = (
    "the derivative grew too large for {dtype}; scale the numbers down, or clip an adjoint on its "
    "way: with s2s.adjoint(h) as h_bar: …"
)
# Operations on finite operands that overflow because the result is too large.
_OVERFLOWING = {"add", "subtract", "multiply", "square", "power", "sum", "prod", "dot", "matmul",
            "einsum", "outer", "cumsum", "update_add", "divide", "cast"}  # fmt: skip


def hint(
    op: str, kind: str, derivative: bool, values: list[float | None], dtype: str = "float64"
) -> str:
    """Advice for a NaN or inf (`kind`); "" if there is none.  `values` are the operands at the
    non-finite element, None where they are unknown."""
    x = values[0] if values else None
    y = values[1] if len(values) > 1 else None
    for table in (_SLOPES, _VALUES) if derivative else (_VALUES,):
        text = table[op](x, y) if op in table else ""
        if text:
            return text
    finite = all(v is None or np.isfinite(v) for v in values)
    if not finite or kind == "NaN" or op not in _OVERFLOWING:
        return ""
    return (_EXPLOSION if derivative else _OVERFLOW).format(dtype=dtype)


# ---------------------------------------------------------------- values


def _log(x: Any, y: Any) -> str:
    if x is None or x == 0:
        return (
            "log(0) is -inf; bound the argument, np.log(np.maximum(x, 1e-300)), or choose, "
            f"np.where(x > 0, np.log(x), 0.0): {_SAFE}"
        )
    return "the logarithm of a negative number is NaN" if x < 0 else ""


def _log1p(x: Any, y: Any) -> str:
    return "log1p(x) needs x > -1" if x is None or x <= -1 else ""


def _divide(x: Any, y: Any) -> str:
    if x == 0 and y == 0:
        return f"0/0 is NaN; np.where(y != 0, x / y, 0.0) is fine: {_SAFE}"
    if y == 0:
        return f"a division by 0; np.where(y != 0, x / y, 0.0) is fine: {_SAFE}"
    if x is not None and y is not None and np.isinf(x) and np.isinf(y):
        return "inf/inf is NaN; divide before the numbers grow, or subtract logarithms"
    return ""


def _sqrt(x: Any, y: Any) -> str:
    return "the root of a negative number is NaN" if x is None or x < 0 else ""


def _exp(x: Any, y: Any) -> str:
    return (
        "exp overflows above 709.78 in float64 and 88.72 in float32; subtract the maximum first, "
        "or use np.logaddexp, scipy.special's logsumexp, softmax, log_softmax or expit"
    )


def _power(x: Any, y: Any) -> str:
    if x is not None and y is not None:
        if x < 0 and y != np.floor(y):
            return "a negative number to a power that is no integer is NaN"
        if x == 0 and y < 0:
            return "0 to a negative power is inf"
    return ""


def _arc(x: Any, y: Any) -> str:
    return "its argument must lie in [-1, 1]; if rounding took it outside, np.clip(x, -1.0, 1.0)"


def _difference(x: Any, y: Any) -> str:
    if x is not None and y is not None and np.isinf(x) and np.isinf(y):
        return "inf - inf is NaN; if the infinities are masks, use a large finite number instead"
    return ""


def _product(x: Any, y: Any) -> str:
    if 0 in (x, y):
        return "0 * inf is NaN; choose with np.where instead of multiplying by a mask"
    return ""


def _mean(x: Any, y: Any) -> str:
    return "the mean of no elements is 0/0" if x is None else ""


def _gamma(x: Any, y: Any) -> str:
    return "it has poles at 0, -1, -2, …" if x is None or (x <= 0 and x == np.floor(x)) else ""


_VALUES = {
    "log": _log, "log2": _log, "log10": _log, "log1p": _log1p, "divide": _divide,
    "reciprocal": lambda x, y: _divide(1.0, x), "sqrt": _sqrt, "exp": _exp, "exp2": _exp,
    "expm1": _exp, "cosh": _exp, "sinh": _exp, "power": _power, "float_power": _power,
    "arcsin": _arc, "arccos": _arc, "arctanh": _arc, "subtract": _difference, "add": _difference,
    "multiply": _product, "mean": _mean, "lgamma": _gamma, "gamma": _gamma, "digamma": _gamma,
    "arccosh": lambda x, y: "arccosh(x) needs x >= 1",
}  # fmt: skip


# ---------------------------------------------------------------- derivatives


def _sqrt_slope(x: Any, y: Any) -> str:
    if x is not None and x != 0:
        return ""
    return (
        "sqrt has an infinite slope at 0; np.where(x > 0, np.sqrt(x), 0.0) is fine: "
        f"{_SAFE}; so is np.sqrt(x + 1e-12); the length of a vector is np.linalg.norm(x), "
        "whose derivative at 0 is 0"
    )


def _power_slope(x: Any, y: Any) -> str:
    if x == 0 and y is not None and y < 1:
        return (
            f"x**{y:g} has an infinite slope at 0; np.where(x > 0, x**{y:g}, 0.0) is fine: "
            f"{_SAFE}; so is (x + 1e-12)**{y:g}"
        )
    return ""


def _ends(x: Any, y: Any) -> str:
    if x is not None and abs(x) != 1:
        return ""
    return "it has an infinite slope at -1 and 1; keep away from them: np.clip(x, -1 + e, 1 - e)"


def _arctan2(x: Any, y: Any) -> str:
    return (
        "arctan2 has no derivative at (0, 0); np.where((x != 0) | (y != 0), np.arctan2(y, x), 0.0) "
        f"is fine: {_SAFE}"
    )


_MATRIX = "the matrix is singular, or nearly; add a multiple of the identity to it"
_EIGEN = "{} of equal {} have no derivative; use what does not depend on their choice"

_SLOPES = {
    "sqrt": _sqrt_slope, "power": _power_slope, "float_power": _power_slope, "arcsin": _ends,
    "arccos": _ends, "arctanh": _ends, "arctan2": _arctan2,
    "cbrt": lambda x, y: "cbrt has an infinite slope at 0",
    "arccosh": lambda x, y: "arccosh has an infinite slope at 1",
    "inv": lambda x, y: _MATRIX, "solve": lambda x, y: _MATRIX, "cholesky": lambda x, y: _MATRIX,
    "solve_triangular": lambda x, y: _MATRIX, "slogdet_log": lambda x, y: _MATRIX,
    "eigh_vectors": lambda x, y: _EIGEN.format("eigenvectors", "eigenvalues"),
    "svd_vectors": lambda x, y: _EIGEN.format("singular vectors", "singular values"),
}  # fmt: skip
