"""Routines written out as loops compute the same."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from s2s import kernels as rt
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.target.expand import expand_routines
from s2s.transforms.lower.target.symbols import symbols_of
from tests.cuda.compiling import routine


def both(source: str, *args, **types: str):
    """The results of a routine before and after the expansion."""
    before = routine(source, **types)
    after = copy.deepcopy(before)
    expand_routines(after.body, symbols_of(after, set()))
    text = print_module([after])
    assert "rt.gemm_at" not in text and "rt.reserve" not in text
    found = []
    for r in (before, after):
        space: dict = {"np": np, "rt": rt}
        exec(print_module([r]), space)
        found.append(space["f"](*copy.deepcopy(args)))
    return found


@pytest.mark.parametrize("add", [True, False])
def test_product_of_a_view(add):
    rng = np.random.default_rng(0)
    x, b, c = rng.normal(size=(2, 5, 3)), rng.normal(size=(4, 2)), rng.normal(size=(2, 3, 2))
    rows, columns = np.array([0, 1, 6]), np.array([0, 3, 1, 7])
    before, after = both(
        f"""
def f(x, rows, columns, b, c, i):
    rt.gemm_at(x[i], rows, columns, b, {add}, c[i])
    return (c,)
""",
        x, rows, columns, b, c, 1,
        x="float64[:, :, :]", rows="int64[:]", columns="int64[:]", b="float64[:, :]",
        c="float64[:, :, :]",
    )  # fmt: skip
    np.testing.assert_allclose(after[0], before[0], rtol=1e-14)


@pytest.mark.parametrize(("used", "more"), [(0, 0), (0, 1), (2, 1), (3, 0), (3, 1), (1, 40)])
def test_reserve(used, more):
    source = "def f(x, used, more):\n    x = rt.reserve(x, used, more)\n    return (x,)\n"
    (before,), (after,) = both(source, np.arange(3.0), used, more, x="float64[:]")
    assert after.shape == before.shape and np.array_equal(after[:used], before[:used])
