"""Recursive functions: each takes a number or an array, and an int that bounds its depth.

The compiler reads their source, so they are in a separate file."""

# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import dataclasses
from collections import namedtuple

import numpy as np

SCALE = 1.3
TABLE = np.array([0.5, 1.5, -0.7])
Pair = namedtuple("Pair", "a b")

# ---------------------------------------------------------------- numbers


def itself(x, n):
    if n == 0:
        return np.sin(x)
    return x * itself(x * 0.9, n - 1) + 0.1


def _fib(x, n):
    if n < 2:
        return x + n
    return _fib(x, n - 1) * 0.7 + _fib(x * 0.9, n - 2)


def tree(x, n):
    return _fib(x, n + 1)


def _even(x, n):
    return x if n == 0 else _odd(x * x, n - 1)


def _odd(x, n):
    return x * 3.0 if n == 0 else _even(x + 0.5, n - 1)


def mutual(x, n):
    return _even(x, n) + x


def _is_even(n):
    return n == 0 or _is_odd(n - 1)


def _is_odd(n):
    return n != 0 and _is_even(n - 1)


def short_circuit(x, n):
    return x * x if _is_even(n) else x


def inside_loops(x, n):
    s = 0.0
    for i in range(n):
        s += _fib(x, i) * s + _fib(x + s, i)
    return s


def _branching(x, n):
    if n <= 0:
        return np.sin(x)
    s = 0.0
    for k in range(n):
        s += _branching(x * (k + 1) * 0.3, n - 1) * x
    return s


def loops_inside(x, n):
    return _branching(x, n)


def in_a_while_test(x, n):
    i = 0
    s = x
    while i < n and _fib(x, i) < 100.0:
        s = s * _fib(x, 2) * 0.5
        i += 1
    return s


def _nested(x, m, n):
    if m == 0:
        return x * 0.5 + n
    if n == 0:
        return _nested(x * 0.9, m - 1, 1)
    return _nested(_nested(x, m, n - 1) * 0.1, m - 1, 1)


def result_as_argument(x, n):
    return _nested(x, min(n, 2), 1)


def _gcd(a, b):
    if b == 0:
        return a
    return _gcd(b, a % b)


def integer_result(x, n):
    s = x
    for _ in range(_gcd(12, n + 6)):
        s = s * 1.1 + x * x
    return s


def _reaches(x, n):
    if n == 0:
        return x * SCALE
    return _reaches(x * TABLE[n % 3], n - 1) + TABLE[0] * SCALE


def global_values(x, n):
    return _reaches(x, n)


def closure(x, n):
    w = x * x
    values = np.array([1.0, 2.0, 3.0]) * x

    def go(t, k, s=w):
        if k == 0:
            return t * w + s
        return go(t * values[k % 3], k - 1) * 0.5 + x

    return go(x, n) + go(x * 0.5, n, x)


def closure_over_a_variable(x, n):
    s = 1.0

    def go(t, k):
        if k == 0:
            return t * s
        return go(t * 0.5, k - 1) * t

    a = go(x, n)
    s = x * x
    return a + go(x, n)


def _simpson(f, a, b, depth, tol):
    m = 0.5 * (a + b)
    whole = (b - a) / 6 * (f(a) + 4 * f(m) + f(b))
    left = (m - a) / 6 * (f(a) + 4 * f(0.5 * (a + m)) + f(m))
    right = (b - m) / 6 * (f(m) + 4 * f(0.5 * (m + b)) + f(b))
    if depth <= 0 or abs(left + right - whole) < tol:
        return left + right
    return _simpson(f, a, m, depth - 1, tol / 2) + _simpson(f, m, b, depth - 1, tol / 2)


def function_as_argument(x, n):
    def f(t):
        return np.exp(t * x) * np.sin(3 * t)

    return _simpson(f, 0.0, 1.0 + x * 0.1, n + 1, 1e-9)


def _two(x, y, n):
    if n == 0:
        return x, y
    a, b = _two(x * y, x + y, n - 1)
    return a * b, b


def tuple_result(x, n):
    a, b = _two(x, x * x, n)
    return a + b * x


def _named(p, n):
    if n == 0:
        return Pair(p.a * p.b, p.a)
    q = _named(Pair(p.a + p.b, p.b * 0.5), n - 1)
    return Pair(q.b, q.a * p.a)


def namedtuple_result(x, n):
    q = _named(Pair(x, x * x), n)
    return q.a + q.b


def _swaps(d, n):
    if n == 0:
        return d["a"] * d["b"]
    return _swaps({"a": d["b"], "b": d["a"] * 0.5}, n - 1) + d["a"]


def dict_argument(x, n):
    return _swaps({"a": x, "b": x * x}, n)


@dataclasses.dataclass
class Model:
    u: float
    v: np.ndarray

    def step(self, x, n):
        if n == 0:
            return x * self.u + self.v.sum()
        return self.step(x * self.u, n - 1) + self.v[0]


def method(x, n):
    return Model(x, np.array([x, 1.0])).step(x, n)


class Chain:
    def __init__(self):
        self.w = 0.7
        self.t = np.array([1.0, 2.0])
        self.k = 3

    def go(self, x, n):
        if n <= 0:
            return x * self.w
        return self.go(x * self.t[n % 2], n - 1) + self.k


CHAIN = Chain()


def method_of_an_object(x, n):
    return CHAIN.go(x, n)


def _defaults(x, n, acc=1.0, *rest, scale=2.0):
    if n == 0:
        return acc * scale * x
    return _defaults(x, n - 1, acc * x, *rest, scale=scale * 0.5)


def default_arguments(x, n):
    return _defaults(x, n) + _defaults(x, n, 2.0, scale=x)


def _deep(x, k=100):
    if k == 0:
        return x
    return _deep(x * 1.01, k - 1)


def deep_but_known(x, n):
    return _deep(x) + n


def reached_in_one_branch(x, n):
    def go(t, k):
        if k == 0:
            return t * TABLE[1]
        return go(t * TABLE[0] * SCALE, k - 1)

    if n > 1:
        return go(x, n)
    return go(x * x, n) * TABLE[2]


def same_name_as_its_gradient_vjp(x, n):
    if n == 0:
        return x
    return same_name_as_its_gradient_vjp(x * x, n - 1)


def same_name_as_its_gradient(x, n):
    return same_name_as_its_gradient_vjp(x, n) * x


def _first(x, n):
    if n <= 0:
        return x * x
    return _first(x * 0.5, n - 1) + _second(x, n - 1) * x


def _second(x, n):
    if n > 0:
        return _second(x * 0.7, n - 2) * _first(x, n - 1)
    return np.sin(x)


def each_other_and_themselves(x, n):
    return _first(x, n) + _second(x, n)


def _through(x, n):
    if n <= 0:
        return x
    return _baseless(x * x, n - 1) + _baseless(x, n - 2)


def _baseless(x, n):
    return _through(x * 0.5, n) * _last(x, n)


def _last(x, n):
    if n <= 0:
        return _through(x, n - 1)
    return _last(x, n - 1) + _through(x, n - 1)


def base_case_elsewhere(x, n):
    return _through(x, n)


# ---------------------------------------------------------------- arrays


def _reduce(a, n):
    if n <= 0:
        return np.sum(a * a)
    return _reduce(a * 0.5 + 0.1, n - 1) * 1.1


def array_argument(a, n):
    return _reduce(a, n)


def _maps(a, n):
    if n == 0:
        return a
    return _maps(np.tanh(a), n - 1) * a


def array_result(a, n):
    return np.sum(_maps(a, n) ** 2)


def _squares(a):
    if len(a) == 0:
        return 0.0
    return a[0] ** 2 * len(a) + _squares(a[1:])


def shorter_and_shorter(a, n):
    return _squares(a[:n]) * 2.0


def _along(m, k, n):
    if n == 0:
        return np.sum(m, axis=k)
    return _along(m * 0.5, k, n - 1) + 1.0


def axis_must_be_known(a, n):
    m = np.outer(a, a)
    return np.sum(_along(m, 0, n) * _along(m, 1, n) ** 2)


def _broadcasts(a, b, n):
    if n == 0:
        return a + b
    return _broadcasts(a * b, b, n - 1) - a


def broadcasting(a, n):
    return np.sum(_broadcasts(a, a[0], n)) + np.sum(_broadcasts(a, a[:1], n) * a)


def one_array_twice(a, n):
    def two(p, q, k):
        if k == 0:
            return p, p
        r, s = two(q, p * q, k - 1)
        return r + p, s

    u, v = two(a, a, n)
    return np.sum(u * v)


def _writes(a, n):
    b = a.copy()
    b[0] = b[0] * 2.0
    for i in range(1, len(b)):
        b[i] += b[i - 1] * b[i]
    if n == 0:
        return b
    return _writes(b * 0.5, n - 1)


def local_writes(a, n):
    y = _writes(a, n)
    y[1] = y[0] * y[1]
    return np.sum(y * a)


def _horner(c, x, i):
    return c[i] if i == len(c) - 1 else c[i] + x * _horner(c, x, i + 1)


def polynomial(a, n):
    return _horner(a, a[0] + n, 0)


def _powers(m, n):
    if n > 1:
        h = _powers(m, n // 2)
        return h @ h if n % 2 == 0 else h @ h @ m
    return m


def matrix_power(a, n):
    return np.sum(_powers(np.outer(a, a) + np.eye(len(a)), n + 1))


NUMBERS = (
    itself, tree, mutual, short_circuit, inside_loops, loops_inside, in_a_while_test,
    result_as_argument, integer_result, global_values, closure, closure_over_a_variable,
    function_as_argument, tuple_result, namedtuple_result, dict_argument, method,
    method_of_an_object, default_arguments, deep_but_known, reached_in_one_branch,
    same_name_as_its_gradient, each_other_and_themselves, base_case_elsewhere,
)  # fmt: skip
ARRAYS = (
    array_argument, array_result, shorter_and_shorter, axis_must_be_known, broadcasting,
    one_array_twice, local_writes, polynomial, matrix_power,
)  # fmt: skip

# ---------------------------------------------------------------- prints and errors


def chatty(x, n):
    print("level", n)
    if n == 0:
        return x
    return chatty(x * x, n - 1) * x


def strict(x, n):
    if n < 0:
        raise ValueError(f"negative: {n}")
    if n == 0:
        return x
    return strict(x, n - 1) * x


def strict_in_vain(x, n):
    strict(x, n)
    return x * x


def _weigh(records, i, x):
    if i == len(records):
        return x * x
    return _weigh(records, i + 1, x * records[i]["w"] + records["v"][i])


def over_records(x, records):
    return _weigh(records, 0, x)


# ---------------------------------------------------------------- refusals


def endless(x, n):
    if n > 0:
        return endless(x, n + 1) * x
    return endless(x, n - 1)


def writes_argument(a, n):
    a[0] = a[0] * 2.0
    if n == 0:
        return np.sum(a)
    return writes_argument(a, n - 1)


def _grows(t, n):
    if n == 0:
        return t[0]
    return _grows((t[0] * 2, *t), n - 1)


def growing_tuple(x, n):
    return _grows((x,), n)


def _lists(items, n):
    if n == 0:
        return items[0]
    return _lists(items, n - 1)


def growing_list(x, n):
    items = []
    for _ in range(n + 1):
        items.append(x)
    return _lists(items, n)


def _same(a, n):
    if n == 0:
        return a
    return _same(a * 2, n - 1)


def writes_shared_result(a, n):
    y = _same(a, n)
    y[0] = 3.0
    return np.sum(y * a)


def _maker(x, n):
    if n == 0:
        return lambda t: t * x
    return _maker(x * 2, n - 1)


def returns_function(x, n):
    return _maker(x, n)(x)


REFUSED = (
    (endless, "never returns", "does not call itself"),
    (writes_argument, "belongs to the caller", "return the copy"),
    (growing_tuple, "another kind of argument", "one type, rank and structure"),
    (growing_list, "length is known only at run time", "pass numbers, arrays"),
    (writes_shared_result, "may share memory with a", "copy"),
    (returns_function, "nested function cannot be returned", "return numbers or arrays"),
)  # fmt: skip
