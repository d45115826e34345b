"""Elementwise NumPy with broadcasting; where, maximum, clip; dtypes mixed."""

import numpy as np

from . import N, arr, bools, case, ints, num, pyfloat, value


@case(arr(N), arr(N), wrt=(0, 1), tags="elementwise jax")
def arithmetic(x, y):
    return np.sum((x + y) * (x - y) / (3.0 + y) + -x * 2.0 + 1.0 / (2.0 + x))


@case(arr(5, low=0.2, high=0.9), tags="elementwise jax")
def elementary_functions(x):
    a = np.exp(x) + np.log(x) + np.sqrt(x) + np.sin(x) + np.cos(x) + np.tan(x)
    b = np.arcsin(x) + np.arccos(x) + np.arctan(x) + np.sinh(x) + np.cosh(x) + np.tanh(x)
    c = np.log1p(x) + np.expm1(x) + np.log2(x) + np.log10(x) + np.exp2(x) + np.cbrt(x)
    d = np.square(x) + np.reciprocal(x) + np.arcsinh(x) + np.arctanh(x) + np.negative(x)
    return np.sum(a * b + c * d)


@case(arr(4), arr(4, low=0.5, high=1.5), wrt=(0, 1), tags="elementwise jax")
def binary_functions(x, y):
    return np.sum(
        np.arctan2(x, y)
        + np.hypot(x, y)
        + np.add(x, y) * np.subtract(x, y)
        + np.multiply(x, y) / np.divide(y, 2.0)
        + np.power(y, x)
        + np.logaddexp(x, y)
    )


@case(arr(4, low=0.5, high=1.5), arr(4), wrt=(0, 1), tags="elementwise powers jax")
def array_powers(x, y):
    return np.sum(x**2 + x**3.0 + x**-1 + x**0.5 + x**y + 2.0**y + y**2 * y**3 + x ** np.arange(4))


@case(arr(3, 4), arr(4), arr(3, 1), num(), wrt=(0, 1, 2, 3), tags="broadcasting jax")
def broadcast_everything(a, row, col, s):
    return np.sum((a * row + col) / (2.0 + s * row * col) - s)


@case(arr(3), arr(4), wrt=(0, 1), tags="broadcasting jax")
def outer_by_newaxis(x, y):
    return np.sum(np.sin(x[:, None] - y[None, :]) * x[:, None])


@case(arr(1, 4), arr(3, 1), arr(1, 1), wrt=(0, 1, 2), tags="broadcasting jax")
def ones_on_both_sides(a, b, c):
    return np.sum(a * b + c) + np.sum((a - b) ** 2 * c)


@case(arr(2, 1, 4), arr(3, 1), arr(4), wrt=(0, 1, 2), tags="broadcasting jax")
def three_ranks(a, b, c):
    return np.sum(a * b * c + b) + np.sum(a / (2.0 + c))


@case(arr(N, 3), arr(3), wrt=(0, 1), tags="broadcasting jax")
def batch_of_any_size(x, b):
    return np.sum(np.tanh(x * b + b))


@case(arr(1, 3), arr(3), wrt=(0, 1), tags="broadcasting jax")
def batch_of_one(x, b):
    return np.sum(np.tanh(x * b + b))


@case(arr(N), arr(1), wrt=(0, 1), tags="broadcasting jax")
def one_against_many(x, y):
    return np.sum(x * y) + np.sum(y - x)


@case(arr(4), arr(4), wrt=(0, 1), tags="elementwise kinks jax")
def maximum_and_minimum(x, y):
    return np.sum(np.maximum(x, y) * np.minimum(x, 0.3) + np.maximum(0.0, y) + np.fmax(x, -y))


@case(arr(5), tags="elementwise kinks jax")
def clipping(x):
    return np.sum(np.clip(x, -0.5, 0.5) * x) + np.sum(x.clip(-0.3, 0.4)) + np.clip(x[0], 0.0, 1.0)


@case(arr(5), num(-0.6, -0.5), num(0.5, 0.6), wrt=(0, 1, 2), tags="elementwise kinks")
def clipping_with_active_bounds(x, lo, hi):
    return np.sum(np.clip(x * 2.0, lo, hi) * x)


@case(arr(5), arr(5), wrt=(0, 1), tags="elementwise where jax")
def where_selects(x, y):
    return np.sum(np.where(x > y, x * x, y * 3.0)) + np.sum(np.where(x > 0.0, x, 0.0))


@case(arr(5), tags="elementwise where", jax=False)
def where_guards_singularity(x):
    return np.sum(np.where(x > 0.0, np.sqrt(np.maximum(x, 0.0)), 0.0))


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="elementwise where broadcasting jax")
def where_broadcasts(a, r):
    return np.sum(np.where(a > r, a, r) ** 2) + np.sum(np.where(r > 0, a, 1.0))


@case(arr(5), tags="elementwise kinks jax")
def absolute_and_sign(x):
    return np.sum(np.abs(x) * x + np.sign(x) * x**2 + np.absolute(x - 3.0) + abs(x) + np.fabs(x))


@case(arr(5, low=1.1, high=3.9), tags="elementwise rounding jax", seed=3)
def floors(x):
    y = np.floor(x) * x + np.ceil(x) * x**2 + np.round(x) * x
    return np.sum(y + np.trunc(x) * x + x // 1.0)


@case(arr(5, low=1.1, high=3.9), tags="elementwise rounding jax", seed=1)
def modulo_arrays(x):
    return np.sum(x % 0.7 + np.mod(x, 2.0) * x + np.remainder(-x, 0.9))


@case(arr(5), arr(5), wrt=(0, 1), tags="elementwise comparisons jax")
def comparisons_as_numbers(x, y):
    a = (x > y) * x + (x <= y) * y + ((x > 0) & (y > 0)) * x * y
    return np.sum(a + ((x != y) | (x < 0)) * x)


@case(arr(5), tags="elementwise logic jax")
def logical_functions(x):
    m = np.logical_and(x > -0.5, np.logical_not(x > 0.5))
    k = np.logical_or(m, np.isfinite(x)) & ~np.isnan(x)
    return np.sum(np.where(m, x, x * x)) + np.sum(np.where(k, x, 0.0))


@case(arr(4), bools(4), ints(4), tags="elementwise dtypes")
def float_with_bool_and_int(x, m, k):
    return np.sum(x * m + x * k + (x + 1.0) ** k + k / 2 + m * 2.0 * x)


@case(arr(4), tags="elementwise dtypes")
def mixed_precision(x):
    a = x.astype(np.float32)
    b = x.astype(np.float64) * 2.0
    c = a * np.float32(3.0)
    return np.sum(b * x) + float(np.sum(c)) * 0.0 + np.sum(b * b)


@case(arr(4), pyfloat(), wrt=(0, 1), tags="elementwise dtypes")
def python_float_stays_weak(x, k):
    return np.sum(x * k + k) * 2.0 + 0.5


@case(arr(4), tags="elementwise dtypes")
def literals_stay_weak(x):
    y = x * 2 + 1
    z = y / 3 - 0.25
    w = np.where(z > 0, z, 0.0)
    return (w * 2.0).sum()


@case(arr(4), ints(4, low=1, high=5), tags="elementwise dtypes")
def integer_division_of_arrays(x, k):
    return np.sum(x * (k // 2) + x * (k % 2) + x / k + x * (k**2) + (k > 2) * x)


@case(arr(4), tags="elementwise dtypes")
def integer_array_accumulates(x):
    k = np.arange(4)
    k += 2
    k[0] = 7
    k *= k
    return np.sum(x * k) / k.sum()


@case(arr(4), tags="elementwise dtypes")
def float32_constants(x):
    a = np.float32(0.1) * x
    b = np.zeros(4, dtype=np.float32) + x
    c = np.ones(4, np.float64) * x
    return np.sum(a * b * c)


@case(arr(), tags="elementwise zerodim")
def zero_dimensional(x):
    return x * x + np.sin(x)


@case(arr(), arr(3), wrt=(0, 1), tags="elementwise zerodim")
def zero_dimensional_broadcasts(s, x):
    y = s * x
    return np.sum(y * y) + s[()] * 2.0


@case(arr(0), tags="elementwise zerosize")
def empty_vector(x):
    return np.sum(x * x) + 1.0


@case(arr(0, 3), arr(3), wrt=(0, 1), tags="elementwise zerosize")
def empty_matrix(a, b):
    return np.sum(a * b) + np.sum(a @ b) + np.sum(b)


@case(arr(4), arr(4), wrt=(0, 1), tags="elementwise methods jax")
def methods(x, y):
    return (x * y).sum() + x.dot(y) + x.max() * y.min() + (x + y).mean() + x.copy().prod() + y.std()


@case(arr(3, 4), tags="elementwise attributes jax")
def shape_attributes(a):
    n, m = a.shape
    return np.sum(a * a) / a.size + n * a[0, 0] + m * a[1, 1] + a.ndim * a[2, 2] + len(a) * a[0, 1]


@case(arr(4), num(), wrt=(0, 1), tags="elementwise softmax jax")
def softmax_cross_entropy(z, t):
    z = z * t
    e = np.exp(z - np.max(z))
    p = e / np.sum(e)
    return -np.log(p[1])


@case(arr(4), tags="elementwise reuse jax")
def value_used_many_times(x):
    y = np.sin(x)
    return np.sum(y) * np.sum(y * y) + np.sum(y * x) - y[0] * y[1]


@case(value(np.array([0.3, -0.4])), num(), tags="elementwise inactive", wrt=1)
def inactive_array(data, k):
    d = np.exp(data) * 2.0
    return np.sum(d * k * k)


@case(arr(5), tags="elementwise stop jax")
def cast_to_integer_cuts(x):
    k = (x * 10.0).astype(np.int64)
    return np.sum(x * k)
