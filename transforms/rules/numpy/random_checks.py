"""Range checks of the parameters of random draws, with NumPy's error messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.builder import Builder, Sym
from ..axes_and_sizes import constant_value


def require_valid(b: Builder, wrong: Any, message: str) -> None:
    """Emit a ValueError if `wrong` (a Sym, or a bool known at compile time) holds anywhere."""
    if isinstance(wrong, Sym):
        found = b.emit("any", wrong, axis=None, keepdims=False) if wrong.ndim else wrong
        b.check(b.emit("logical_not", found), "ValueError", message)
    else:
        b.check(not wrong, "ValueError", message)


def _outside(x: Any, name: str, low: str = "<", high: str = ">") -> tuple[Any, str]:
    """The test that a probability is outside [0, 1] (or an open end), and NumPy's message."""
    inside = (x >= 0.0 if low == "<" else x > 0.0) & (x <= 1.0 if high == ">" else x < 1.0)
    message = f"{name} {low} 0, {name} {high} 1 or {name} " + (
        "is NaN" if low == "<" else "contains NaNs"
    )
    return _negated(inside), message


# For each distribution: tests for invalid parameters, with NumPy's messages.
_INVALID: dict[str, Callable[..., list[tuple[Any, str]]]] = {
    "standard_gamma": lambda shape: [(shape < 0.0, "shape < 0")],
    "beta": lambda a, b: [(a <= 0.0, "a <= 0"), (b <= 0.0, "b <= 0")],
    "chisquare": lambda df: [(df <= 0.0, "df <= 0")],
    "noncentral_chisquare": lambda df, nonc: [(df <= 0.0, "df <= 0"), (nonc < 0.0, "nonc < 0")],
    "f": lambda num, den: [(num <= 0.0, "dfnum <= 0"), (den <= 0.0, "dfden <= 0")],
    "standard_t": lambda df: [(df <= 0.0, "df <= 0")],
    "vonmises": lambda mu, kappa: [(kappa < 0.0, "kappa < 0")],
    "wald": lambda mean, scale: [(mean <= 0.0, "mean <= 0"), (scale <= 0.0, "scale <= 0")],
    "triangular": lambda left, mode, right: [
        (left > mode, "left > mode"), (mode > right, "mode > right"),
        (left == right, "left == right"),
    ],
    "weibull": lambda a: [(a < 0.0, "a < 0")],
    "power": lambda a: [(a <= 0.0, "a <= 0")],
    "pareto": lambda a: [(a <= 0.0, "a <= 0")],
    "poisson": lambda lam: [(_negated(lam >= 0.0), "lam < 0 or lam is NaN")],
    "binomial": lambda n, p: [(n < 0, "n < 0"), _outside(p, "p")],
    "geometric": lambda p: [_outside(p, "p", "<=")],
    "negative_binomial": lambda n, p: [(n <= 0.0, "n <= 0"), _outside(p, "p", "<=")],
    "zipf": lambda a: [(_negated(a > 1.0), "a <= 1 or a is NaN")],
    "logseries": lambda p: [_outside(p, "p", "<", ">=")],
}  # fmt: skip


def _negated(x: Any) -> Any:
    return ~x if isinstance(x, Sym) else not x


def check_parameters(b: Builder, method: str, params: Sequence[Sym]) -> None:
    """Emit the checks of the parameters of a draw."""
    if method in _INVALID:
        for wrong, message in _INVALID[method](*map(constant_value, params)):
            require_valid(b, wrong, message)
