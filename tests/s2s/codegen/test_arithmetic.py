"""Arithmetic on common scalar types: NumPy's results, without importing Numba."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import s2s

X = np.array([1.5, -2.5, 0.0, np.nan, np.inf, -np.inf, -0.5])
I = np.array([7, -7, 7, -7, 0, 5, 6])  # noqa: E741
J = np.array([2, 2, -2, -2, 3, 1, 4])


def table(x: Any, i: Any, j: Any) -> Any:
    out = np.zeros((x.shape[0], 20), x.dtype)
    for k in range(x.shape[0]):
        out[k, 0] = np.sign(x[k])
        out[k, 1] = abs(x[k])
        out[k, 2] = np.isfinite(x[k])
        out[k, 3] = np.isinf(x[k])
        out[k, 4] = np.maximum(x[k], 0.5)
        out[k, 5] = np.minimum(x[k], 0.5)
        out[k, 6] = i[k] // j[k]
        out[k, 7] = i[k] % j[k]
        out[k, 8] = x[k] ** -3
        out[k, 9] = abs(i[k])
        out[k, 10] = np.floor(x[k])
        out[k, 11] = np.rint(x[k])
        out[k, 12] = x[k] ** 5
        out[k, 13] = (i[k] & j[k]) + (i[k] | j[k]) * 2 + (i[k] ^ j[k]) * 3
        out[k, 14] = np.copysign(2.0, x[k])
        out[k, 15] = i[k] ** 3
        out[k, 16] = np.sqrt(abs(x[k]))
        out[k, 17] = np.isnan(x[k]) and not i[k] < j[k]
        out[k, 18] = (i[k] << 2) + (i[k] >> 1)
        out[k, 19] = i[k] ** abs(j[k]) + 2 ** abs(i[k])
    return np.sum(x), out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_numpy(dtype: Any) -> None:
    x = X.astype(dtype)
    with np.errstate(all="ignore"):
        _, expected = table(x, I, J)
    (_, found), _ = s2s.value_and_grad(table, wrt="x", has_aux=True, backend="numba")(x, I, J)
    np.testing.assert_array_equal(found, expected)


ALONE = """
import sys
import numpy as np
import s2s

def loss(w, x, n):
    kept = []
    if x[1] > 1.0:
        raise ValueError(f"{x[1]} is more than {n / 4}, with {x.shape[0]} numbers")
    for i in range(n << 1 >> n ** (n - 4)):
        if x[i] > 0.0:
            kept.append(np.tanh(w @ w) * x[i] ** 2 / np.sqrt(x[i]))
    total = np.sum(np.maximum(w, 0.1))
    for value in kept:
        total += value
    return total

g = s2s.grad(loss, wrt="w", backend="native")(np.ones((3, 3))[0], np.arange(4.0), 4)
assert np.all(np.isfinite(g))
try:
    s2s.grad(loss, wrt="w", backend="native")(np.ones(3), 2 * np.arange(4.0), 4)
except ValueError as error:
    print(error)
print("numba" in sys.modules)
"""


def test_without_numba(tmp_path: Any) -> None:
    """Also growing lists, and error messages with run-time values."""
    program = tmp_path / "program.py"
    program.write_text(ALONE)
    environment = {"S2S_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1:] == ["False"], done.stderr
    assert "2.0 is more than 1.0, with 4 numbers" in done.stdout


@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_powers_of_whole_numbers(backend: Any) -> None:
    def f(x: Any, b: Any, n: Any) -> Any:
        return np.sum(x) * (b**n)

    g = s2s.grad(f, wrt="x", backend=backend)
    for b, n in ((2, 0), (0, 0), (0, 3), (-3, 5), (2, 62), (2, 63), (2, 64), (3, 100), (7, 1)):
        with np.errstate(over="ignore"):
            want = float(np.int64(b) ** np.int64(n))
        np.testing.assert_array_equal(g(np.ones(2), b, n), [want, want])
    # An integer to a negative power is a float in Python.
    np.testing.assert_array_equal(g(np.ones(2), 2, -1), [0.5, 0.5])


@pytest.mark.parametrize("n", [1, 64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_inverse_of_a_root_is_no_estimate(dtype: Any, n: int) -> None:
    """In vectorised code, LLVM would use an estimate, which is nan for 0 and infinity."""

    def inverse(x: Any) -> Any:
        return 1.0 / np.sqrt(x)

    tiny = np.finfo(dtype).smallest_subnormal
    x = np.repeat(np.array([0.0, -0.0, np.inf, tiny, 0.7, 2.0, 1e30], dtype), n)
    with np.errstate(all="ignore"):
        expected = dtype(1.0) / np.sqrt(x)
    for backend in (s2s.function(inverse, backend="numba"), _inside(inverse)):
        np.testing.assert_allclose(backend(x), expected, rtol=float(np.finfo(dtype).eps))


def _inside(f: Any) -> Any:
    import numba

    compiled = s2s.function(f)

    @numba.njit
    def called(x: Any) -> Any:
        return compiled(x)

    return called
