"""Exponentials: within two units in the last place, up to overflow and underflow."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from s2s.codegen.elementary import exponential
from tests.s2s.codegen.elementary.kits import BITS, dtype, same, scalar, worst

EXACT = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.power(2, x), "expm1": mpmath.expm1,
    "sinh": mpmath.sinh, "cosh": mpmath.cosh, "tanh": mpmath.tanh,
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
}  # fmt: skip
SPECIAL = {
    "exp": (1.0, 1.0, math.inf, 0.0), "exp2": (1.0, 1.0, math.inf, 0.0),
    "expm1": (0.0, -0.0, math.inf, -1.0), "sinh": (0.0, -0.0, math.inf, -math.inf),
    "cosh": (1.0, 1.0, math.inf, math.inf), "tanh": (0.0, -0.0, 1.0, -1.0),
    "expit": (0.5, 0.5, 1.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", EXACT)
def test_accuracy(name, bits) -> None:
    largest = 709.0 if bits == 64 else 88.0
    points = [1e-30, 1e-8, 0.1, math.log(2) / 2, 0.5, 1.0, math.pi, 17.3, largest / 2, largest]
    rng = np.random.default_rng(0)
    points += list(rng.uniform(-largest, largest, 20)) + list(rng.normal(size=20))
    points += [-p for p in points[:10]]
    assert worst(getattr(exponential, name), EXACT[name], points, bits) < 2.0


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, bits) -> None:
    run = scalar(getattr(exponential, name), bits)
    expected = SPECIAL[name]
    for x, value in zip((0.0, -0.0, math.inf, -math.inf), expected):
        assert same(run(x), dtype(bits)(value))
    assert np.isnan(run(math.nan))


@pytest.mark.parametrize("bits", BITS)
def test_the_ends_of_the_range(bits) -> None:
    form = np.finfo(dtype(bits))
    exp = scalar(exponential.exp, bits)
    above = dtype(bits)(math.log(float(form.max)))
    assert (
        np.isfinite(exp(above * dtype(bits)(0.9999))) and exp(above * dtype(bits)(1.0001)) == np.inf
    )
    assert exp(-1e4) == 0.0 and exp(1e30) == np.inf and exp(-1e30) == 0.0
    least = scalar(exponential.exp2, bits)
    assert least(math.log2(float(form.smallest_subnormal))) == form.smallest_subnormal
    assert least(math.log2(float(form.tiny))) == form.tiny
    assert least(math.log2(float(form.smallest_subnormal)) - 2) == 0.0
