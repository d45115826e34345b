"""Logarithms: within two units in the last place, for subnormal numbers, too."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from s2s.codegen.elementary import logarithm
from tests.s2s.codegen.elementary.kits import BITS, dtype, same, scalar, worst

EXACT = {
    "log": mpmath.log, "log2": lambda x: mpmath.log(x, 2), "log10": mpmath.log10,
    "log1p": mpmath.log1p, "arcsinh": mpmath.asinh, "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
}  # fmt: skip
nan, inf = math.nan, math.inf
# At 0, -0, 1, -1, 2, -2, inf, -inf.
SPECIAL = {
    "log": (-inf, -inf, 0.0, nan, None, nan, inf, nan),
    "log2": (-inf, -inf, 0.0, nan, 1.0, nan, inf, nan),
    "log10": (-inf, -inf, 0.0, nan, None, nan, inf, nan),
    "log1p": (0.0, -0.0, None, -inf, None, nan, inf, nan),
    "arcsinh": (0.0, -0.0, None, None, None, None, inf, -inf),
    "arccosh": (nan, nan, 0.0, nan, None, nan, inf, nan),
    "arctanh": (0.0, -0.0, inf, -inf, nan, nan, nan, nan),
}


def points(name: str, bits: int) -> list[float]:
    rng = np.random.default_rng(2)
    form = np.finfo(dtype(bits))
    if name == "arctanh":
        return [1e-20, 1e-4, 0.3, 0.9, 0.999, *rng.uniform(-1, 1, 30)]
    wide = [float(form.tiny), 1e-30, 1e-5, 0.5, 1.0 - 1e-6, 1.0 + 1e-6, 1.5, 9.0, 1e20,
            float(form.max), *np.exp(rng.uniform(-60, 60, 30))]  # fmt: skip
    if name in ("log", "log2", "log10"):
        return [float(form.smallest_subnormal), float(form.tiny) / 8, *wide]
    if name == "arccosh":
        return [1.0 + p for p in wide]
    signed = [-p for p in wide[::3]] if name == "arcsinh" else [-0.3, -0.9, -0.999]
    return [*wide, *signed]


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", EXACT)
def test_accuracy(name, bits) -> None:
    assert worst(getattr(logarithm, name), EXACT[name], points(name, bits), bits) < 2.0


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, bits) -> None:
    run = scalar(getattr(logarithm, name), bits)
    for x, value in zip((0.0, -0.0, 1.0, -1.0, 2.0, -2.0, inf, -inf), SPECIAL[name]):
        if value is not None:
            assert same(run(x), dtype(bits)(value)), x
    assert np.isnan(run(nan))


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_exponentials(name, bits) -> None:
    """As NumPy's, for infinities and numbers that are far apart, too."""
    run, numpy = scalar(getattr(logarithm, name), bits, 2), getattr(np, name)
    values = [0.0, -0.0, 1.0, -3.5, 700.0, -700.0, 1e30, inf, -inf, nan, 1e-9]
    with np.errstate(all="ignore"):
        for x in map(dtype(bits), values):
            for y in map(dtype(bits), values):
                np.testing.assert_allclose(run(x, y), numpy(x, y), rtol=4 * np.finfo(x).eps,
                                           atol=float(np.finfo(x).tiny))  # fmt: skip
