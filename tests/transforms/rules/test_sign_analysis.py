"""Signs and finiteness: what is claimed holds for random numbers, and what matters is claimed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2s.transforms.ir.nodes import Scalar
from s2s.transforms.rules.sign_analysis import finite, nonnegative, nonzero, positive
from tests.transforms.programs import F8, Program, program, vector

UNARY = [
    np.exp, np.sin, np.cosh, np.square, np.abs, np.sqrt, np.negative, np.sign, np.log, np.tanh,
    np.trunc, np.exp2, np.reciprocal,
]  # fmt: skip
BINARY = [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y,
    np.maximum, np.minimum, lambda x, y: x**2.0, lambda x, y: x**-1.0, lambda x, y: x**y,
    lambda x, y: x * x, np.hypot, np.copysign,
]  # fmt: skip
CONSTANTS = [0.0, 1.0, -2.0, 0.5]


def expressions(depth: int = 4) -> Any:
    """Random expressions, as lists of choices that `evaluate` interprets."""
    leaf = st.sampled_from(["x", "y", *CONSTANTS])
    return st.recursive(
        leaf,
        lambda inner: (
            st.tuples(st.integers(0, len(UNARY) - 1), inner)
            | st.tuples(st.integers(0, len(BINARY) - 1), inner, inner)
        ),
        max_leaves=depth,
    )


def evaluate(tree: Any, x: Any, y: Any, constant: Callable[[float], Any]) -> Any:
    if not isinstance(tree, tuple):
        return {"x": x, "y": y}[tree] if isinstance(tree, str) else constant(tree)
    at, *args = tree
    values = [evaluate(a, x, y, constant) for a in args]
    return (UNARY if len(values) == 1 else BINARY)[at](*values)


@settings(max_examples=200, deadline=None)
@given(expressions(), st.floats(-3, 3), st.floats(-3, 3))
def test_what_is_claimed_holds(tree: Any, x: float, y: float) -> None:
    """Overflow and underflow aside; a value that is no number has no sign."""
    claims: dict[str, bool] = {}

    def build(p: Program, x: Any, y: Any) -> Any:
        out = evaluate(tree, x, y, p.sym)
        for claim in (positive, nonnegative, nonzero):
            claims[claim.__name__] = claim(p, out.operand)
        claims["finite"] = finite(p, out.operand, p.definitions)
        return out

    program({"x": F8, "y": F8}, build)
    try:
        with np.errstate(over="raise", under="raise", divide="ignore", invalid="ignore"):
            value = evaluate(tree, np.float64(x), np.float64(y), np.float64)
    except FloatingPointError:
        return
    assert not claims["finite"] or np.isfinite(value)
    if not np.isnan(value):
        assert not claims["positive"] or value > 0
        assert not claims["nonnegative"] or value >= 0
        assert not claims["nonzero"] or value != 0


def claimed(claim: Any, build: Callable[..., Any], params: Any = None) -> bool:
    found: list[bool] = []

    def with_claim(p: Program, *args: Any) -> Any:
        out = p.sym(build(p, *args))
        extra = (p.definitions,) if claim is finite else ()
        found.append(claim(p, out.operand, *extra))
        return out

    program(params or {"x": F8, "v": vector("v")}, with_claim)
    return found[0]


@pytest.mark.parametrize(
    "build",
    [
        lambda p, x, v: 1.0 + x * x,
        lambda p, x, v: 1.0 + np.exp(-x),
        lambda p, x, v: np.sum(np.exp(v)),
        lambda p, x, v: np.sqrt(1.0 + np.square(v)),
        lambda p, x, v: np.maximum(x, 1e-12),
        lambda p, x, v: p.emit("clip", x, 1.0, 2.0),
    ],
)
def test_denominators_of_common_formulas_are_nonzero(build: Any) -> None:
    assert claimed(nonzero, build) and claimed(positive, build)


@pytest.mark.parametrize(
    "build",
    [
        lambda p, x, v: x,
        lambda p, x, v: np.exp(x) - 1.0,
        lambda p, x, v: np.abs(x),
        lambda p, x, v: np.sqrt(x * x),
        lambda p, x, v: np.maximum(x, 0.0),
        lambda p, x, v: np.minimum(x, 1.0),
        lambda p, x, v: p.emit("clip", x, 0.0, 2.0),
    ],
)
def test_what_may_be_zero_is_not_claimed(build: Any) -> None:
    assert not claimed(nonzero, build) and not claimed(positive, build)


def test_sizes_count_as_nonzero() -> None:
    """Where a size is 0, nothing is divided by it."""
    assert claimed(nonzero, lambda p, x, v: v.shape[0])
    assert claimed(nonnegative, lambda p, x, v: v.shape[0])
    assert not claimed(positive, lambda p, x, v: v.shape[0])


def test_complex_numbers_have_no_sign() -> None:
    params = {"z": Scalar("complex128")}
    for claim in (positive, nonnegative):
        assert not claimed(claim, lambda p, z: np.exp(z), params)
        assert not claimed(claim, lambda p, z: z * z, params)


def test_only_definitions_of_the_partial_are_followed() -> None:
    """Values of the program itself count as finite."""
    p = Program()
    x = p.sym(program({"x": F8}, lambda p, x: x).main.params[0])
    inverse = 1.0 / x
    assert finite(p, inverse.operand, {})
    assert not finite(p, inverse.operand, p.definitions)
    assert not finite(p, (inverse * 2.0).operand, p.definitions)


def test_the_search_is_bounded() -> None:
    def chain(p: Program, x: Any, v: Any) -> Any:
        out = np.exp(x)
        for _ in range(40):
            out = out + out * 1.0
        return out

    assert not claimed(positive, chain), "nothing is proven beyond the depth"
