"""Programs as users of NumPy, Numba and Keras write them, against CPython and differences: writes
through views, aliases, closures, classes, recursion, caught errors, mixed dtypes."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import s2s
from tests.scale import sample


def writes_through_a_strided_view(x):
    a = x.copy()
    v = a[::2]
    for i in range(v.shape[0]):
        v[i] = v[i] * a[i]
        v *= 1.1
    return np.sum(a * a)


def views_of_a_transposed_matrix(x):
    m = np.outer(x, x)
    t = m.T
    r = t[1:]
    for i in range(3):
        m[i, :] += r[0, i] * t[i, 0]
    return np.sum(r) + m[0, 1]


def swapped_buffers_with_borders(x):
    a = x.copy()
    b = np.zeros_like(a)
    for _ in range(4):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        b[0] = a[0]
        b[-1] = a[-1] * a[1]
        a, b = (b, a)
    return a[2] * b[1]


def overlapping_copies(x):
    a = np.concatenate([x, x])
    a[1:] = a[:-1]
    a[:-2] += a[2:]
    return np.sum(a**2)


def adds_its_own_reverse(x):
    a = x * 2
    a += a[::-1]
    a[::-1] -= a * 0.3
    return np.sum(a * x)


@dataclass
class Body:
    pos: np.ndarray
    vel: np.ndarray
    mass: float = 1.0

    def step(self, dt):
        self.pos = self.pos + dt * self.vel
        return self

    @property
    def energy(self):
        return 0.5 * self.mass * np.sum(self.vel**2)


def dataclasses_that_step(x):
    bs = [Body(x * i, x + i, float(i)) for i in range(1, 4)]
    for _ in range(3):
        for b in bs:
            b.vel = b.vel - 0.1 * b.pos
            b.step(0.1)
    return sum(b.energy for b in bs)


def closure_over_a_list_cell(x):
    total = [0.0]

    def add(v):
        total[0] += v * v
        return total[0]

    for v in x:
        add(v)
    return total[0] * add(x[0])


def recursion_on_halves(x):

    def rec(a):
        n = a.shape[0]
        if n == 1:
            return a[0] * a[0]
        return rec(a[: n // 2]) + np.sin(rec(a[n // 2 :]))

    return rec(x)


def errors_that_are_caught(x):
    s = 0.0
    for v in x:
        try:
            if v < 1.0:
                raise ValueError("small")
            s += v * v
        except ValueError:
            s -= v
    return s


def while_with_break_and_else(x):
    y = x[0]
    n = 0
    while y < 50.0:
        y = y * y + x[1]
        n += 1
        if n > 7:
            break
    else:
        y = y * 2.0
    return y + n


def dict_of_parameters(x):
    p = {"w": x * 1.0, "b": x[:1] * 2}
    for _ in range(3):
        p = {n: v - 0.1 * np.tanh(v) for n, v in p.items()}
        p["w"][0] += p["b"][0]
    return np.sum(p["w"] ** 2) + p["b"][0]


def sorts_and_scatters(x):
    i = np.argsort(x)
    a = x[i]
    a[i] += a
    b = np.zeros(5)
    np.add.at(b, i % 3, a)
    return np.sum(b * b)


def masks_that_write(x):
    a = x.copy()
    m = a > 1.0
    a[m] *= a[~m].sum() + 1
    a[~m] = a[m].mean()
    return np.sum(a**2)


def integers_among_floats(x):
    n = x.shape[0]
    k = n // 2
    acc = 0
    for i in range(n):
        acc += i * (i % 2 or 1)
    return x[k] * acc / n**2 + x[-1] * 2 ** (-k)


def chained_comparison_with_walrus(x):
    s = 0.0
    for v in x:
        if 0.2 < (w := (v * v)) < 5.0:
            s += w
        elif (w := (w - 1)) > 3:
            s += np.sqrt(w)
    return s


def zip_of_shifted_slices(x):
    s = 0.0
    for i, (a, *rest) in enumerate(zip(x, x[1:], x[2:])):
        s += a * rest[0] - i * rest[-1] ** 2
    return s


def matrix_of_lists(x):
    m = [[x[i] * x[j] for j in range(3)] for i in range(3)]
    m[1][2] += m[0][1]
    m[0], m[2] = (m[2], m[0])
    return sum(m[i][j] * (i - j) for i in range(3) for j in range(3))


def einsum_and_reductions(x):
    a = x[:, None] * np.arange(4.0)
    return np.einsum("ij,kj->", a, np.sin(a)) + (a.sum(0) * a.max(0)).prod() * 1e-06


def ufuncs_with_out(x):
    a = np.cumsum(x)
    np.multiply(a, x, out=a)
    np.exp(-a, out=a)
    return a.sum()


def late_and_early_binding(x):
    fs = [lambda v, i=i: v ** (i + 1) for i in range(3)]
    gs = [lambda v: v * i for i in range(3)]
    return sum(f(x[1]) for f in fs) + sum(g(x[0]) for g in gs)


def nested_generator_expressions(x):
    return sum(v * w for v in x for w in x if v != w) * (
        1.0 if any(v > 1 for v in x) and (not all(v > 1 for v in x)) else 2.0
    )


def rows_as_loop_variables(x):
    m = np.outer(x, np.ones(3))
    for r in m:
        r *= r[0]
        r[1:] += r[:-1]
    return np.sum(m * m)


def writes_through_reshape(x):
    a = np.tile(x, 2)
    b = a.reshape(2, -1)
    b[1] *= 2
    c = a.ravel()
    c[0] = 7.0
    return np.sum(a * a) + b[0, 1]


def nested_where(x):
    return np.sum(np.where(x > 1, np.log(np.where(x > 1, x, 1.0)), np.where(x < 0.6, x**3, 1 / x)))


def ties_of_maxima(x):
    m = max(x[0], x[1] * 0 + x[0])
    return m + np.clip(x, 0.5, 2.0).sum() + np.maximum(x, x[::-1]).sum()


def complex_fft(x):
    z = x + 1j * x[::-1]
    f = np.fft.fft(z)
    return np.sum(np.abs(f) ** 2 * np.arange(x.shape[0])) + np.real(z.conj() @ z)


def solves_in_a_loop(x):
    a = np.outer(x, x) + np.eye(x.shape[0]) * 3
    b = x.copy()
    for _ in range(3):
        b = np.linalg.solve(a, b)
        a = a + np.outer(b, b)
    return np.sum(b) * np.linalg.det(a) * 0.001


def partial_and_reduce(x):
    f = functools.partial(lambda a, b, c: a * b + c, c=x[0])
    return functools.reduce(f, list(x)) + sum(map(lambda v: v**2, x))  # noqa: C417


def product_of_iterators(x):
    return sum((a * b for a, b in itertools.product(x, x[:2]))) + sum(
        (a - b * b for a, b in itertools.combinations(list(x[:3]), 2))
    )


def list_methods(x):
    items = [v * 2 for v in x[:4]]
    items.insert(1, x[0] ** 2)
    items.pop()
    items.extend([x[1], x[2]])
    items.reverse()
    return sum(items[::2]) * items[-1] + items[1]


def early_return_in_nested_loops(x):
    for i in range(x.shape[0]):
        for j in range(i):
            if x[i] * x[j] > 3.0:
                return x[i] ** 2 * x[j]
    return np.sum(x)


def shadowed_builtins(x):
    sum = 0.0
    max = x[0]
    len = x.shape[0]
    for list in x:
        sum += list * max
        max = list if list > max else max
    return sum / len


def tuples_as_state(x):
    s = (x[0], (x[1], 0))
    for v in x:
        s = (s[1][0] * v, (s[0], s[1][1] + 1))
    return s[0] + s[1][0] * s[1][1]


def negative_steps(x):
    a = x.copy()
    a[-1:0:-2] = a[0:-1:2][: a[-1:0:-2].shape[0]] * 2
    return np.sum(a * np.arange(a.shape[0]))


def scalars_as_conditions(x):
    y = x[0] and x[1]
    z = 0.0 or x[2]
    return (y or 5.0) * z if x[0] else -1.0


def integer_arrays_as_weights(x):
    i = np.arange(x.shape[0], dtype=np.int32)
    w = (i * i - 3) // 2
    return np.sum(x * w) + (x**i).sum() + x[w % x.shape[0]].sum()


def rows_written_from_later_rows(x):
    h = np.zeros((4, x.shape[0]))
    for t in range(1, 4):
        h[t] = np.tanh(h[t - 1] + x) * (t if t % 2 else 1)
        h[t - 1, 0] = h[t, 1]
    return np.sum(h)


def one_array_three_times(x):
    rows = [x.copy()] * 3
    rows[0] *= 2.0
    return np.sum(rows[1] * rows[2])


def stack_and_cross(x):
    a, b, c = x[:3]
    u = np.array([a, b, c])
    v = np.cross(u, u[::-1] + 1)
    return np.linalg.norm(v) + np.dot(u, v)


def binary_search(x):
    lo, hi = (0, x.shape[0])
    while lo < hi:
        mid = (lo + hi) // 2
        if x[mid] < 1.2:
            lo = mid + 1
        else:
            hi = mid
    return x[min(lo, x.shape[0] - 1)] ** 2 + lo


def statistics(x):
    return np.std(x, ddof=1) * np.median(x) + np.percentile(x, 30) + np.var(x[::2]) + np.ptp(x)


def dispatch_by_key(x):
    ops = {"a": np.sin, "b": lambda v: v * v, "c": np.sqrt}
    s = 0.0
    for i, k in enumerate("abcab"):
        s = s + ops[k](x[i % x.shape[0]] + i) * 0.5
    return s


class Stack:
    def __init__(self):
        self.items = []
        self.n = 0

    def push(self, v):
        self.items.append(v)
        self.n += 1

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter(self.items)

    def __getitem__(self, i):
        return self.items[i]


def container_class(x):
    s = Stack()
    for v in (x[0], x[1] * 2, x[2] ** 2):
        s.push(v)
    return sum(s) * len(s) + s[-1]


def accumulates_into_slices(x):
    k = np.array([1.0, -2.0, 1.0])
    out = np.zeros(x.shape[0] + 2)
    for i in range(3):
        out[i : i + x.shape[0]] += k[i] * x
    out[1:-1] *= out[:-2]
    return np.sum(out**2)


def power_by_squaring(x):
    m = np.array([[x[0], 1.0], [0.5, x[1]]])
    r = np.eye(2)
    n = 5
    while n:
        if n & 1:
            r = r @ m
        m = m @ m
        n >>= 1
    return r[0, 1] + np.trace(r)


def nonlocal_sum(x):
    c = 0.0

    def bump(v):
        nonlocal c
        c = c + v
        return c * v

    return sum([bump(v) for v in x]) + c


def repeated_indices(x):
    a = np.zeros(5)
    a[: x.shape[0]] = x
    a[[0, 0, 1]] += 1.0
    a[np.array([1, 1])] *= a[0]
    return np.sum(a * a)


def continue_in_reversed_ranges(x):
    s = x[0] * 0
    for i in reversed(range(0, x.shape[0], 2)):
        for j in range(i, -1, -1):
            if j == 1:
                continue
            s = s * 0.5 + x[j] * x[i]
    return s


def rebinding_and_aliases(x):
    a = x.copy()
    b = a
    b = b + 1
    a *= 2
    c = a
    c[0] = b[1]
    d = c[:]
    d[1] = 0.0
    return np.sum(a * b)


def flipped_and_diagonal_stores(x):
    m = np.arange(6.0).reshape(2, 3) * x[0]
    m[:, ::-1][0] = x[:3]
    m.T[2] += 1.0
    np.fill_diagonal(m, x[1])
    return np.sum(m**2)


PROGRAMS = [
    writes_through_a_strided_view,
    views_of_a_transposed_matrix,
    swapped_buffers_with_borders,
    overlapping_copies,
    adds_its_own_reverse,
    dataclasses_that_step,
    closure_over_a_list_cell,
    recursion_on_halves,
    errors_that_are_caught,
    while_with_break_and_else,
    dict_of_parameters,
    sorts_and_scatters,
    masks_that_write,
    integers_among_floats,
    chained_comparison_with_walrus,
    zip_of_shifted_slices,
    matrix_of_lists,
    einsum_and_reductions,
    ufuncs_with_out,
    late_and_early_binding,
    nested_generator_expressions,
    rows_as_loop_variables,
    writes_through_reshape,
    nested_where,
    ties_of_maxima,
    complex_fft,
    solves_in_a_loop,
    partial_and_reduce,
    product_of_iterators,
    list_methods,
    early_return_in_nested_loops,
    shadowed_builtins,
    tuples_as_state,
    negative_steps,
    scalars_as_conditions,
    integer_arrays_as_weights,
    rows_written_from_later_rows,
    one_array_three_times,
    stack_and_cross,
    binary_search,
    statistics,
    dispatch_by_key,
    container_class,
    accumulates_into_slices,
    power_by_squaring,
    nonlocal_sum,
    repeated_indices,
    continue_in_reversed_ranges,
    rebinding_and_aliases,
    flipped_and_diagonal_stores,
]
# Refused so far.
REFUSED = (product_of_iterators, list_methods)
POINTS = [[0.7, 1.3, 2.1, 0.4, 1.6], [1.5, 0.9, 0.3], [2.2, 1.1, 1.7, 0.8]]


def _judge(program: Any, backend: str, dtype: Any) -> None:
    """Compare the value, the gradient and the argument afterwards with CPython's."""
    compiled = s2s.value_and_grad(program, backend=backend)
    for point in POINTS:
        x = np.array(point, dtype)
        try:
            wanted = program(x.copy())
        except IndexError:
            with pytest.raises(IndexError):
                compiled(x)
            continue
        given = x.copy()
        try:
            value, gradient = compiled(given)
        except s2s.UnsupportedError as error:
            assert program in REFUSED and error.line
            return
        assert program not in REFUSED
        np.testing.assert_array_equal(given, x)
        assert gradient.dtype == dtype
        exact = dtype == np.float64
        np.testing.assert_allclose(value, wanted, rtol=1e-9 if exact else 3e-4, atol=1e-5)
        wide = np.array(point)
        for i in range(len(point)):
            step = np.zeros(len(point))
            step[i] = 1e-6
            slope = (program(wide + step) - program(wide - step)) / 2e-6
            tolerance = 1e-5 if exact else 2e-2
            np.testing.assert_allclose(gradient[i], slope, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_interpreted(program):
    _judge(program, "loops", np.float64)
    _judge(program, "python", np.float64)


@pytest.mark.parametrize("program", sample(PROGRAMS, 12, seed=3))
@pytest.mark.filterwarnings("ignore")
def test_in_single_precision(program):
    _judge(program, "loops", np.float32)
    _judge(program, "python", np.float32)


@pytest.mark.parametrize("program", sample(PROGRAMS, 4, seed=5))
@pytest.mark.filterwarnings("ignore")
def test_in_machine_code(program):
    _judge(program, "numba", np.float64)
