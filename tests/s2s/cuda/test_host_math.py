"""Functions of kernels in emulation, against Python's and NumPy's."""

import math

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

import s2s
from s2s.cuda import host_math
from tests.s2s.cuda.running import run
from tests.s2s.cuda.texts import HEADER, Program, Text, kernel

FUNCTIONS = {
    "math.exp": np.exp, "math.log": np.log, "math.sin": np.sin, "math.cos": np.cos,
    "math.tan": np.tan, "math.tanh": np.tanh, "math.sinh": np.sinh, "math.cosh": np.cosh,
    "math.sqrt": np.sqrt, "math.atan": np.arctan, "math.log1p": np.log1p, "math.expm1": np.expm1,
    "math.erf": np.vectorize(math.erf), "math.isnan": np.isnan, "math.isinf": np.isinf,
    "math.isfinite": np.isfinite, "math.log2": np.log2, "math.log10": np.log10, "abs": np.abs,
    "libdevice.floor": np.floor, "libdevice.ceil": np.ceil, "libdevice.rint": np.rint,
    "libdevice.trunc": np.trunc, "libdevice.cbrt": np.cbrt, "libdevice.exp2": np.exp2,
    "libdevice.rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
VALUES = np.array([0.25, 1.0, 2.5, 3.5, 7.75, np.inf, np.nan, 1e-300])


def text(function, dtype):
    lines = f"""

@cuda.jit
def k(err, n, x, y):
    for i in range(n):
        y[i] = {function}(x[i])


def f(dev, x):
    err, err_values = dev.begin(())
    y = dev.empty(x.shape, np.{dtype})
    dev.launch(k, 1, 1, err, x.shape[0], x, y)
    return (y,)
"""
    about = kernel("k", "err: int64*", "n: int64", f"x: {dtype}*", f"y: {dtype}*")
    return Text(HEADER + lines, "f", Program((about,)))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", (np.float64, np.float32))
def test_function(function, dtype):
    if dtype is np.float32 and function.startswith("libdevice."):
        name = f"{function}f"
    else:
        name = function
    x = VALUES.astype(dtype)
    (found,) = run(text(name, np.dtype(dtype).name), x)
    with np.errstate(all="ignore"):
        expected = np.asarray(FUNCTIONS[function](x)).astype(dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype is np.float32 else 1e-14)


def test_integers():
    source = text("abs", "int64")
    x = np.array([-3, 0, 5, -(2**62)])
    (found,) = run(source, x)
    np.testing.assert_array_equal(found, np.abs(x))


def test_unknown_functions_are_refused():
    with pytest.raises(s2s.UnsupportedError, match="__nv_unknown"):
        host_math.replaced('declare double @"__nv_unknown"(double %".1")')
