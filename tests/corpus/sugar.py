"""`nonlocal`, decorated inner functions, `with`, `del` of parts, `in` of sets, read-only `global`."""

from __future__ import annotations

import contextlib
import functools
import warnings

import numpy as np

from . import N, arr, case, num

FACTOR = 3.0


@case(arr(N + 1), N, tags="functions nonlocal")
def nonlocal_in_a_loop(x, n):
    total, count = x[0], 0

    def add(v):
        nonlocal total, count
        count += 1
        total = total * v + count

    for i in range(n):
        add(x[i])
        if total > 2.0:
            add(0.5)
    return total + count


@case(num(), num(), wrt=(0, 1), tags="functions nonlocal")
def nonlocal_parameter(x, y):
    def scale(k):
        nonlocal x
        x *= k
        return x

    return x * scale(y) + scale(2.0) * x - (x, scale(x), x)[0]


@case(num(), N, tags="functions nonlocal")
def nonlocal_array(x, n):
    rows = np.zeros(3)
    first = rows

    def add(v):
        nonlocal rows
        rows += v

    def rebind(v):
        nonlocal rows
        rows = rows * v

    for i in range(n):
        add(x * i)
    rebind(x)
    add(1.0)
    return rows.sum() + first.sum()


@case(num(), N, tags="functions nonlocal")
def nonlocal_in_conditions(x, n):
    i, s = 0, x

    def step():
        nonlocal i, s
        i += 1
        s = s * x
        return i < n

    while step() and x < 5.0:
        pass
    done = x > 100.0 and step()
    s = s + sum([s for s in (1.0, 2.0)])
    return s if done else s * i + sum(s * k for k in (1.0, 2.0))


@case(num(), tags="functions nonlocal")
def nonlocal_counters(x):
    def counter(start):
        value, *_ = start, 0.0

        def step(by=x):
            def inner():
                nonlocal value
                value += by

            inner()
            return value

        return step

    a, b = counter(x), counter(1.0)
    a(2.0)
    return a() * b() + b(x * x)


@case(num(), tags="functions decorators")
def decorated_inner_function(x):
    def twice(f):
        @functools.wraps(f)
        def both(*args, **kwargs):
            return f(f(*args, **kwargs))

        return both

    def times(k):
        return lambda f: lambda v: f(v) * k

    @twice
    @times(x)
    def square(v, w=2.0):
        return v * v * w

    return square(x)


@case(num(), tags="functions decorators")
def order_of_decorators(x):
    log = []

    def note(k):
        log.append(k)

        def apply(f):
            log.append(10.0 * k)
            return f

        return apply

    def default():
        log.append(5.0)
        return x

    @note(1.0)
    @note(2.0)
    def same(v=default()):
        return v

    s = x
    for k in log:
        s = s * 0.5 + k * x
    return s + same()


class _Scaled:
    def __init__(self, box, factor):
        self.box, self.factor = box, factor

    def __enter__(self):
        self.box[0] = self.box[0] * self.factor
        return self.box[0]

    def __exit__(self, *error):
        self.box[0] = self.box[0] / self.factor + 1.0


@case(num(low=0.5), N, tags="with")
def own_context_manager(x, n):
    box = [x]
    with _Scaled(box, x) as y, _Scaled(box, 2.0) as z:
        s = box[0] * y + z
        for _ in range(n):
            with _Scaled(box, 2.0):
                s += box[0]
    return s + box[0]


@case(num(), N, tags="with")
def neutral_context_managers(x, n):
    with contextlib.nullcontext(x * x) as y, contextlib.nullcontext():
        if n > 1:
            return y
        s = y * 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        s = s + x
    return s


@case(num(), N, tags="lists dicts del")
def deleted_parts(x, n):
    terms = {"a": x, "b": x * x, "c": 1.0}
    del terms["a"], terms["c"]
    items = [x, 2.0 * x, x * x]
    i = 0
    del items[i], items[-1]
    rest = [x * k for k in range(n + 2)]
    for _ in range(n):
        del rest[0]
    return sum(terms.values()) + items[0] * len(items) + rest[0] * rest[1]


@case(num(), N, tags="sets")
def members_of_sets(x, n):
    s = 0.0
    for i in range(n):
        if i in {1, 3}:
            s += x * i
        if i not in {0, n - 1}:
            s *= x
    return s + (x if "a" in {"a", "b"} else 0.0)


@case(num(), tags="functions global")
def global_in_an_inner_function(x):
    def inner(v):
        global FACTOR
        return v * FACTOR

    return inner(x) * FACTOR
