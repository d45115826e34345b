"""Values that have one kind of dtype on one path and another on the other.

They are computed in the larger dtype.  Where that makes a difference in NumPy, the program is
refused with its line: an array that is an integer array on one path truncates the floats that are
stored in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from tests.attack.beside import load

X = np.array([1.5, 2.0, 3.0])
SUM = "s = 0\n    for i in range(n):\n        s = s + x[i]"
STORES = [
    "a = np.asarray(k); a[()] = 2.5; return a",
    "a = np.array([k, 1]); a[0] = 2.5; return a",
    "a = np.array([[k], [k]]); a += 0.5; return a",
    "a = np.full(3, k); a[1:] = x[0]; return a",
    "a = np.full_like(np.full(2, k), 1); a[0] = 2.5; return a",
    "a = np.zeros_like(np.full(2, k)); a[0] = 2.5; return a",
    "a = np.full(3, k) * 2 + 1; a[0] = 2.5; return a",
    "a = np.full((2, 2), k).T; a[0, 0] = 2.5; return a",
    "a = np.full(3, k); b = a[1:]; b[0] = 2.5; return a",
    "a = np.cumsum(np.full(3, k)); a[0] = 2.5; return a",
    "a = np.full(3, max(k, 2)); a[0] = 2.5; return a",
    "a = np.full(3, max(x[0], 2)); a[0] = 2.5; return a",
    "a = np.where(x > 2, np.full(3, k), 1); a[0] = 2.5; return a",
    "a = np.concatenate([np.full(3, k), np.arange(2)]); a[0] = 2.5; return a",
    "a = np.full(3, k); a.fill(2.5); return a",
    "a = np.full(3, k); np.copyto(a, x); return a",
    "a = np.full(3, k); a *= 1.5; return a",
    f"{SUM}\n    a = np.full(2, s); a[0] = .5; return a",
    "l = []\n    for i in range(n):\n        l.append(k)\n    a = np.array(l); a[0] = .5; return a",
    "a = [k]\n    for i in range(n):\n        a.append(2)\n    b = np.array(a)\n"
    "    b[0] = .5; return b",
    "a = np.zeros(3, int)\n    for i in range(n):\n        a[0] = 7.5; a = a * 0.5\n    return a",
    "m = x > 2\n    if c:\n        m = np.array([0.5, 1, 2])\n    w = m * 1\n"
    "    q = np.full(2, k + w[0]); q[0] = 0.5; return q",
    "def put(a): a[0] = 2.5\n    a = np.full(3, k); put(a); return a",
    "a = np.full(3, 1j) if c else np.full(3, k)\n    for i in range(n):\n        a = a * 2\n"
    "    a[0] = 1j; return a",
]
# The dtype is the same on both paths, or does not matter.
RIGHT = [
    "a = np.array([k, 1.0]); a[0] = 2.5; return a",
    "a = np.array([k, 1], dtype=float); a[0] = 2.5; return a",
    "a = np.full(3, k, float); a[0] = 2.5; return a",
    "a = np.full(3, k) / 2; a[0] = 2.5; return a",
    "a = np.full(3, k).astype(float); a[0] = 2.5; return a",
    "a = np.full(3, float(k)); a[0] = 2.5; return a",
    "a = np.sqrt(np.full(3, k)); a[0] = 2.5; return a",
    "a = np.full(3, k); a[0] = 2; return a",
    "a = np.zeros(3); a[0] = k; return a",
    "a = np.full(3, k) * x; a[0] = 2.5; return a",
    f"{SUM}\n    a = np.array([s, 0.5]); a[0] = .5; return a",
    f"{SUM}\n    a = np.full(2, s); a[0] = .5; return a".replace("(n)", "(3)"),
    "l = []\n    for i in range(n):\n        l.append(x[i])\n    b = np.array(l)\n"
    "    b[0] = .5; return b",
    "return k // 2, k % 2, k * 3 - 1, k**2, -k, abs(k), k > 2",
]
OTHER = [
    "return isinstance(k, int)",
    "return 1.0 if type(k) is int else 2.0",
    "return k & 3 if c else 1",
    "return np.full(2, k).dtype == np.float64",
    "m = x > 2\n    for i in range(n):\n        m = np.array([0, 1, 2])\n    return x[m]",
    "m = x > 2\n    for i in range(n):\n        m = np.array([0, 1, 2])\n    return m + m",
    "m = x > 2\n    for i in range(n):\n        m = np.array([0, 1, 2])\n    return ~m",
    "m = x > 2\n    for i in range(n):\n        m = np.array([0., 1., 2.])\n    return m @ m",
]


def _judge(body: str, c: bool, x: Any, given: int) -> tuple[Any, Any, Any]:
    text = f"def f(c, x, n):\n    k = 3 if c else x[0]\n    {body.replace('; ', chr(10) + '    ')}"
    if "\n        a[0] = 7.5" in text:
        text = text.replace("\n    a = a * 0.5", "\n        a = a * 0.5")
    f = load(text)["f"]
    with np.errstate(all="ignore"):
        try:
            wanted: Any = f(c, x.copy(), given)
        except (TypeError, ValueError) as error:
            wanted = error
    try:
        return wanted, s2s.function(f, backend="loops")(c, x.copy(), given), None
    except s2s.UnsupportedError as error:
        return wanted, None, error


@pytest.mark.parametrize("body", STORES)
def test_a_store_that_numpy_would_truncate_is_refused(body):
    for c in (True, False):
        _, _, error = _judge(body, c, X, 2)
        assert error is not None and error.line and "on one path" in str(error), body


@pytest.mark.parametrize("body", OTHER)
def test_what_depends_on_the_dtype_is_refused(body):
    for c in (True, False):
        _, _, error = _judge(body, c, X, 2)
        assert error is not None and error.line, body


@pytest.mark.parametrize("body", RIGHT)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_where_the_dtype_does_not_matter_the_result_is_right(body, dtype):
    for c in (True, False):
        wanted, found, error = _judge(body, c, X.astype(dtype), 2)
        assert error is None, error
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-6)


def test_python_floats_and_float32_in_a_run_time_list():
    """NumPy's array of them is float64, with all digits of the Python floats."""

    def mixed(x):
        values = [x[0]]
        for i in range(x.shape[0]):
            values.append(0.1 * (i + 1))
        return np.array(values)

    x = np.array([1.5, 2.5], np.float32)
    found = s2s.function(mixed, backend="loops")(x)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, mixed(x))


def large_constant(c, x):
    return (123456789 if c else x[0]) % 10


def large_argument(c, x, n=123456789):
    return (n if c else x[0]) % 10


@pytest.mark.parametrize("function", [large_constant, large_argument])
def test_an_integer_that_float32_cannot_hold(function):
    compiled = s2s.function(function, backend="loops")
    x = X.astype(np.float32)
    assert compiled(False, x) == function(False, x)
    with pytest.raises(OverflowError, match="not exact in float32"):
        compiled(True, x)
    assert compiled(True, X) == 9


POWERS = [
    "x[0] * 2 ** -x.shape[0] + 3 ** -n",
    "np.sum(x) * 2 ** (1 - x.shape[0])",
    "sum([x[i] * 10 ** (-i) for i in range(3)])",
    "sum([x[i] * 10 ** i * 3 ** (2 - i) for i in range(3)])",
    "x[2 ** n % 3] * n ** n + 2 ** n // 3",
]


@pytest.mark.parametrize("backend", ["loops", "python"])
@pytest.mark.parametrize("body", POWERS)
def test_integers_to_negative_powers(body, backend):
    """Python's result is a float for negative exponents, and an integer for others."""
    f = load(f"def f(x, n):\n    return {body}")["f"]
    compiled = s2s.value_and_grad(f, backend=backend, wrt="x")
    for n in (3, -2, 0, 2):
        try:
            wanted = f(X, n)
        except TypeError:  # a float as an index
            continue
        except IndexError:
            continue
        value, gradient = compiled(X.copy(), n)
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
        for i in range(3):
            step = np.zeros(3)
            step[i] = 1e-6
            slope = (f(X + step, n) - f(X - step, n)) / 2e-6
            np.testing.assert_allclose(gradient[i], slope, rtol=1e-5, atol=1e-7)
