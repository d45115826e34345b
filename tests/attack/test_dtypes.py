"""Dtypes and promotion (NEP 50) against NumPy: right, refused, or a documented deviation.

`dtype_cases` generates the programs.  Further tests cover phis, integers out of range, and
unsupported dtypes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2s
from tests.attack.dtype_cases import Case, groups, judge
from tests.scale import count, sample

ALL_GROUPS = list(groups())
BY_LABEL = {label: (args, bodies) for args, label, bodies in ALL_GROUPS}


def _cases(label: str, bodies: list[str]) -> list[Case]:
    return [Case(body, BY_LABEL[label][0], label) for body in bodies]


def _judge_groups(labels: list[str], bodies: int, backend: str, folder: Any) -> None:
    cases = [
        case
        for i, label in enumerate(labels)
        for case in _cases(label, sample(BY_LABEL[label][1], bodies, seed=i))
    ]
    report = judge(cases, backend, folder)
    assert not report.failures, "\n".join(report.failures)
    assert report.counts["right"] > len(cases) // 2


def test_pairs_of_operands(tmp_path):
    labels = [label for label, (args, _) in BY_LABEL.items() if len(args) == 2]
    _judge_groups(sample(labels, 20), 30, "loops", tmp_path)


def test_single_operands(tmp_path):
    labels = [label for label, (args, _) in BY_LABEL.items() if len(args) == 1]
    _judge_groups(sample(labels, 8), 60, "loops", tmp_path)


def test_small_integers_in_machine_code(tmp_path):
    """Numba promotes small integers to 64 bits; emitted code wraps them."""
    labels = [
        "array int8",
        "array uint16",
        "scalar uint8, scalar uint8",
        "array int16, array int16",
    ]
    labels += sample([label for label in BY_LABEL if "int" in label], 1, seed=2)
    pure = {
        label: [b for b in BY_LABEL[label][1] if not Case(b, (), "").statement] for label in labels
    }
    cases = [
        case
        for label in labels
        for case in _cases(label, ["np.dot(a, a)"] if label.count("array") == 1 else [])
        + _cases(label, sample(pure[label], count(6, 10**6), seed=3))
    ]
    report = judge(cases, "numba", tmp_path)
    assert not report.failures, "\n".join(report.failures)


# ---------------------------------------------------------------- paths that meet


def large_literal(c, u):
    return 300 if c else u[0]


def literal_times(c, u):
    k = 5 if c else u[0]
    return k * 100


def literal_plus(c, u):
    k = 5 if c else u[2]
    return k + 3, k < 300, k + u, u[k % 3]


def summed(c, u):
    s = 0
    for i in range(u.shape[0]):
        s = s + u[i]
    return s


def largest(c, u):
    best = 0
    for i in range(u.shape[0]):
        if u[i] > best:
            best = u[i]
    return best + 1


def negated(c, u):
    k = u[0]
    for _ in range(3):
        if c:
            k = 7
    return -k


def two_dtypes(c, u):
    k = u[0] if c else np.int64(3)
    return k * 100


def maximum_of_literal(c, u):
    return max(u[0], 3) * 100


def maximum_of_large(c, u):
    return max(u[0], 300)


def huge_float(c, x):
    return 1e300 if c else x[0]


def tiny_float(c, x):
    k = 1e-300
    if c:
        k = x[0]
    return k * 1e290


def huge_maximum(c, x):
    m = -1e300
    for i in range(x.shape[0]):
        m = max(m, x[i])
    return m


def huge_carried(c, x):
    m = 1e300
    for i in range(x.shape[0]):
        if c:
            m = x[i]
    return m


def half(c, x):
    k = 0.5 if c else x[0]
    return k * 2.0


def argument(c, x, t=1e300):
    return t if c else x[0]


@pytest.mark.parametrize(
    "function",
    [
        large_literal,
        literal_times,
        literal_plus,
        summed,
        largest,
        negated,
        two_dtypes,
        maximum_of_literal,
        maximum_of_large,
        huge_float,
        tiny_float,
        huge_maximum,
        huge_carried,
        half,
        argument,
    ],
)
@pytest.mark.parametrize("c", [True, False])
def test_joined_paths_keep_their_value(function, c):
    """Equal to CPython's, or refused: at compile time, or by an OverflowError at run time."""
    array: Any = np.array([200, 100, 3], np.uint8)
    if "x" in function.__code__.co_varnames:
        array = np.array([1.5, 2.0, 3.0], np.float32)
    with np.errstate(all="ignore"):
        wanted = function(c, array)
    try:
        found = s2s.function(function, backend="loops")(c, array)
    except (s2s.UnsupportedError, OverflowError):
        assert function not in (summed, largest, half, huge_float, tiny_float, literal_plus)
        return
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for p, q in pairs:
        if np.isfinite(q).all():
            np.testing.assert_allclose(p, q, rtol=1e-6)


def test_accumulated_small_integers_wrap():
    u = np.array([200, 100, 3], np.uint8)
    found = s2s.function(summed, backend="loops")(True, u)
    assert found == 47 and np.asarray(found).dtype == np.uint8


# ---------------------------------------------------------------- integers that do not fit


def power_of_ten(x):
    return x * 10**30


def endless_power(x):
    return x * 10 ** (10**9)


def endless_shift(x):
    return x + (1 << (10**12))


def shifted(x):
    return x + (1 << 100)


def beyond(x):
    return x * (2**63)


def lowest(x):
    return x * -(2**63)


def large_unsigned(x):
    return x + np.uint64(2**63)


def far_range(x):
    for _ in range(10**30, 10**30 + 2):
        x = x + 1.0
    return x


def negative_exponent(x):
    return x ** (-(10**30))


def far_index(x):
    return np.zeros(3)[-(2**70) : 2**70].sum() + x


def many_ways(x):
    return math.comb(100, 50) * x


def factorial(x):
    return math.factorial(25) * x


def whole(x):
    return int(1e30) * x


def underflow(x):
    return 2 ** -(10**6) * x


@pytest.mark.parametrize(
    "function",
    [
        power_of_ten,
        endless_power,
        endless_shift,
        shifted,
        beyond,
        lowest,
        large_unsigned,
        far_range,
        negative_exponent,
        far_index,
        many_ways,
        factorial,
        whole,
        underflow,
    ],
)
def test_integers_beyond_64_bits(function):
    """Right, or refused with the line; never an internal error."""
    try:
        found = s2s.function(function, backend="loops")(1.5)
    except s2s.UnsupportedError as error:
        assert error.line and "64 bits" in str(error) and error.advice
        return
    except OverflowError as error:
        assert "64 bits" in str(error)
        return
    assert found == pytest.approx(function(1.5))


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**63) - 1, 10**30, 10**400])
def test_oversized_arguments(value):
    with pytest.raises(s2s.UnsupportedError, match="does not fit in 64 bits"):
        s2s.function(lambda x: x * 2, backend="loops")(value)


# ---------------------------------------------------------------- dtypes that are not supported

LONG = np.longdouble(2)


def doubled(x):
    return x * 2


def long_global(x):
    return x * LONG


def long_created(x):
    return x * np.longdouble(2)


def long_zeros(x):
    return np.zeros(3, np.longdouble) * x


def long_epsilon(x):
    return np.finfo(np.longdouble).eps * x


def total(x):
    return np.sum(x)


def field(x):
    return np.sum(x["x"])


UNSUPPORTED = [
    (doubled, np.longdouble(1)),
    (doubled, np.clongdouble(1)),
    (doubled, np.array([1, 2], np.longdouble)),
    (doubled, np.array(1, np.clongdouble)),
    (doubled, np.array([1, 2], np.float16)),
    (doubled, np.array(["2020-01-01"], "M8[D]")),
    (doubled, np.datetime64("2020-01-01")),
    (doubled, np.timedelta64(1, "s")),
    (doubled, np.array([1], "m8[s]")),
    (doubled, np.array([1, 2], object)),
    (doubled, np.array(["a"])),
    (doubled, np.array([b"a"])),
    (doubled, np.zeros(2, "V4")),
    (doubled, np.array([1.0, 2.0], ">f8" if np.little_endian else "<f8")),
    (total, np.zeros(2, [("x", "f8")])),
    (field, np.zeros(2, [("x", "f2")])),
    (field, np.zeros(2, [("x", ">f8" if np.little_endian else "<f8")])),
    (field, np.zeros(2, [("x", "O")])),
    (field, np.zeros(2, [("x", "g")])),
    (field, np.zeros(2, [("x", "f8", 3)])),
    (long_global, 1.0),
    (long_created, 1.0),
    (long_zeros, 1.0),
    (long_epsilon, 1.0),
]


@pytest.mark.parametrize(("function", "value"), UNSUPPORTED)
def test_unsupported_dtypes_are_refused(function, value):
    with pytest.raises((s2s.UnsupportedError, TypeError), match="not supported"):
        s2s.function(function, backend="loops")(value)


def test_other_fields_of_a_record_may_be_of_any_dtype():
    r = np.zeros(2, [("name", "U5"), ("x", "f8")])
    r["x"] = [1.0, 2.0]
    assert s2s.function(field, backend="loops")(r) == 3.0


# ---------------------------------------------------------------- gradients keep their dtype


def with_constants(x, k, flags):
    y = np.where(flags, x, 0.1) * 3 + x**2 / 7 - k * x
    y = y + 1e-8 * np.maximum(x, 0.2) + np.float32(2) * x
    s = 0.1
    for i in range(x.shape[0]):
        s = s + y[i] * 2.0 if flags[i] else s - y[i] * k[i]
    return s + np.mean(np.clip(x, -1, 1)) + np.sum(x, dtype=np.float64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("integers", ["int8", "uint16", "int32", "bool"])
def test_gradients_have_the_dtype_of_their_argument(dtype, integers):
    x = np.array([0.3, -0.7, 2.0], dtype)
    k = np.array([1, 0, 1], integers)
    flags = np.array([True, False, True])
    found = s2s.grad(with_constants, wrt="x", backend="loops")(x, k, flags)
    assert found.dtype == np.dtype(dtype)
    wide = x.astype(np.float64)
    step = 1e-6 * np.eye(3)
    slope = [
        (with_constants(wide + h, k, flags) - with_constants(wide - h, k, flags)) / 2e-6
        for h in step
    ]
    np.testing.assert_allclose(found, slope, rtol=2e-4, atol=2e-4)
