"""Arrays written in place: elements, slices, overwrites after use, buffers, changing sizes."""

# ruff: noqa: B007

import numpy as np

from . import N, arr, case, num, value


@case(arr(N), tags="arrays elements")
def fill_in_loop(x):
    n = x.shape[0]
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i] * x[i]
    return np.sum(y)


@case(arr(N), tags="arrays elements")
def empty_like_then_filled(x):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = np.sin(x[i])
    s = 0.0
    for i in range(len(x)):
        s += y[i] * x[i]
    return s


@case(arr(N + 1), tags="arrays recurrence")
def cumulative_sum(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i]
    return np.sum(y * y)


@case(arr(N + 2), tags="arrays recurrence")
def fibonacci_like(x):
    y = x.copy()
    for i in range(2, y.shape[0]):
        y[i] = y[i - 1] * y[i - 2] + x[i]
    return y[-1]


@case(arr(4), tags="arrays overwrite")
def overwritten_after_use(x):
    a = x * 2.0
    s = np.sum(a * a)
    a[0] = 1.0
    a[1] = x[2]
    return s + np.sum(a * x)


@case(arr(4), tags="arrays overwrite")
def element_overwritten_twice(x):
    a = x.copy()
    a[0] = a[0] * a[1]
    a[0] = a[0] * a[0]
    a[0] = np.sin(a[0])
    return a[0] * a[1]


@case(arr(4), num(), wrt=(0, 1), tags="arrays plusequal")
def add_to_element(x, y):
    v = x * 1.0
    v[1] += y * v[0]
    v[2] -= y
    v[3] *= v[1]
    v[0] /= 2.0 + y
    return np.sum(v * v)


@case(arr(4), num(), wrt=(0, 1), tags="arrays plusequal")
def add_to_element_spelled_out(x, y):
    v = x * 1.0
    v[1] = v[1] + y * v[0]
    v[2] = v[2] - y
    v[3] = v[3] * v[1]
    v[0] = v[0] / (2.0 + y)
    return np.sum(v * v)


@case(arr(N, low=0.5, high=1.5), tags="arrays augmented")
def augmented_elements(x):
    v = x.copy()
    for i in range(v.shape[0]):
        v[i] **= 2
        v[i] += x[i]
        v[i] *= v[i]
    return v.sum()


@case(arr(4), arr(4), wrt=(0, 1), tags="arrays augmented")
def augmented_whole_array(x, y):
    a = x.copy()
    a += y
    a *= x
    a -= 1.0
    a /= 2.0 + y
    return np.sum(a * a)


@case(arr(4), tags="arrays augmented rebinding")
def augmented_is_in_place(x):
    a = x * 1.0
    b = a
    a += 1.0
    c = b * 2.0
    b = b + 5.0
    return np.sum(a * b * c)


@case(arr(4, 3), tags="arrays slices")
def slice_assignment(a):
    b = np.zeros((4, 3))
    b[0] = a[1]
    b[1:3] = a[:2] * 2.0
    b[3, 1:] = a[0, :2]
    b[:, 0] = a[:, 2]
    return np.sum(b * b * a)


@case(arr(5), tags="arrays slices")
def slice_augmented(x):
    y = x.copy()
    y[1:] += x[:-1]
    y[::2] *= 3.0
    y[:-1] -= y[1:]
    y[::-1] += x
    return np.sum(y * y)


@case(arr(6), tags="arrays slices overlap")
def overlapping_slices(x):
    y = x * 1.0
    y[1:] = y[:-1]
    y[:-2] = y[2:] * y[:-2]
    return np.sum(y * x)


@case(arr(6), tags="arrays slices overlap")
def reverse_into_itself(x):
    y = x * 1.0
    y[:] = y[::-1] * 2.0
    y[0:3] = y[2::-1]
    return np.sum(y * x)


@case(arr(4), num(), wrt=(0, 1), tags="arrays slices broadcast")
def slice_assigned_scalar(x, y):
    a = x * x
    a[1:3] = y
    a[...] += y
    return np.prod(a)


@case(arr(3, 4), arr(4), wrt=(0, 1), tags="arrays slices broadcast")
def slice_assigned_row(a, r):
    b = a * 2.0
    b[1:] = r
    b[:, 1:3] *= r[:2]
    return np.sum(b * a)


@case(arr(N + 2), N, tags="arrays stencil")
def heat_equation(u, n):
    u = u.copy()
    for _ in range(n):
        v = u.copy()
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u = v
    return np.sum(u * u)


@case(arr(6), N, tags="arrays stencil slices")
def heat_by_slices(u, n):
    u = u.copy()
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u**2)


@case(arr(5), N, tags="arrays stencil")
def gauss_seidel(u, n):
    v = u.copy()
    for _ in range(n):
        for i in range(1, 4):
            v[i] = 0.5 * (v[i - 1] + v[i + 1]) + u[i] * v[i]
    return np.sum(v * u)


@case(arr(4, 4), N, tags="arrays stencil")
def jacobi_2d(a, n):
    u = a.copy()
    for _ in range(n):
        w = u.copy()
        w[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u = w
    return np.sum(u * u * a)


@case(arr(5), N, tags="arrays buffers")
def swapped_buffers(x, n):
    a = x.copy()
    b = np.zeros_like(a)
    for _ in range(n):
        for i in range(a.shape[0]):
            b[i] = np.sin(a[i]) * a[(i + 1) % 5]
        a, b = b, a
    return np.sum(a)


@case(arr(4), N, tags="arrays buffers")
def buffer_reused_each_trip(x, n):
    buf = np.zeros(4)
    s = 0.0
    for k in range(n):
        for i in range(4):
            buf[i] = x[i] * (k + 1.0) + s
        s += np.sum(buf * buf)
    return s


@case(arr(4), N, tags="arrays buffers")
def local_array_in_loop(x, n):
    s = 0.0
    for k in range(n):
        t = np.zeros(4)
        t[k] = x[k]
        t[3 - k] += x[0] * x[k]
        s += np.sum(t * t)
    return s


@case(arr(2), N, tags="arrays size")
def array_grows(x, n):
    y = x
    for i in range(n):
        y = np.concatenate((y, y[:1] * x[1]))
    return np.sum(y * y)


@case(arr(8), N, tags="arrays size")
def array_halves(x, n):
    y = x
    for i in range(n):
        y = y[::2] * y[: y.shape[0] - y.shape[0] // 2]
    return np.sum(y)


@case(arr(5), N, tags="arrays size")
def growing_slices(x, n):
    s = 0.0
    for k in range(n + 1):
        w = x[:k] * x[k]
        s += np.sum(w * w)
    return s


@case(arr(3), N, tags="arrays argument written")
def writes_into_argument(x, n):
    for i in range(n):
        x[i] = x[i] * x[0] + 1.0
    return np.sum(x * x)


@case(arr(3), arr(3), wrt=(0, 1), tags="arrays argument written")
def writes_into_other_argument(x, work):
    work[0] = x[0] * 2.0
    work[1:] *= x[1:]
    return np.sum(work * x)


@case(arr(3), arr(3), tags="arrays argument written")
def output_argument(x, out):
    for i in range(3):
        out[i] = np.exp(x[i])
    return out[0] * out[1] + out[2]


@case(arr(3), tags="arrays argument written", jax=False)
def augmented_argument(x):
    x *= 2.0
    x += 1.0
    return np.sum(x * x)


@case(arr(4), tags="arrays argument rebound")
def argument_rebound_then_written(x):
    x = x * 2.0
    x[0] = x[1] * x[2]
    return np.sum(x)


@case(arr(3, 3), tags="arrays lu")
def lu_in_place(a):
    m = a.copy()
    for i in range(3):
        m[i, i] += 4.0
    det = 1.0
    for k in range(3):
        det *= m[k, k]
        for i in range(k + 1, 3):
            m[i, k] /= m[k, k]
            for j in range(k + 1, 3):
                m[i, j] -= m[i, k] * m[k, j]
    return det


@case(arr(N, N), tags="arrays cholesky")
def cholesky_loops(b):
    n = b.shape[0]
    a = b @ b.T + 3.0 * np.eye(n)
    ell = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= ell[i, k] * ell[j, k]
            if i == j:
                ell[i, j] = np.sqrt(s)
            else:
                ell[i, j] = s / ell[j, j]
    t = 0.0
    for i in range(n):
        t += np.log(ell[i, i])
    return t


@case(arr(N, 2), tags="arrays rows")
def fill_rows(a):
    out = np.empty((a.shape[0], 3))
    for i in range(a.shape[0]):
        out[i, :2] = a[i] * a[i]
        out[i, 2] = np.sum(a[i])
    return np.sum(np.sin(out))


@case(arr(N, N + 1), tags="arrays transposed")
def fill_transposed(a):
    out = np.zeros((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j] ** 2
    return np.sum(out * a.T)


@case(arr(3), tags="arrays dead")
def written_but_never_read(x):
    junk = np.zeros(3)
    junk[0] = x[0] * x[1]
    junk[:] = x
    return np.sum(x * x)


@case(arr(4), N, tags="arrays zeroing")
def accumulator_reset(x, n):
    acc = np.zeros(2)
    s = 0.0
    for k in range(n):
        acc[:] = 0.0
        for i in range(4):
            acc[i % 2] += x[i] * (k + 1)
        s += acc[0] * acc[1]
    return s


@case(arr(3), value(4), tags="arrays created")
def created_by_everything(x, n):
    a = np.zeros(n)
    b = np.ones((n, 3))
    c = np.full(3, x[0])
    d = np.full((2, 3), 2.0)
    e = np.ones_like(x)
    f = np.full_like(x, 0.5)
    g = np.arange(3) * x
    h = np.linspace(0.0, 1.0, 3) * x
    i = np.eye(3) @ x
    j = np.arange(0.0, 1.5, 0.5)
    return np.sum(a) + np.sum(b * c) + np.sum(d * e * x) + np.sum(f * g) + np.sum(h * i * j)


@case(num(), num(), wrt=(0, 1), tags="arrays literals")
def array_literals(x, y):
    a = np.array([x, y, x * y])
    b = np.array([[1.0, x], [y, 2.0]])
    c = np.array((x, 1.0))
    return np.sum(a * a) + np.sum(b @ c)


@case(num(0.5, 1.5), num(), num(), wrt=(0, 1, 2), tags="arrays linspace")
def active_linspace(a, b, c):
    t = np.linspace(a, b, 5)
    u = np.full(5, c)
    return np.sum(t * t * u)


@case(arr(3), tags="arrays copy")
def copies_do_not_alias(x):
    a = x.copy()
    b = np.copy(a)
    c = a + 0.0
    a[0] = 10.0
    b[1] = x[0]
    return np.sum(a * b * c)


@case(arr(2, 3, 2, 2, 2), tags="arrays five")
def five_dimensions(a):
    b = np.zeros((2, 3))
    for i in range(2):
        for j in range(3):
            b[i, j] = np.sum(a[i, j] * a[1 - i, j, 1, 0, 1])
    return np.sum(b * b) + a[1, 2, 1, 1, 0]
