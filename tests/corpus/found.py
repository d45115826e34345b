"""Regressions found by random programs, reduced to minimal programs."""

import numpy as np

from . import N, arr, case, num, value


def _pair(a, b):
    return np.cos(a) * b, a - b


@case(arr(N + 2), num(), wrt=(0, 1), tags="found unpacking")
def name_bound_anew_by_an_inlined_call(x, s):
    t = np.mean(x)
    t, c = _pair(x[-1], abs(t))
    c = x[1] if x[0] < x[-1] else s
    return np.sum(x) + t + c


@case(arr(3, 2), num(), N, wrt=(0, 1), tags="found lists")
def arrays_appended_after_a_continue(m, s, n):
    out = []
    for i in range(n):
        if i == 1:
            continue
        out.append(np.mean(m, axis=0) * s)
    for row in out:
        s += np.sum(np.sin(row))
    return s


@case(num(), N, tags="found control")
def number_of_two_dtypes_unbound_at_first(s, n):
    k = 0
    while True:
        if k >= n:
            break
        return 1
    while n:
        return 0.5
    return s * s


@case(arr(3), arr(3, 3), N, wrt=(0, 1), tags="found lists")
def rows_appended_to_an_array(x, m, n):
    t = 0.5
    out = [x]
    for _ in range(n):
        out.append(m[1])
    for e in out:
        t += np.sin(np.sum(e))
    return t


@case(arr(N + 1), tags="found lists")
def popped_from_a_list_that_is_read_no_more(x):
    items = [e * e for e in x]
    s = 0.5
    if items:
        s = items.pop()
    return s


def _halves(v):
    if v.shape[0] == 1:
        return v[0] * v[0]
    h = v.shape[0] // 2
    return np.sin(_halves(v[:h])) + 0.5 * _halves(v[h:])


@case(arr(N + 1), tags="found recursion")
def recursion_over_halves(x):
    return _halves(x)


@case(arr(N + 1), num(), wrt=(0, 1), tags="found comprehensions")
def comprehension_over_the_name_it_binds(x, s):
    total = sum(x * q for x, q in zip(x, [s, s * s]))
    return total + sum([x * x for x in x]) * x[0]


@case(arr(3), num(), N, wrt=(0, 1), tags="found shapes")
def repeated_and_tiled_arrays_are_written(x, s, n):
    a = np.repeat(x[None], n + 1, axis=0)
    b = np.tile(x, 2)
    a[0] *= s
    b[-1] = s * s
    b[1:] += b[:-1]
    return np.sum(np.sin(a)) + np.sum(np.sin(b)) + x[0]


@case(arr(N + 2), num(), wrt=(0, 1), tags="found aliases")
def conversion_without_a_copy(x, s):
    a = x * s
    z = a.astype(a.dtype, copy=False)
    flat = np.ravel(a=a)
    a[0] = a[0] * s
    flat[-1] += s
    return np.sum(np.sin(z))


@case(arr(3, 3), num(), wrt=(0, 1), tags="found aliases")
def name_bound_to_a_view_of_its_own_array(x, s):
    m = x * 1.0
    z, m = m[0], m[::-1]
    m[0, 0] = m[0, 0] * s
    m[1] += s
    return np.sum(np.sin(z)) + np.sum(m * m)


@case(arr(3), num(), wrt=(0, 1), tags="found unrolled")
def loop_over_a_tuple_of_elements(x, s):
    t = 0.0
    a = x * 1.0
    for v in (s, x[0], x[1]):
        t += v * v
        a[0] += v
    for w in (x[2], x[0], x[1]):
        u = w
    return t * s + np.sum(a * a) * u


@case(arr(3), num(), wrt=(0, 1), tags="found")
def chosen_number_changed_in_place(x, s):
    t = np.where(s > 0.0, 1, s)
    t *= np.sum(x)
    z = np.zeros_like(s)
    z += t
    z *= t + s
    return t * z


@case(arr(N, N + 1), value(3), wrt="u", tags="found loops slots")
def rows_between_the_borders(u, steps):
    """With fewer than two columns the row length is negative, but no loop runs over the rows."""
    p = np.zeros_like(u)
    for _ in range(steps):
        for j in range(1, u.shape[1] - 1):
            below = 0.5 * p[1:-1, j - 1] + 2.0
            p[1:-1, j] = np.sin(u[1:-1, j]) / below
    return np.sum(p * p)


@case(arr(2 * N + 1), value(2), wrt="x", tags="found loops slots")
def halves_kept_in_a_loop(x, steps):
    y = x.copy()
    for _ in range(steps):
        h = np.exp(0.1 * y[::2])
        half = np.sin(h[: x.shape[0] // 2]) * y[: x.shape[0] // 2]
        y[: x.shape[0] // 2] = half * half
    return np.sum(y)


@case(arr(N), N, tags="found loops buffers")
def buffers_of_each_round(x, n):
    """Each iteration allocates its own; one is filled in part, one is read by the next."""
    kept = x * 2.0
    for i in range(n):
        t = np.zeros_like(x)
        t[i % max(len(x), 1) :] = x[i % max(len(x), 1) :] * kept[i % max(len(x), 1) :]
        kept = t * 0.5 + x
    return np.sum(kept * kept)


@case(arr(2, N), num(), wrt=(0, 1), tags="found loops rows")
def short_rows_between_borders(x, c):
    """With fewer than two columns, the trip count of the loop between them is negative."""
    n, m = x.shape
    w = m - 2
    y = np.zeros((n, m, 3))
    z = np.zeros((n, m, 3)) + x[:, :, None]
    b = np.zeros(3) + c
    for i in range(n):
        for j in range(w):
            for k in range(3):
                y[i, j, k] = z[i, j, k] + b[k]
    return np.sum(y * y)


@case(arr(N), value(3), value(75), wrt="x", tags="found loops slots")
def kept_arrays_of_no_or_negative_size(x, least, m):
    """Memory for saved values is allocated before the loop, even if no iteration runs."""
    n = x.shape[0]
    s = 0.0
    for i in range(n - 2):
        t = np.empty(n - 2)
        for j in range(n - 2):
            t[j] = x[i] * (j + 1)
        s += np.sum(t * t * x[i])
    for i in range(n):
        if n > least:
            t = np.zeros(n - least)
            for j in range(n - least):
                t[j] = x[i] * (j + 1)
            s += np.sum(t * t * t[0])
        if m > 70:
            u = np.zeros((m - 70) * (n + 20))
            for j in range((m - 70) * (n + 20)):
                u[j] = x[i] * (j % 3)
            s += np.sum(u * u * u[1])
        s += x[i] * x[i]
    return s


@case(arr(N), tags="found loops slots")
def index_of_the_round_before(x):
    """The first iteration has none, and what it saves must not depend on one."""
    y = np.zeros(x.shape[0])
    s = 0.0
    for i in range(x.shape[0]):
        if i > 0:
            s += y[last] * x[i]  # noqa: F821
        y[i] = x[i] * x[i]
        last = i
    return s


@case(arr(8, N), arr(8), wrt=(0, 1), tags="found loops")
def which_row_came_last(a, x):
    """Several rows are added at once; the loop's variable still has the value of the last iteration
    afterwards."""
    u = np.zeros(a.shape[1])
    for k in range(a.shape[0]):
        for i in range(a.shape[1]):
            u[i] += x[k] * a[k, i]
    return np.sum(u * u) * k + x[k]


@case(arr(N + 1), arr(2, 2), wrt=(0, 1), tags="found loops increments")
def filled_with_the_largest_in_every_round(a, p):
    a = a.copy()
    for _ in range(1, a.shape[0]):
        a.fill(np.max(p))
    return np.sum(a * a)


@case(arr(9, 9), arr(9), value(9), wrt=(0, 1), tags="found loops")
def loops_that_change_their_own_bounds(a, x, n):
    """The bounds of a loop are evaluated once, whatever is assigned to the variable later."""
    u = np.zeros((n, n))
    c = np.zeros(3)
    j = n
    for i in range(n):
        for k in range(j):
            for j in range(n - 1):
                u[i, j] += a[i, k] * a[k, j]
        m = n
        for k in range(m):
            m = m - 2
            c[2] += x[k] * a[i, k]
        c[1] += m * x[i]
    return np.sum(u * u) + np.sum(c * c)


@case(arr(6, 6), arr(6), value(2), wrt=(0, 1), tags="found loops")
def last_numbers_of_loops_that_change_places(a, x, m):
    """A loop may be fused with an earlier one only if neither loop variable is read afterwards."""
    c = np.zeros((a.shape[0], a.shape[1]))
    d = a * 1.0
    j = 3
    for j in range(j + 1):  # noqa: B020
        d[m, j] = 0.5 * x[j]
    for j in range(m):
        c[1, j] = x[j]
    return j * x[0] + np.sum(np.sin(c) * a) + np.sum(d * d)


@case(arr(5), arr(3), arr(5), N, wrt=(0, 1, 2), tags="found control")
def name_bound_on_one_path_and_read_by_nobody(x, y, z, n):
    """Its placeholder on the other path has a shape that the sweep reads."""
    if n > 2:
        v = np.sin(np.concatenate((y, x[:2])) / (1.5 + x[::-1] ** 2))  # noqa: F841
    if n > 1:
        c = np.sin(z / (1.5 + x[::-1] ** 2))
    else:
        c = np.sin(np.cumsum(np.concatenate((y, x[:2]))))
    return np.sum(c * c)


@case(arr(4), tags="found")
def elements_that_change_places_by_put(x):
    """`np.put` is inlined; the emitted source once had both the call and its expansion."""
    a = x * 2.0
    np.put(a, [0, 1], [a[1], a[0]])
    return a[0] * 3.0 + a[-1] * a[1]
