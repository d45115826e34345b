"""Scalar arithmetic, math and numpy alike; assignment of every kind."""

import math

import numpy as np

from . import N, arr, case, ints, num, pyfloat, value


@case(num(), tags="scalars jax")
def polynomial(x):
    return 3.0 * x**3 - 2.0 * x**2 + x - 7.0


@case(num(), num(), wrt=(0, 1), tags="scalars")
def two_arguments(x, y):
    a = x * y + np.sin(x)
    b = a / (1.0 + y * y)
    return a * b - b


@case(num(0.2, 0.9), tags="scalars math")
def math_functions(x):
    a = math.exp(x) + math.log(x) + math.sqrt(x) + math.sin(x) * math.cos(x)
    b = math.tan(x) + math.asin(x) + math.acos(x) + math.atan(x)
    c = math.sinh(x) + math.cosh(x) + math.tanh(x) + math.log1p(x) + math.expm1(x)
    return a * b + c


@case(num(0.2, 0.9), tags="scalars numpy")
def numpy_scalar_functions(x):
    a = np.exp(x) + np.log(x) + np.sqrt(x) + np.sin(x) * np.cos(x)
    b = np.tan(x) + np.arcsin(x) + np.arccos(x) + np.arctan(x)
    c = np.sinh(x) + np.cosh(x) + np.tanh(x) + np.log1p(x) + np.expm1(x)
    return a * b + c


@case(num(0.5, 2.0), num(0.5, 2.0), wrt=(0, 1), tags="scalars math")
def math_binary(x, y):
    return math.atan2(x, y) + math.hypot(x, y) + math.pow(x, y) + math.fabs(x - 3.0)


@case(num(1.1, 2.0), tags="scalars math")
def inverse_hyperbolic(x):
    return math.acosh(x) + math.asinh(x) + math.atanh(x / 3.0) + np.arccosh(x) * np.arctanh(x / 4)


@case(num(1.1, 2.0), tags="scalars math")
def logs_of_other_bases(x):
    return math.log2(x) + math.log10(x) + math.log(x, 3.0) + np.log2(x) * np.log10(x)


@case(num(), tags="scalars math")
def math_constants(x):
    return math.pi * x + math.e * x * x + np.pi * np.sin(np.e * x)


@case(num(0.5, 1.5), num(0.5, 1.5), wrt=(0, 1), tags="scalars powers")
def powers(x, y):
    return x**2 + x**-1 + x**0.5 + x**y + 2.0**y + (x + y) ** 3 + pow(x, 3) + x**0 + x**1


@case(num(-2.0, -0.5), tags="scalars powers")
def integer_powers_of_negative(x):
    return x**2 - x**3 + x**4 / x**-2 + (-x) ** 1.5


@case(num(0.3, 1.0), pyfloat(0.3, 1.0), wrt=(0, 1), tags="scalars augmented")
def augmented_arithmetic(x, y):
    a = x
    a += y
    a -= 0.25 * y
    a *= x
    a /= 1.0 + y
    a **= 2
    return a


@case(num(3.2, 3.8), tags="scalars augmented")
def augmented_floor_and_modulo(x):
    a = x * x
    a //= 2.0
    b = x * 5.0
    b %= 3.0
    return a * x + b * x


@case(num(), ints(low=1, high=6), tags="scalars augmented integers")
def augmented_integers(x, k):
    m = int(k)
    m <<= 2
    m |= 1
    m ^= 3
    m &= 0xFF
    m >>= 1
    m += 1
    return x * m


@case(num(), tags="scalars assignment")
def swap_and_chain(x):
    a = b = x * 2.0
    a, b = b + 1.0, a * x
    (c, d), e = (a, b), a - b
    a, b = b, a
    c = d = c * e
    return a * b + c * d


@case(num(), tags="scalars assignment")
def rotate_three(x):
    a, b, c = x, x * x, np.sin(x)
    a, b, c = c, a, b
    a, b, c = c, a * b, b
    return a - 2.0 * b + 3.0 * c


@case(num(), tags="scalars assignment")
def star_unpacking(x):
    first, *rest = (x, x * 2.0, x * 3.0)
    *head, last = rest
    return first * head[0] + last


@case(num(0.5, 1.0), tags="scalars walrus")
def walrus_in_expression(x):
    return (a := x * x) * (b := a + 1.0) + a / b


@case(num(0.5, 1.0), tags="scalars walrus branches")
def walrus_in_condition(x):
    if (y := x * 3.0) > 1.0:
        return y * y
    return y


@case(num(), tags="scalars expressions")
def conditional_expression(x):
    a = x * 2.0 if x > 0 else x * 3.0
    return (a if a < 10.0 else 10.0) * (1.0 if x > 100 else x)


@case(num(0.2, 0.8), tags="scalars expressions")
def chained_comparison(x):
    if 0.0 < x <= 1.0 < 2.0:
        y = x * 3.0
    else:
        y = x
    return y * (0.0 < x < 1.0)


@case(num(0.2, 0.8), num(0.2, 0.8), wrt=(0, 1), tags="scalars expressions")
def boolean_operators(x, y):
    s = 0.0
    if x > 0.0 and y > 0.0:
        s = s + x
    if x > 5.0 or not y > 5.0:
        s = s + x * y
    if not (x > 0.1 and (y < 0.0 or x < 0.9)):
        s = s * 2.0
    return s


@case(num(0.2, 0.8), num(0.2, 0.8), wrt=(0, 1), tags="scalars expressions")
def short_circuit_guards(x, y):
    # the right side would divide by zero
    zero = 0.0
    if zero != 0.0 and x / zero > 1.0:
        return x
    if zero == 0.0 or y / zero > 1.0:
        return x * y * y
    return y


@case(num(), num(), wrt=(0, 1), tags="scalars builtins")
def builtin_min_max_abs(x, y):
    return max(x, y) * 2.0 + min(x, y, 3.0) + abs(x - 5.0) + max(x * y, -4.0, y)


@case(num(0.3, 0.9), tags="scalars builtins")
def builtin_conversions(x):
    k = int(x * 10.0)
    return float(x) * k + float(k) + x * bool(k) + round(x * 4) * x


@case(num(), tags="scalars integers")
def integer_arithmetic(x):
    k = 7 // 2 + 7 % 4 - (-7) // 2 + (-7) % 3
    j = 2**5 // 3
    i = (5 & 3) | (8 ^ 2) | (1 << 4) | (~3 & 0xF)
    return x * k + x**2 * j + x * i / 10


@case(num(1.2, 1.8), tags="scalars rounding")
def floor_and_friends(x):
    return x * np.floor(x) + x * math.ceil(x) + np.sign(x) * x**2 + math.floor(x * 3) * x


@case(num(), tags="scalars unary")
def unary_operators(x):
    return -x * +x - -(x * -1.0) + abs(-x) + (not x > 5.0) * x


@case(num(0.1, 0.9), value(3), tags="scalars integers")
def integer_argument(x, k):
    return x**k + k * x / (k + 1) + (x if k % 2 else -x)


@case(num(0.1, 0.9), value(True), tags="scalars booleans")
def boolean_argument(x, flag):
    if flag:
        return x * x
    return x


@case(num(), tags="scalars inactive")
def result_does_not_depend(x):
    y = x * 0.0 + 1.0
    return 3.0 + 0.0 * y


@case(num(), num(), wrt=(0, 1), tags="scalars inactive")
def one_argument_unused(x, y):
    return x * x


@case(num(), tags="scalars inactive")
def constant_result(x):
    return 2.0


@case(num(), tags="scalars identity")
def returns_its_argument(x):
    return x


@case(num(0.1, 0.9), tags="scalars numpy")
def numpy_scalar_types(x):
    a = np.float64(2.0) * x
    b = np.float64(x) + np.int64(3)
    return a * b


@case(num(0.5, 0.9), tags="scalars math")
def error_functions(x):
    return math.erf(x) + math.erfc(x) * 2.0


@case(num(0.5, 0.9), num(1.0, 1.5), wrt=(0, 1), tags="scalars numpy")
def numpy_binary_scalars(x, y):
    return np.maximum(x, y) * np.minimum(x, y) + np.arctan2(y, x) + np.hypot(x, y) + np.power(x, y)


@case(num(1.2, 1.9), tags="scalars numpy")
def remainder_and_mod(x):
    return x % 0.7 + np.mod(x, 0.4) * x + x // 0.5 + np.fmod(x, 0.9)


@case(arr(N), num(), tags="scalars long", wrt=(0, 1))
def many_temporaries(x, k):
    s = k
    for i in range(x.shape[0]):
        a = x[i] * s
        b = a + s
        c = b * a
        d = c - b
        e = d / (1.0 + c * c)
        s = e + a
    return s
