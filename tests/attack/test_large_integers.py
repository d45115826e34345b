"""Integers beyond 64 bits in the text: right beside uint64 and floats, otherwise refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from tests.attack.beside import load

RIGHT = [
    "u ^ np.uint64(0x9E3779B97F4A7C15)",
    "u + 0x9E3779B97F4A7C15",
    "(u * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(31)",
    "u > 2**63, u == 2**63 + 9, 2**64 - 1 >= u",
    "np.uint64(2**64 - 1) - u",
    "u // (2**63 + 1), u % 2**63",
    "2**64 // 2**62, (2**70) % 1000, 2**64 == 2**64, 2**64 > 5",
    "x * 2**64, 1.0 * 2**70, float(2**64), int(2**64) // 2**60",
    "(-(2**70)) * x, 2**64, ~(2**64)",
    "x[: 2**64], x[-(2**70) : 1]",
]
REFUSED = [
    "np.zeros(3, np.int64) + 2**63",
    "x[2**64]",
    "np.full(3, 2**63)",
    "np.array([2**63, 1])",
    "[i for i in range(2**64)][0]",
    "u.astype(np.int64) == 2**63",
    "1 << 2**40",
    "2**(2**64)",
    "np.zeros(2**64)",
    "u != 2**70",
    "float(x[0]) < 2**70",
]
ERRORS = ["np.uint64(2**64)", "np.int64(2**63)", "np.uint64(-(2**70))", "x * 10**400", "u * 2**64"]
U = np.array([3, 2**63 + 9, 7], np.uint64)
X = np.array([0.5, 1.5])


def _function(text: str) -> Any:
    return load(f"def f(u, x):\n    return {text}")["f"]


@pytest.mark.parametrize("text", RIGHT)
@pytest.mark.parametrize("u", [U, U[1]], ids=["array", "scalar"])
def test_large_integers_beside_uint64_and_floats(text, u):
    f = _function(text)
    with np.errstate(all="ignore"):
        wanted, found = f(u, X), s2s.function(f, backend="loops")(u, X)
    pairs = zip(wanted, found, strict=True) if isinstance(wanted, tuple) else [(wanted, found)]
    for p, q in pairs:
        np.testing.assert_array_equal(q, p)
        assert np.asarray(q).dtype.kind == np.asarray(p).dtype.kind


def test_large_integers_in_machine_code():
    f = _function(RIGHT[0] + ", " + RIGHT[1])
    for wanted, found in zip(f(U, X), s2s.function(f)(U, X), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("text", REFUSED)
def test_what_would_need_more_than_64_bits_is_refused(text):
    with pytest.raises(s2s.UnsupportedError) as caught:
        s2s.function(_function(text), backend="loops")(U, X)
    assert caught.value.line == 6


@pytest.mark.parametrize("text", ERRORS)
def test_errors_of_numpy(text):
    f = _function(text)
    with pytest.raises(OverflowError):
        f(U, X)
    with pytest.raises(OverflowError):
        s2s.function(f, backend="loops")(U, X)
