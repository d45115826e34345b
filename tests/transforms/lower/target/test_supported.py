"""What the target lacks is refused at the user's line."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.special

from s2s import UnsupportedError
from tests.cuda.compiling import compiled


def solve(a, b):
    return np.sum(np.linalg.solve(a, b))  # @


def transform(x):
    y = x * 2.0
    return np.abs(np.fft.fft(y)[0])  # @


def complexes(x):
    z = x * 1j
    return np.sum(z.imag)  # @


def draws(x):
    rng = np.random.default_rng(3)  # @
    return np.sum(x * rng.normal())


def prints(x):
    print("x", x[0])  # @
    return np.sum(x)


def factorial(x, n):
    return x if n == 0 else x * factorial(x, n - 1)


def recursion(x, n):
    return np.sum(x) * factorial(1.0, n)


def special(x):
    return np.sum(scipy.special.gamma(x))  # @


def half(x):
    return np.sum(x.astype(np.float16))  # @


X, A = np.ones(3), np.eye(3)


@pytest.mark.parametrize(
    ("f", "args", "says"),
    [
        (solve, (A, X), "a matrix function"),
        (transform, (X,), "complex numbers|a Fourier transform"),
        (complexes, (X,), "complex numbers"),
        (draws, (X,), "np.random.default_rng|random generators"),
        (prints, (X,), "print"),
        (special, (X,), "gamma"),
        (half, (X,), "float16"),
    ],
)
def test_refused(f, args, says):
    with pytest.raises(
        UnsupportedError, match=f'({says}) cannot be compiled with target="cuda"'
    ) as e:
        compiled(f, *args, mode="primal")
    lines, first = inspect.getsourcelines(f)
    marked = next(k for k, line in enumerate(lines) if "# @" in line)
    assert e.value.line == first + marked
    assert e.value.advice and e.value.column is not None


def test_records_are_refused():
    def f(r):
        return np.sum(r["a"])

    with pytest.raises(UnsupportedError, match="records"):
        compiled(f, np.zeros(3, [("a", "f8"), ("b", "i8")]), mode="primal")


def test_recursion_is_refused():
    with pytest.raises(UnsupportedError, match="recursive"):
        compiled(recursion, X, 3, mode="primal")
