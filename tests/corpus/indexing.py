"""Reading and writing through indices of every kind."""

import numpy as np

from . import N, arr, bools, case, ints, num, value


@case(arr(5), tags="indexing basic")
def negative_indices(x):
    return x[-1] * x[-2] + x[0] * x[-5]


@case(arr(6), tags="indexing slices")
def slices_of_every_kind(x):
    return (
        np.sum(x[1:] * x[:-1])
        + np.sum(x[::2] * x[1::2])
        + np.sum(x[::-1] * x)
        + np.sum(x[-3:] * x[:3])
        + np.sum(x[4:1:-1])
        + np.sum(x[10:])
        + np.sum(x[-100:2])
    )


@case(arr(3, 4), tags="indexing slices")
def slices_in_two_dimensions(a):
    return (
        np.sum(a[1:, ::2] * a[:-1, 1::2])
        + np.sum(a[0] * a[-1])
        + np.sum(a[:, 1] * a[:, -1])
        + a[1][2] * a[1, 2]
        + np.sum(a[::-1, ::-1] * a)
    )


@case(arr(2, 3, 4), tags="indexing ellipsis")
def ellipsis_and_newaxis(a):
    b = a[..., 0] * a[0, ..., 1:3][:, :1].T
    c = a[:, None, :, 0] + a[..., np.newaxis][:, :, 1].reshape(2, 1, 3)
    d = a[None, 1, ...]
    return np.sum(b) + np.sum(c * c) + np.sum(d[0] * a[1])


@case(arr(4, 3), tags="indexing ellipsis")
def writes_with_ellipsis(a):
    b = a * 2.0
    b[..., 0] = a[..., 1] * a[..., 2]
    b[1, ...] += 1.0
    b[None, 2] = a[0]
    return np.sum(b * b)


@case(arr(5), ints(4, low=0, high=5), tags="indexing gather")
def integer_array_read(x, idx):
    return np.sum(x[idx] * x[idx] * np.arange(1.0, 5.0))


@case(arr(5), tags="indexing gather")
def integer_list_read(x):
    return np.sum(x[[0, 2, 2]] * x[[1, 3, 4]]) + np.sum(x[np.array([0, -1])])


@case(arr(4, 3), ints(5, low=0, high=4), tags="indexing gather")
def gather_rows(a, idx):
    return np.sum(np.sin(a[idx]) * a[idx, ::-1])


@case(arr(4, 3), ints(5, low=0, high=4), ints(5, low=0, high=3), tags="indexing gather")
def gather_elements(a, i, j):
    return np.sum(a[i, j] ** 2) + np.sum(a[i, 1] * a[2, j])


@case(arr(4, 3), ints(2, 2, low=0, high=4), tags="indexing gather")
def gather_by_matrix(a, idx):
    return np.sum(a[idx] ** 2) + np.sum(a[:, 0][idx] * a[:, 1][idx])


@case(arr(3, 4, 2), ints(3, low=0, high=2), tags="indexing gather")
def gather_mixed_with_slices(a, idx):
    return np.sum(a[:, idx] ** 2) + np.sum(a[idx, 1:3] * 2.0) + np.sum(a[1:, idx, 0] ** 3)


@case(arr(N, 3), ints(N, low=0, high=3), tags="indexing gather")
def pick_one_per_row(a, label):
    return np.sum(np.log(2.0 + a[np.arange(a.shape[0]), label]))


@case(arr(5), ints(3, low=0, high=5), arr(3), wrt=(0, 2), tags="indexing scatter")
def scatter_write(x, idx, v):
    y = x * x
    y[idx] = v * v
    return np.sum(y * np.arange(1.0, 6.0))


@case(arr(4), arr(3), wrt=(0, 1), tags="indexing scatter repeated")
def scatter_repeated_last_wins(x, v):
    y = x * x
    y[np.array([1, 1, 2])] = v * 3.0
    return np.sum(y * y)


@case(arr(4), arr(3), wrt=(0, 1), tags="indexing scatter repeated")
def scatter_repeated_plus_equal(x, v):
    # NumPy buffers: a repeated index is added once, the last one
    y = x * 1.0
    y[np.array([1, 1, 2])] += v * 3.0
    return np.sum(y * y)


@case(arr(4), arr(3), wrt=(0, 1), tags="indexing scatter add")
def add_at(x, v):
    y = x * 1.0
    np.add.at(y, np.array([1, 1, 2]), v * 3.0)
    return np.sum(y * y)


@case(arr(4, 3), ints(2, low=0, high=4), arr(3), wrt=(0, 2), tags="indexing scatter")
def scatter_rows(a, idx, v):
    b = a * 2.0
    b[idx] = v
    b[idx, 1] *= 3.0
    b[0, np.array([0, 2])] = a[1, 1]
    return np.sum(b * b)


@case(arr(6, low=0.2, high=1.0), bools(6), tags="indexing masks")
def mask_read(x, m):
    return np.sum(x[m] ** 2) + np.sum(np.log(x[~m]))


@case(arr(6), tags="indexing masks")
def mask_from_values(x):
    pos = x > 0.0
    y = x * 1.0
    y[pos] = np.sqrt(x[pos])
    y[~pos] = 0.0
    return np.sum(y * y * y)


@case(arr(6), tags="indexing masks")
def mask_augmented(x):
    y = x * 1.0
    y[x > 0.0] *= 3.0
    y[x < 0.0] += x[x < 0.0] ** 2
    y[(x > -0.5) & (x < 0.5)] = 1.0
    return np.sum(y * x)


@case(arr(3, 4), bools(3, 4), tags="indexing masks")
def mask_of_matrix(a, m):
    b = a * 2.0
    b[m] = 0.5
    b[~m] *= a[~m]
    return np.sum(b * b) + np.sum(a[m])


@case(arr(3, 4), bools(3), tags="indexing masks")
def mask_of_rows(a, m):
    b = a * a
    b[m] = 1.0
    b[~m, 1:] *= 2.0
    return np.sum(b * a) + np.sum(a[m, 2])


@case(arr(5), bools(5), tags="indexing masks")
def empty_selection(x, m):
    y = x * 1.0
    y[m & ~m] = 3.0
    return np.sum(y * y) + np.sum(x[m & ~m])


@case(arr(N), value(np.array([2, 0, 1])), tags="indexing indirect")
def permuted_loop(x, perm):
    s = 1.0
    n = x.shape[0]
    for i in range(n):
        s = s * x[perm[i] % n] + 0.5
    return s


@case(arr(4), ints(N, low=0, high=4), tags="indexing histogram")
def histogram_accumulate(w, idx):
    h = np.zeros(4)
    for k in range(idx.shape[0]):
        h[idx[k]] += w[idx[k]] * w[k % 4]
    return np.sum(h * h)


@case(arr(5), value(2), tags="indexing runtime")
def runtime_slice_bounds(x, k):
    a = x[k:]
    b = x[:k]
    c = x[k - 1 : k + 2]
    return np.sum(a * a) * np.sum(b) + np.sum(c * a)


@case(arr(5), value(slice(1, 4)), tags="indexing slice object")
def slice_object(x, s):
    t = slice(None, None, 2)
    return np.sum(x[s] ** 2) + np.sum(x[t])


@case(arr(3, 3), value((1, 2)), tags="indexing tuple")
def tuple_index(a, at):
    b = a * 1.0
    b[at] = 5.0 * a[0, 0]
    return b[at] * a[at] + a[(0, 1)]


@case(arr(3, 3), tags="indexing diagonal")
def diagonal_by_arange(a):
    i = np.arange(3)
    b = a * a
    b[i, i] = 1.0 + a[i, i]
    b[i, 2 - i] += 1.0
    return np.sum(b * a)


@case(arr(4, 4), tags="indexing blocks")
def block_updates(a):
    b = a.copy()
    for i in range(0, 4, 2):
        for j in range(0, 4, 2):
            b[i : i + 2, j : j + 2] *= a[j : j + 2, i : i + 2].T
    return np.sum(b)


@case(arr(6), value(3), tags="indexing roll")
def wrap_around(x, k):
    s = 0.0
    for i in range(6):
        s += x[i] * x[i - k] * x[(i + k) % 6]
    return s


@case(arr(5), num(), wrt=(0, 1), tags="indexing where")
def where_single_argument(x, t):
    i = np.where(x > 0.0)[0]
    return np.sum(x[i] * t)


@case(arr(5), tags="indexing argmax")
def index_by_argmax(x):
    k = np.argmax(x)
    j = x.argmin()
    return x[k] * x[k] + x[j]


@case(arr(3, 4), tags="indexing chained")
def chained_indexing_writes(a):
    b = a * 1.0
    b[1][2] = a[0, 0] * 2.0
    b[1:][0][1:] *= 2.0
    b.T[0, 1] = a[2, 2]
    return np.sum(b * b)


@case(arr(4), arr(4), bools(4), N, tags="indexing masks loops")
def mask_that_changes_between_uses(x, y, m, n):
    """The indices at which a mask is true are recomputed whenever the mask may have changed."""
    m = m.copy()
    part = m[1:]
    total = np.sum(x[m])
    for i in range(n):
        total += np.sum(x[m] * y[m])
        m[i] = not m[i]
        y[m] *= 2.0
        part[2] = i == 1
        total += np.sum(y[m] ** 2)
    return total + np.sum(y[m])


@case(arr(4), arr(4), bools(4), N, tags="indexing masks loops")
def mask_that_is_another_in_each_round(x, y, m, n):
    total = np.sum(x[m])
    for i in range(n):
        total += np.sum(x[m] * y[m])
        m = ~m if i == 0 else m | (y > 0.2)
        y[m] *= 2.0
        total += np.sum(y[m] ** 2)
    return total + np.sum(y[m])


@case(arr(4), bools(4), num(), tags="indexing masks branches")
def mask_used_in_a_branch_and_after_it(x, m, c):
    total = 0.0
    if c > 0.0:
        total = total + np.sum(x[m] ** 2)
        m = ~m
    else:
        x[m] = x[m] * c
    x[m] += c
    return total + np.sum(x[m] ** 3)


@case(arr(4, 2), arr(4, 2), ints(5, low=-4, high=4), N, tags="indexing arrays loops")
def indices_that_change_between_uses(x, y, idx, n):
    """An index array is checked again whenever it may have changed."""
    idx = idx.copy()
    total = np.sum(x[idx] * y[idx])
    for i in range(n):
        total += np.sum(x[idx] ** 2 + y[idx])
        idx[i] = i
        np.add.at(y, idx, x[idx])
        total += np.sum(y[idx, 1] * x[idx, 0])
        idx = (idx + 1) % 4
    return total + np.sum(y[idx] ** 2)


@case(arr(4, 2), arr(3, 2), ints(5, low=-3, high=3), tags="indexing arrays")
def indices_into_arrays_of_two_lengths(x, y, idx):
    pairs = x[idx] * y[idx]
    x = x[1:]
    return np.sum(pairs) + np.sum(x[idx] * y[idx] ** 2)


@case(arr(3, N + 1), ints(4, low=0, high=3), ints(4, low=-1, high=1), tags="indexing arrays")
def places_taken_from_an_array(x, rows, columns):
    places = np.stack([rows, columns])
    return np.sum(x[tuple(places)] ** 2) * len(tuple(places))


@case(arr(N, N), tags="indexing loops bits")
def table_of_subsets(a):
    n = a.shape[0]
    table = np.zeros(2**n, a.dtype)
    table[0] = 1.0
    for chosen in range(1, 2**n):
        row = -1
        for j in range(n):
            if chosen & (1 << j):
                row += 1
        sign = 1.0 if row % 2 == 0 else -1.0
        for j in range(n):
            if chosen & (1 << j):
                table[chosen] += sign * a[row, j] * table[chosen ^ (1 << j)]
                sign = -sign
    return table[2**n - 1]


@case(arr(2 * N + 2), arr(N), tags="indexing loops bits")
def bits_taken_away_and_added(x, y):
    total = 0.0
    for i in range(-2, len(x)):
        for j in range(len(y)):
            b = 1 << j
            if i & b and y[j] > 0.0:
                total += x[i - b] * x[i] * y[j]
                x[i] += 0.5 * x[i ^ b]
            elif i & 2 != 0:
                total -= x[(i ^ 2) % len(x)] * y[j]
            elif (i | b) < len(x):
                total += x[i | b] * y[j] ** 2
    return total


@case(arr(N), ints(5, low=-70, high=140), ints(5, low=-9, high=9), tags="indexing loops bits")
def bits_shifted_out(x, places, numbers):
    total = 0.0
    for k in range(5):
        for j in range(len(x)):
            far = (numbers[k] << (places[k] + j)) % 5 + (numbers[k] >> places[k])
            total += x[j] ** 2 * far + x[j] * (numbers[k] >> 70)
    return total + np.sum(x) * np.sum((numbers << places) % 7 - (numbers >> abs(places)))


@case(arr(N + 1, 3), arr(3, 2), arr(N, 2), tags="indexing slices")
def elements_of_short_axes(p, q, r):
    total = np.sum(p[:, 0] * p[:, 1] + p[:, 2] ** 2)
    for i in range(r.shape[0]):
        d = p[i] - q[:, 1]
        total += np.sqrt(d[0] ** 2 + d[1] ** 2 + 1.0) * r[i, 0] + np.sum(d * q[:, 0]) * r[i, 1]
    return total
