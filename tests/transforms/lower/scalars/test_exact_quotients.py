"""Divisions are exact where a comparison, or the end of a domain, depends on a quotient, and only
there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.scalars.exact_quotients import exact_quotients
from tests.transforms.lower.loop_ir_text import ir

TYPES = {"x": "float64[:]", "t": "float64[:]", "c": "float64", "s": "float64"}


def exact(source: str) -> bool:
    body = ir(source, **TYPES)
    exact_quotients(body)
    found = [e for s in L.walk(body) for e in L.subexprs_read(s)]
    applied = [e for e in found if isinstance(e, L.Apply) and e.function == "np.divide"]
    divided = [e for e in found if isinstance(e, L.Bin) and e.op == "/"]
    assert bool(applied) != bool(divided)
    return bool(applied)


COMPARED = [
    "for i in range(n):\n    q = s - x[i] / c\n    t[i] = 0.0 if q == 0.0 else s\n",
    "for i in range(n):\n    q = x[i] / c\n    if q - s > 0.0:\n        t[i] = q\n",
    "for i in range(n):\n    if x[i] / c < x[0]:\n        s = x[i]\n",
    "for i in range(n):\n    q = x[i] / c\n    t[i] = q * 2.0\nif t[0] > x[0]:\n    s = 1.0\n",
    "for i in range(n):\n    t[i] = np.floor(x[i] / c)\n",
    "for i in range(n):\n    k = np.int64(x[i] / c)\n    t[k] = 1.0\n",
    "for i in range(n):\n    t[i] = np.sqrt(s - x[i] / c)\n",
    "for i in range(n):\n    q = x[i] / c\n    t[i] = q - s\nt[0] = np.log(t[1] * 2.0)\n",
    "for i in range(n):\n    t[i] = np.sqrt(-(x[i] / c) + s)\n",
    "for i in range(n):\n    t[i] = np.arccos(x[i] / c)\n",
    "for i in range(n):\n    t[i] = s / (s - x[i] / c)\n",
    "while True:\n    s = s / c\n    if s < 1.0:\n        break\n",
]
OTHERS = [
    "for i in range(n):\n    q = s - x[i] / c\n    t[i] = 0.0 if q == 0.0 else q * s\n",
    "for i in range(n):\n    q = x[i] / c\n    if q > 0.0 and q != np.inf:\n        t[i] = q\n",
    "for i in range(n):\n    q = x[i] / c\n    if q != q:\n        t[i] = 0.0\n",
    "for i in range(n):\n    d = x[i] - s / c\n    t[i] = np.sqrt(d * d)\n",
    "for i in range(n):\n    t[i] = np.sqrt(np.exp(s - x[i] / c) + x[i] / c)\n",
    "for i in range(n):\n    t[i] = s / (s + x[i] / c)\n",
    "for i in range(n):\n    t[i] = x[i] / c\n",
    "for i in range(n):\n    if x[i] < c:\n        t[i] = x[i] / c\n",
    "for i in range(n):\n    if i < n - 1:\n        t[i] = x[i] / c\n",
]


@pytest.mark.parametrize("source", COMPARED)
def test_a_compared_quotient_is_exact(source):
    assert exact(source)


@pytest.mark.parametrize("source", OTHERS)
def test_other_quotients_stay(source):
    assert not exact(source)


def below(x, c):
    return np.sum(x * c / c < x), np.floor(x * c / c), x * c / c


def steps(x, c, n):
    total, t = 0.0, 1.0 + n / 7
    for i in range(x.shape[0]):
        q = x[i] * c / c
        if q == x[i] and q > t / c:
            total += q
    return total


@pytest.mark.parametrize("backend", ["numba", "native"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_comparisons_of_quotients_have_numpys_outcome(backend, dtype):
    x = (np.random.default_rng(0).random(500) * 8).astype(dtype)
    for c in (dtype(3.0), dtype(7.0)):
        found: Any = s2s.function(below, backend=backend)(x, c)
        for p, q in zip(found, below(x, c), strict=True):
            np.testing.assert_array_equal(p, q)
        total = s2s.function(steps, backend=backend)(x, c, 3)
        np.testing.assert_allclose(total, steps(x, c, 3), rtol=1e-5)


def ends(x, c):
    q = x / c
    return (
        np.sqrt(3.0 - q), (3.0 - q) ** 0.5, np.log(3.0 - q), 1.0 / (3.0 - q),
        np.arccos(q / 3.0), np.arctan2(q - 3.0, -1.0), np.log1p(2.0 - q),
    )  # fmt: skip


def hemisphere(x, c):
    height = 0.0
    for i in range(x.shape[0]):
        height += np.sqrt(1.0 - (x[i] / c) * (x[i] / c))
    return height


@pytest.mark.parametrize("backend", ["numba", "native"])
def test_the_ends_of_domains_are_where_numpy_has_them(backend):
    made, sphere = (s2s.function(f, backend=backend) for f in (ends, hemisphere))
    for c in np.arange(1.0, 60.0):
        x = np.full(4, 3.0 * c)
        with np.errstate(all="ignore"):
            expected = ends(x, c)
        found: Any = made(x, c)
        for p, q in zip(found, expected, strict=True):
            np.testing.assert_allclose(p, q, rtol=1e-9)
        assert sphere(np.full(4, c), c) == 0.0
