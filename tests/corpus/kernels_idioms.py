"""Common NumPy idioms: names that change their type, `out=`, methods of ufuncs, index tuples, and
small functions of NumPy that are programs themselves."""

import functools
import itertools
import math

import numpy as np
import scipy.special

from . import N, arr, case, ints, value

# ---------------------------------------------------------------- names that change their kind


@case(arr(N + 1, 3), tags="kernels idioms")
def total_starts_as_zero(x):
    total = 0
    for row in x:
        total += row * row
    return total.sum()


@case(arr(N + 1), arr(2), wrt=(0, 1), tags="kernels idioms")
def accumulates_scaled_rows(x, y):
    total = 0
    for i in range(x.shape[0]):
        total = total + x[i] * y
    return np.sum(total**2)


@case(arr(N), tags="kernels idioms")
def previous_is_none(x):
    prev = None
    s = 0.0
    for v in x:
        if prev is not None:
            s += (v - prev) ** 2
        prev = v
    return s


@case(arr(N + 1), tags="kernels idioms")
def best_is_none(x):
    best = None
    for v in x:
        if best is None or v > best:
            best = v
    return best**2


@case(arr(3, 4), tags="kernels idioms")
def first_of_a_chain(x):
    h = None
    for i in range(3):
        h = x[i] if h is None else np.tanh(h + x[i])
    return h.sum()


@case(arr(1, low=0.5), tags="kernels idioms")
def while_until_no_change(x):
    prev = None
    count = 0
    z = x[0]
    while True:
        z = 0.5 * (z + 2.0 / (z + 3))
        if prev is not None and abs(z - prev) < 1e-6:
            break
        prev = z
        count += 1
    return z * 2 + count


@case(arr(N + 2), tags="kernels idioms")
def first_iteration_may_break(x):
    found = None
    for v in x:
        found = v * x
        if v > 0:
            break
    return found.sum()


# ---------------------------------------------------------------- structures in numeric loops


@case(arr(3, 4), arr(3), wrt=(0, 1), tags="kernels idioms")
def layers_by_number(x, h):
    layers = [x[:, :3], x[:, 1:]]
    for i in range(len(layers)):
        h = np.tanh(layers[i].T @ h)
    i = 0
    while i < len(layers):
        h = layers[i] @ h
        i += 1
    return h.sum()


@case(arr(4), tags="kernels idioms")
def dict_filled_in_loop(x):
    cache = {"h0": x}
    for i in range(3):
        cache["h" + str(i + 1)] = np.tanh(cache["h" + str(i)] * 0.5)
        cache[f"s{i}"] = x[i]
    cache.update(last=x[3])
    return cache["h3"].sum() + cache["s1"] * cache["last"]


@case(arr(4), tags="kernels idioms")
def stack_in_a_test(x):
    stack = [x[0]]
    for i in range(1, 4):
        if stack and stack[-1] > x[i]:
            stack.pop()
        stack.append(x[i])
    return sum(stack)


@case(arr(N), value([1.0, 2.0, 3.0, 4.0]), wrt=0, tags="kernels idioms")
def zip_array_and_list(x, weights):
    s = 0.0
    for v, w in zip(x, weights):
        s += v * v * w
    return s


@case(arr(4), tags="kernels idioms")
def reduce_and_map(x):
    total = functools.reduce(lambda a, b: a * 0.5 + b, [x[0], x[1], x[2]])
    return total + sum(map(lambda v: v * v, x)) + math.dist([x[0], x[1]], [2.0, 2.0])


@case(arr(N + 1), tags="kernels idioms")
def array_to_list(x):
    y = list(x)
    y[0] = 2.0
    y.append(x[0] ** 2)
    return float(sum(y) + sum(x.tolist()))


@case(arr(4, low=0.5, high=1.5), tags="kernels idioms")
def quiet_division(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = 1.0 / x
        if y[0] > 1e9:
            return 0.0
    return y.sum()


@case(arr(3), tags="kernels idioms")
def facts_about_dtypes(x):
    return np.log(x**2 + np.finfo(x.dtype).eps).sum() + x[0] / np.iinfo(np.int8).max


# ---------------------------------------------------------------- loops over index tuples


@case(arr(N, 2), tags="kernels idioms")
def loops_over_index_tuples(x):
    s = 0.0
    for i, j in np.ndindex(x.shape):
        s += x[i, j] * (i + 1) * j
    for (i, j), v in np.ndenumerate(x):
        s += v * v * i + j
    for idx in np.ndindex(x.shape[0], 2):
        if idx[0] == 1:
            break
        s += x[idx] ** 3
    for v in x.flat:
        s += v**2
    return s


@case(arr(3, 4), tags="kernels idioms")
def loops_over_products(x):
    s = 0.0
    for i, j in itertools.product(range(3), range(4)):
        s += x[i, j] ** 2
    for i, j in itertools.combinations(range(3), 2):
        s += x[i] @ x[j]
    for i in range(len(x))[::-1]:
        s = s * 0.5 + x[i, 0]
    return s


# ---------------------------------------------------------------- out= and ufuncs


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="kernels idioms")
def results_written_out(x, v):
    y = np.zeros((3, 4))
    np.multiply(x, 2, out=y)
    np.exp(y, y)
    np.add(y, v, out=y[:])
    z = np.zeros(3)
    np.dot(y, v, out=z)
    w = np.empty((2, 3))
    np.sum(x, axis=1, out=w[0])
    w[1] = 1.0
    return z.sum() + (w**2).sum()


@case(arr(4), arr(3, 4), wrt=(0, 1), tags="kernels idioms")
def methods_of_ufuncs(x, m):
    s = np.minimum.reduce(x) + np.add.reduce(m, axis=1) @ x[:3]
    s += np.subtract.outer(x, x * x).sum(axis=0) @ x + np.multiply.outer(x, m).sum()
    s += np.maximum.accumulate(x).sum() + np.add.accumulate(x) @ x
    return s + np.multiply.accumulate(x).sum() + np.minimum.accumulate(x)[2]


@case(arr(3), arr(3), wrt=(0, 1), tags="kernels idioms")
def numpy_vectorize(x, y):
    f = np.vectorize(lambda v: v * v if v > 0 else 0.5 * v)
    return f(x).sum() + _clipped(x, y).sum()


@np.vectorize
def _clipped(a, b):
    return a if a < b else b * b


# ---------------------------------------------------------------- small functions of NumPy


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="kernels idioms")
def running_products_and_slopes(m, x):
    s = np.cumprod(x).sum() + m.cumprod(axis=1)[:, 2].sum() + np.cumprod(m).sum()
    s += np.gradient(x, 0.1) @ x + np.gradient(m)[1].sum() + np.gradient(x, np.arange(4.0) ** 2)[1]
    return (
        s
        + np.trapezoid(x**2, dx=0.1)
        + np.trapezoid(m, x, axis=1).sum()
        + np.ediff1d(m) @ x[[0] * 11]
    )


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="kernels idioms")
def ordered(m, x):
    y = x.copy()
    y.sort()
    return y @ np.arange(4.0) + np.sort(m, axis=0)[0].sum() + x[np.argsort(-x)][0]


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="kernels idioms")
def medians_and_quantiles(m, x):
    return np.median(x) * np.median(m, axis=0) @ x + np.percentile(x, 30) + np.ptp(x)


@case(arr(3, 4), tags="kernels idioms")
def order_of_rows(m):
    return (m[np.arange(3)[:, None], np.argsort(m, axis=1)] * np.arange(4)).sum()


@case(arr(3), arr(4), arr(5), wrt=(0, 1, 2), tags="kernels idioms")
def interpolated_and_convolved(x, fp, a):
    s = np.interp(x, np.array([-1.0, 0.0, 0.3, 1.0]), fp).sum() + np.interp(
        0.2, np.linspace(0, 1, 4), fp
    )
    s += np.convolve(a, x, mode="same") @ a + np.convolve(x, fp).max()
    s += np.correlate(a, x, "valid").sum() * np.correlate(x, a, "same")[1]
    places = np.searchsorted(np.array([-0.5, 0.0, 0.5]), x)
    return s + (np.polyval(fp, x) * places).sum() + np.vander(x, 3).sum()


@case(arr(6), arr(4, 6), wrt=(0, 1), tags="kernels idioms")
def split_into_views(x, m):
    a, b = np.split(x, 2)
    a *= 2.0
    c, d, e = np.split(m, [1, 3], axis=1)
    d[:] = 1.0
    thirds = np.array_split(x, 4)
    left, right = np.hsplit(m, 2)
    return (
        (x**2).sum()
        + b[0] * c.sum()
        + (m * m).sum()
        + sum([t.sum() ** 2 for t in thirds])
        + (left * right).sum()
        + e.sum()
    )


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="kernels idioms")
def picked_and_chosen(m, x):
    s = np.take(x, [0, 2, 2]).sum() + np.take(m, np.array([1, 0]), axis=0)[0] @ x
    s += np.take_along_axis(m, np.argmax(m, axis=1)[:, None], axis=1).sum()
    s += np.select([x > 0.3, x < -0.3], [x**2, x**3], default=0.0).sum()
    s += (
        m[np.ix_([0, 2], [1, 3])].sum() + m[np.triu_indices(3)].prod() + m[np.diag_indices(3)].sum()
    )
    i, j = np.unravel_index(np.argmax(m), m.shape)
    return s + m[i, j] ** 2 + np.where(np.isin(np.arange(4), [1, 3]), x, 0).sum()


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="kernels idioms")
def joined_and_padded(m, x):
    y = np.r_[x, 1.0, x[:2], 0:3]
    s = y @ y + (np.c_[x, x**2] ** 2).sum() + np.append(x, 1.0) @ np.append(2.0, x)
    p = np.pad(m, ((1, 1), (0, 2)), mode="constant", constant_values=2.0)
    s += (p**2).sum() + np.pad(x, (1, 2), "edge") @ np.arange(7.0) + np.pad(x, 1) @ np.arange(6.0)
    s += np.pad(x, 2, mode="reflect") @ np.pad(x, 2, mode="wrap")
    a, b = np.meshgrid(x, x[:2])
    c, d = np.meshgrid(x, x[:2], indexing="ij")
    s += (a * b**2).sum() + (c * d).sum() + (np.block([[m, m], [m, -m]]) * 0.5).max()
    return s + (np.lib.stride_tricks.sliding_window_view(x, 2) ** 2).sum() + np.rot90(m)[0].prod()


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="kernels idioms")
def products_of_all_kinds(m, x):
    s = np.cross(x[:3], x[1:]) @ x[:3] + np.cross(m[:, :3], m[::-1, 1:]).sum()
    s += np.kron(x, x[:2]).sum() + np.kron(m, m)[2].sum() + np.linalg.multi_dot([m, m.T, m]).sum()
    s += np.linalg.matrix_power(m[:, :3], 3).sum() + np.tri(4) @ x @ x
    return s + np.dot([1.0, 2.0, 3.0, 4.0], x) + m.ravel("F") @ np.arange(12.0)


@case(arr(3, 4), arr(4), ints(4, low=0, high=3), wrt=(0, 1), tags="kernels idioms")
def statistics_by_numpy(m, x, k):
    s = (
        np.average(x, weights=x * x + 1)
        + np.average(m, axis=0)[1]
        + np.average(m, axis=1, weights=x + 2)[0]
    )
    s += np.cov(m)[0, 1] + np.corrcoef(m)[0, 1] + np.cov(x) + np.bincount(k, weights=x)[k[0]]
    y = np.where(k == 1, np.nan, x)
    s += np.nansum(y) + np.nanmax(x) + np.nanmin(x) + np.nanmean(x) + np.nan_to_num(y).sum()
    return s + np.bincount(k, minlength=5).sum() + np.unique(k).size + np.sinc(x).sum()


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="kernels idioms")
def special_functions(m, x):
    s = scipy.special.expit(x).sum() + scipy.special.logsumexp(x)
    s += (
        scipy.special.logsumexp(m, axis=1, keepdims=True).sum()
        + scipy.special.logsumexp(m, axis=0)[1]
    )
    return s + scipy.special.softmax(m, axis=1)[0, 1] + scipy.special.log_softmax(x)[2]


@case(arr(3, 4), tags="kernels idioms")
def gram_entry_and_element(m):
    """Two products in the sweep share a variable; only the second one is accumulated in place."""
    d = m - np.mean(m, axis=1, keepdims=True)
    return (d @ d.T)[0, 1] + m[0, 0]


@case(arr(2), arr(N), wrt=(0, 1), tags="kernels idioms")
def name_is_bound_anew_after_loop(x, y):
    t = 0
    for i in range(y.shape[0]):
        t = x * y[i]
        x = t + 1.0
    t = 2.0
    return t * x.sum()


@case(arr(N + 1), tags="kernels idioms")
def list_of_ints_takes_floats(x):
    d = [0, 0, 0, 0]
    for i in range(4):
        d[i] = i
    for i in range(x.shape[0]):
        d[i] = d[i] + x[i] * 0.5
    grown = []
    for i in range(3):
        grown.append(1)
    for v in x:
        if v > 0:
            grown.append(v * d[0])
    repeated = [0] * len(x)
    for i in range(len(x)):
        repeated[i] = x[i] * 2
    return float(sum(d) + sum(grown) + repeated[0] * d[1] + repeated[-1])
