"""For loops: ranges of every kind, rows, enumerate, zip, reversed; break, continue, else."""

# ruff: noqa: B007

import numba
import numpy as np

from . import N, arr, case, ints, num, value


@case(num(), N, tags="loops recurrence")
def repeated_product(x, n):
    p = 1.0
    for i in range(n):
        p = p * x + i
    return p


@case(num(), N, tags="loops recurrence")
def nonlinear_recurrence(x, n):
    y = x
    for _ in range(n):
        y = np.sin(y) + x * y
    return y


@case(arr(N), tags="loops sums")
def sum_of_squares(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


@case(arr(N), tags="loops sums")
def sum_by_len(x):
    s = 0.0
    for i in range(len(x)):
        s = s + np.exp(x[i])
    return s


@case(arr(N + 2), N, tags="loops ranges")
def range_with_start(x, n):
    s = 0.0
    for i in range(1, n + 1):
        s += x[i] * x[i - 1]
    return s


@case(arr(2 * N + 1), tags="loops ranges")
def range_with_step(x):
    s = 0.0
    for i in range(0, x.shape[0], 2):
        s += x[i] ** 2 * (i + 1)
    return s


@case(arr(N + 1), tags="loops ranges")
def range_backwards(x):
    y = 1.0
    for i in range(x.shape[0] - 1, -1, -1):
        y = y * x[i] + 1.0
    return y


@case(arr(2 * N + 2), N, tags="loops ranges")
def range_backwards_by_two(x, n):
    y = 0.5
    for i in range(2 * n, 0, -2):
        y = y * x[i] - x[i + 1]
    return y


@case(arr(N), tags="loops ranges")
def reversed_range(x):
    y = 0.3
    for i in reversed(range(len(x))):
        y = np.tanh(y + x[i])
    return y


@case(arr(N + 1), N, tags="loops ranges")
def reversed_range_with_start(x, n):
    y = 0.3
    for i in reversed(range(1, n + 1)):
        y = y * x[i] + np.cos(y)
    return y


@case(num(), value(0), tags="loops ranges")
def empty_ranges(x, n):
    y = x
    for i in range(n):
        y = y * 100.0
    for i in range(3, 3):
        y = y * 100.0
    for i in range(0, 5, -1):
        y = y * 100.0
    for i in range(5, 1):
        y = y * 100.0
    return y * y


@case(num(), N, value(2), tags="loops ranges")
def range_with_runtime_step(x, n, step):
    s = x
    for i in range(0, 2 * n, step):
        s = s * x + i
    for i in range(2 * n, 0, -step):
        s = s + np.sin(x) * i
    return s


@case(arr(N, N), tags="loops nested")
def full_nest(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j] * a[j, i] * (i + 1)
    return s


@case(arr(N, N), tags="loops nested triangular")
def triangular_nest(a):
    s = 1.0
    for i in range(a.shape[0]):
        for j in range(i):
            s = s * a[i, j] + a[j, i]
    return s


@case(arr(N, N), tags="loops nested triangular")
def upper_triangle(a):
    n = a.shape[0]
    s = 0.0
    for i in range(n):
        for j in range(i, n):
            for k in range(i, j + 1):
                s += a[i, k] * a[k, j]
    return s


@case(num(), N, tags="loops nested")
def loops_in_sequence(x, n):
    a = x
    for i in range(n):
        a = a * x + 1.0
    b = a
    for i in range(n + 1):
        b = np.sin(b) + 0.1 * a
    for i in range(n):
        for j in range(i + 1):
            b += a * x
        a = b * 0.1
    return a + b


@case(arr(N, 3), tags="loops rows")
def over_rows(a):
    s = 0.0
    for row in a:
        s += row[0] * row[1] - row[2]
    return s


@case(arr(N), tags="loops rows")
def over_elements(x):
    p = 1.0
    for v in x:
        p *= 1.0 + v
    return p


@case(arr(N, 2, 3), tags="loops rows nested")
def over_rows_of_rows(a):
    s = 0.0
    for plane in a:
        for row in plane:
            t = 1.0
            for v in row:
                t = t * v + 0.5
            s += t
    return s


@case(arr(N), tags="loops enumerate")
def with_enumerate(x):
    s = 0.0
    for i, v in enumerate(x):
        s += v ** (i + 1)
    return s


@case(arr(N, 2), tags="loops enumerate")
def with_enumerate_start(a):
    s = 0.0
    for i, row in enumerate(a, start=1):
        s += i * row[0] * row[1]
    return s


@case(arr(N), arr(N), wrt=(0, 1), tags="loops zip")
def with_zip(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += a * b * b
    return s


@case(arr(N), arr(N + 1), wrt=(0, 1), tags="loops zip")
def zip_of_unequal(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += np.sin(a) * b
    return s


@case(arr(N), arr(N), wrt=(0, 1), tags="loops zip enumerate")
def enumerate_of_zip(x, y):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, y)):
        s = s * 0.5 + (i + 1.0) * a / (2.0 + b)
    return s


@case(arr(N), tags="loops prange")
def parallel_sum(x):
    s = 0.0
    for i in numba.prange(x.shape[0]):
        s += np.sin(x[i]) * x[i]
    return s


@case(arr(N), arr(3), wrt=(0, 1), tags="loops prange")
def parallel_map(x, k):
    out = np.zeros(x.shape[0])
    for i in numba.prange(x.shape[0]):
        out[i] = k[0] * x[i] ** 2 + k[1] * x[i] + k[2]
    return np.sum(out)


@case(num(0.5, 0.9), N, tags="loops break")
def break_on_count(x, n):
    s = 1.0
    for i in range(10):
        if i >= n:
            break
        s = s * x + x
    return s


@case(arr(N + 2, low=0.2, high=1.0), tags="loops break")
def break_on_value(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
        if s > 0.7:
            break
        s *= 1.1
    return s


@case(arr(N), tags="loops continue")
def skip_negative(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            continue
        s += x[i] ** 3
    return s


@case(arr(N, N), tags="loops continue break nested")
def break_and_continue_nested(a):
    s = 0.1
    for i in range(a.shape[0]):
        if a[i, 0] < -0.9:
            continue
        for j in range(a.shape[1]):
            if j > i:
                break
            if a[i, j] > 0.8:
                continue
            s = s * a[i, j] + a[i, j]
        s += 1.0
    return s


@case(arr(N), num(), wrt=(0, 1), tags="loops else")
def for_else_taken(x, y):
    s = 0.0
    for v in x:
        if v > 2.0:
            break
        s += v * y
    else:
        s += y * y
    return s


@case(arr(N + 1), num(), wrt=(0, 1), tags="loops else break")
def for_else_broken(x, y):
    s = y
    for i in range(x.shape[0]):
        if i == 1:
            s += x[i] * y
            break
        s = s * x[i]
    else:
        s += y * y
    return s * y


@case(arr(N, 3), tags="loops return nested")
def return_from_nested(a):
    s = 1.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s = s + a[i, j] * s
            if i * 3 + j == 4:
                return s * a[i, j]
    return s * s


@case(arr(N + 1), tags="loops return")
def return_first_large(x):
    for i in range(x.shape[0]):
        if x[i] > 0.3:
            return x[i] * x[0]
    return np.sum(x)


@case(num(), N, tags="loops variables")
def loop_variable_after_loop(x, n):
    i = 5
    for i in range(n):
        x = x * 1.5
    return x * i


@case(num(), N, tags="loops variables")
def loop_variable_reassigned(x, n):
    s = 0.0
    for i in range(n):
        i = i * 2
        s += x**2 * i
    return s + x


@case(num(), N, tags="loops variables")
def bound_changed_in_loop(x, n):
    m = n
    s = x
    for i in range(m):
        m = m + 5
        s = s * x
    return s * m


@case(arr(3), N, tags="loops variables")
def two_state_recurrence(x, n):
    a, b = x[0], x[1]
    for _ in range(n):
        a, b = b, a * b + x[2]
    return a * b


@case(num(), N, tags="loops overwritten")
def overwritten_each_trip(x, n):
    t = 0.0
    for i in range(n):
        t = x * (i + 1.0)
        t = t * t
    return t + x


@case(num(), ints(N, low=1, high=4), tags="loops integers")
def over_integer_array(x, ks):
    s = 0.0
    for k in ks:
        s += x**k
    return s


@case(num(), N, tags="loops static")
def over_static_tuple(x, n):
    s = 0.0
    for k in (1.0, 2.0, 3.0):
        s += k * x**2
    for name, weight in (("a", 1.5), ("b", 2.5)):
        if name == "a":
            s += weight * x
        else:
            s += weight * x**3
    for i in range(n):
        for j in (1, 2):
            s = s + x * j
    return s


@case(arr(N, 2), arr(2), wrt=(0, 1), tags="loops rows vectors")
def vector_state_in_loop(a, h):
    for i in range(a.shape[0]):
        h = np.tanh(h * a[i] + h[::-1])
    return np.sum(h)


@case(arr(3), N, tags="loops nested depth")
def four_deep(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i + 1):
            for k in range(2):
                t = x[k]
                for m in range(j + k):
                    t = t * x[m % 3] + 0.5
                s += t
    return s


@case(arr(N + 1), num(), tags="loops")
def differences_of_a_moving_state(x, h):
    """All differences can be recomputed from the state, which is smaller."""
    for _ in range(3):
        d = x[None, :] - x[:, None]
        near = 1.0 / (1.0 + d * d)
        x = x + h * np.sum(d * near * near, axis=1)
    return np.sum(x**2)


@case(num(), num(), tags="loops")
def many_of_few(x, y):
    """Eight products of two loop-carried scalars."""
    total = 0.0
    for k in range(4):
        a, b = x * y, x - y
        c, d = a * b, a + b
        total += a * b * c * d + (a - c) * (b - d)
        x, y = x + 0.1 * c, y - 0.1 * d
    return total


@case(arr(N + 2), tags="loops")
def many_of_few_in_branches(x):
    total, s = 0.0, 1.0
    for i in range(len(x)):
        if x[i] > 0.0:
            a = s * x[i]
            b = a * a + s
            total += a * b * (a + b)
            s = s * 0.5 + b * 0.1
        else:
            s = s + x[i] * x[i]
            for _ in range(2):
                u = s * x[i] + 1.0
                v = u * u - s
                total += u * v * (u - v)
                s = s * 0.9 + 0.01 * v
    return total + s


@case(arr(N, N), tags="loops triangular")
def above_the_diagonal(a):
    s = 1.0
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            s = np.sin(s) * a[i, j] + a[j, i]
    return s


@case(arr(N, N), tags="loops triangular")
def triangle_backwards_twice(a):
    s = 1.0
    for i in range(len(a) - 1, -1, -1):
        for j in range(i, -1, -1):
            s = np.sin(s * a[i, j])
    return s


@case(arr(N + 1), N, tags="loops triangular")
def triangle_cut_off(x, n):
    """In the first iterations the inner loop does not run, and its bound is negative."""
    s = 1.0
    for i in range(n):
        for j in range(i - 1):
            s = np.cos(s * x[j]) + x[i]
    return s


@case(arr(N + 1), N, tags="loops triangular")
def triangle_in_steps(x, n):
    s = 1.0
    for i in range(0, n, 2):
        for j in range(i, n):
            s = np.cos(s * x[j]) + x[i]
    return s


@case(arr(N + 1), N, tags="loops triangular")
def three_loops_each_within_the_last(x, n):
    s = 1.0
    for i in range(n):
        for j in range(i):
            for k in range(j + 1):
                s = np.sin(s * x[k]) + x[j] * x[i]
    return s


@case(arr(N, N + 1), tags="loops triangular slices")
def growing_slices_and_their_mirror(a):
    y = a[:, 0].copy() if len(a) else a[:, 0] * 1.0
    for k in range(1, len(a)):
        y[:k] = np.sin(y[:k]) * a[k, :k] + np.flip(y[:k]) * y[k]
    return np.sum(y * y)


@case(arr(N), N, tags="loops triangular slices")
def shrinking_slices_and_others(x, n):
    y = x.copy()
    for k in range(n):
        y[k + 1 :] = np.exp(-y[k + 1 :]) * x[k]
        y[:k] *= np.flip(np.sin(y[:k]))
    return np.sum(y)


@case(arr(N), N, tags="loops triangular slices")
def slices_past_the_end(x, n):
    """Longer than the array in the last iterations, and relative to its end in the first."""
    y = x.copy()
    for k in range(-2, n + 2):
        y[:k] = np.sin(y[:k]) * 1.5
        y[k : k + 2] = np.cos(y[k : k + 2] * x[k : k + 2])
    return np.sum(y)


@case(arr(N + 1, 3), N, tags="loops triangular slices")
def slices_of_rows(a, n):
    b = a.copy()
    for k in range(n):
        for j in range(k):
            b[:k] = np.tanh(b[:k]) * b[j] + b[k]
    return np.sum(b)


@case(arr(2, N + 2), arr(3), wrt=(0, 1), tags="loops slices")
def offsets_of_a_kernel(x, k):
    width = x.shape[1] - 2
    out = np.zeros((2, width))
    for i in range(3):
        out = out + np.sin(x[:, i : i + width]) * k[i]
    return np.sum(out * out)


@case(arr(4), arr(N + 1), wrt=(0, 1), tags="loops slices")
def as_many_offsets_as_the_kernel_has(x, k):
    width = x.shape[0] - k.shape[0] + 1
    out = 0
    for i in reversed(range(k.shape[0])):
        out = out * out + x[i : i + width] * k[i]
    return np.sum(out)


@case(arr(N + 4, N + 4), arr(3, 3), wrt=(0, 1), tags="loops slices")
def offsets_along_two_axes(x, k):
    n, m = x.shape[0] - 2, x.shape[1] - 2
    out = 0
    for i in range(2, -1, -1):
        for j in range(3):
            out = out + x[i : i + n, j : j + m] * k[i, j]
    return np.sum(np.tanh(out))


@case(arr(N + 1), N, tags="loops slices")
def slices_between_two_counters(x, n):
    y = x.copy()
    for i in range(len(x)):
        for j in range(i):
            y[j:i] = np.sin(y[j:i]) * x[i - j : len(x) - j][: i - j]
    return np.sum(y)


@case(arr(5), arr(2), wrt=(0, 1), tags="loops slices")
def offsets_that_reach_past_the_end(x, k):
    s = 0.0
    for i in range(2):
        part = x[i : i + len(x) - k.shape[0] + 2]
        s = s + np.sum(part * part) * k[i]
    return s


@case(arr(3), arr(3, 3), wrt=(0, 1), tags="loops peeled")
def an_integer_that_becomes_an_array(x, m):
    out = 0
    last = None
    for i in range(7):
        out = out + np.tanh(x * i) @ m
        last = out if last is None else last * 0.5 + out
    return np.sum(out * last)


@case(arr(3), arr(3), N, tags="loops powers recurrence")
def strengths_of_a_pull(x, v, n):
    for _ in range(n):
        strength = (x * x + 0.5) ** -1.5
        v = v - 0.1 * x * strength
        x = x + 0.1 * v * (x * x + 1.0) ** -0.3
    return np.sum(x * v)
