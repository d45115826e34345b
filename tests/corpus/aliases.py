"""Views and aliases: a write through one name is seen through the other."""

# ruff: noqa: B007

import numpy as np

from . import N, arr, case, made, num


@case(arr(4), tags="aliases")
def write_through_slice(x):
    a = x * 1.0
    v = a[1:]
    v[0] = x[0] * x[3]
    return np.sum(a * a)


@case(arr(4), tags="aliases")
def read_through_slice(x):
    a = x * 1.0
    v = a[1:3]
    a[1] = 5.0 * x[0]
    a[2] *= 2.0
    return np.sum(v * v)


@case(arr(4), tags="aliases")
def name_is_alias(x):
    a = x * 1.0
    b = a
    b[0] = x[1] * x[2]
    return np.sum(a * a)


@case(arr(4), tags="aliases")
def view_of_view(x):
    a = x * 1.0
    v = a[::-1]
    w = v[1:3]
    w[0] = x[0] ** 2
    v[0] += w[1]
    a[1] *= 3.0
    return np.sum(a * v) + w[0] * w[1]


@case(arr(3, 4), tags="aliases rows")
def row_view_written(a):
    b = a * 1.0
    for i in range(3):
        row = b[i]
        row[0] = row[1] * row[2]
        row *= 2.0
    return np.sum(b * b)


@case(arr(3, 4), tags="aliases rows")
def loop_over_rows_writes(a):
    b = a * 1.0
    for row in b:
        row[0] = row[3] * 2.0
        row += 1.0
    return np.sum(b * a)


@case(arr(3, 4), tags="aliases transpose")
def write_through_transpose(a):
    b = a * 1.0
    t = b.T
    t[0] = a[:, 1] * a[:, 2]
    t[1, 2] += a[0, 0]
    return np.sum(b * b)


@case(arr(6), tags="aliases reshape")
def write_through_reshape(x):
    a = x * 1.0
    m = a.reshape(2, 3)
    m[1] = m[0] * 2.0
    m[0, 0] = x[5] * x[4]
    return np.sum(a * a * x)


@case(arr(2, 3), tags="aliases reshape")
def write_through_ravel(a):
    b = a * 1.0
    flat = b.ravel()
    flat[4] = a[0, 0] * a[0, 1]
    b[0, 1] = 2.0
    return np.sum(b * b) + flat[1] * flat[4]


@case(arr(4), tags="aliases newaxis")
def write_through_newaxis(x):
    a = x * 1.0
    col = a[:, None]
    col[1, 0] = x[0] * x[2]
    np.expand_dims(a, 0)[0, 3] = x[1]
    return np.sum(a * a)


@case(arr(4), tags="aliases copies")
def fancy_index_is_a_copy(x):
    a = x * 1.0
    c = a[np.array([0, 1])]
    c[0] = 100.0
    m = a[a > -10.0]
    m[:] = 50.0
    return np.sum(a * a) + c[1] * x[0]


@case(arr(4), tags="aliases branches")
def alias_in_one_branch(x):
    a = x * 1.0
    b = x * 2.0
    if x[0] < 10.0:
        v = a[1:]
    else:
        v = b[1:]
    v[0] = x[3] * x[2]
    return np.sum(a * a) + np.sum(b * b)


@case(arr(4), N, tags="aliases loops")
def alias_moves_in_loop(x, n):
    a = x * 1.0
    for i in range(n):
        v = a[i:]
        v[0] = v[1] * x[i]
        v[1:] *= 1.5
    return np.sum(a)


@case(arr(5), N, tags="aliases loops")
def halves_of_one_buffer(x, n):
    buf = np.zeros((2, 5))
    buf[0] = x
    for k in range(n):
        src = buf[k % 2]
        dst = buf[(k + 1) % 2]
        dst[:] = np.sin(src) + src[::-1] * 0.5
    return np.sum(buf[n % 2] * x)


@case(arr(4), tags="aliases swap")
def swapped_elements(x):
    a = x * 1.0
    a[0], a[1] = a[1], a[0] * a[2]
    a[2], a[3] = a[3], a[2]
    return a[0] * 1.0 + a[1] * 2.0 + a[2] * 3.0 + a[3] * x[0]


@case(arr(2, 3), tags="aliases swap")
def swapped_rows(a):
    # rows are views: the second assignment reads what the first wrote
    b = a * 1.0
    b[0], b[1] = b[1], b[0]
    return np.sum(b * np.arange(6.0).reshape(2, 3) * a)


@case(arr(2, 3), tags="aliases swap")
def swapped_rows_properly(a):
    b = a * 1.0
    b[0], b[1] = b[1].copy(), b[0].copy()
    return np.sum(b * np.arange(6.0).reshape(2, 3) * a)


def _scale_in_place(v, k):
    v *= k
    v[0] += 1.0


@case(arr(4), num(), wrt=(0, 1), tags="aliases helpers")
def helper_writes_view(x, k):
    a = x * 1.0
    _scale_in_place(a[1:], k)
    _scale_in_place(a, 2.0)
    return np.sum(a * a)


def _tail(v):
    return v[1:]


@case(arr(4), tags="aliases helpers")
def helper_returns_view(x):
    a = x * 1.0
    t = _tail(a)
    t[0] = x[0] * x[0]
    return np.sum(a * x)


@case(arr(4), tags="aliases argument")
def view_of_argument_written(x):
    v = x[1:]
    v[0] = v[1] * x[0]
    return np.sum(x * x)


@case(arr(4), tags="aliases argument")
def alias_of_argument_written(x):
    y = x
    y += 1.0
    y[0] = y[1] * y[2]
    return np.sum(x * y)


def _twice(rng, n, dtype):
    return rng.uniform(-1.0, 1.0, 4).astype(dtype)


@case(made(_twice), tags="aliases tuple")
def tuple_of_aliases(x):
    a = x * 1.0
    views = (a[:2], a[2:])
    views[0][0] = views[1][1] * 2.0
    for v in views:
        v *= 3.0
    return np.sum(a * a)


@case(arr(4), tags="aliases conditional")
def conditional_expression_alias(x):
    a = x * 1.0
    b = x * 3.0
    v = a if x[0] < 10.0 else b
    v[0] = x[1] * x[2]
    return np.sum(a * b)


@case(arr(3, 3), tags="aliases accumulate")
def column_views(a):
    b = a * 1.0
    c0 = b[:, 0]
    c1 = b[:, 1]
    c0 += c1
    c1 *= c0
    b[:, 2] = c0 * c1
    return np.sum(b)


@case(arr(4), N, tags="aliases loops")
def alias_survives_rebinding(x, n):
    a = x * 1.0
    old = a
    for i in range(n):
        a = a * 1.5
        a[0] = old[1] * x[0]
    old[2] = 7.0 * x[3]
    return np.sum(a * old)


@case(arr(4), tags="aliases flat")
def ravel_of_slice_is_a_copy(x):
    m = (x * 1.0).reshape(2, 2)
    c = m[:, 0].copy().ravel()
    c[0] = 9.0
    s = m[:, ::-1].reshape(4)
    s[0] = 9.0
    return np.sum(m * m) + np.sum(s) * c[1]


@case(arr(3, 4), arr(3), tags="views loops")
def columns_by_transposing(m, x):
    s = 0.0
    for i in range(m.shape[1]):
        s += np.sin(m.T[i] @ x) * m.T[i, 0]
    for column in m.T:
        s += np.cos(column @ x)
    return s


@case(arr(4, 6), tags="views loops")
def steps_of_a_reshaped_array(x):
    parts = (x * x).reshape(4, 2, 3)
    s = 0.0
    for i in range(4):
        row = np.expand_dims(parts[i] * x[i, 0], 0)
        s += np.sin(row[0, 1, i % 3]) * np.sum(parts[i, 0])
        whole = (x[i] + s).reshape(2, 3)
        s += np.sum(whole[0] * whole[1])
    return s


@case(arr(2), N, tags="aliases loops")
def written_once_the_other_name_is_past(x, n):
    """Both names refer to one array after an iteration; one is rebound before it is read."""
    cur = x * 1.0
    for t in range(n):
        cur[0] = cur[1] * 2.0
        new = np.sin(cur) + 0.1 * t
        cur = new
    for t in range(n):
        cur[1] = cur[0] * 0.7
        new = np.cos(cur) * x
        if np.sum(new) > 0.5:
            cur = new
    return np.sum(cur * cur)
