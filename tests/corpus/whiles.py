"""While loops: solvers, counters, break and else; early return."""

import numpy as np

from . import N, arr, case, num


@case(num(0.5, 0.9), N, tags="while counter")
def counting(x, n):
    i = 0
    s = 1.0
    while i < n:
        s = s * x + i
        i += 1
    return s


@case(num(1.5, 3.0), tags="while solver")
def newton_square_root(a):
    x = a
    while abs(x * x - a) > 1e-5:
        x = 0.5 * (x + a / x)
    return x


@case(num(0.5, 0.9), tags="while solver", seed=1)
def fixed_point(a):
    x = 0.0
    for_stop = 60
    while for_stop > 0:
        x = np.cos(a * x)
        for_stop -= 1
    return x


@case(num(1.2, 1.9), tags="while values")
def until_large(x):
    y = x
    while y < 50.0:
        y = y * y
    return np.log(y)


@case(num(1.2, 1.9), num(2.0, 3.0), wrt=(0, 1), tags="while values")
def halving(x, y):
    s = 0.0
    while x * y > 0.5:
        x = x * 0.5
        s += np.sin(x) * y
        y = y * 0.9
    return s + x * y


@case(num(0.5, 0.9), N, tags="while break")
def while_true_with_break(x, n):
    i = 0
    s = x
    while True:
        if i == n:
            break
        s = np.sin(s) + x
        i += 1
    return s


@case(num(0.5, 0.9), N, tags="while continue")
def while_with_continue(x, n):
    i = 0
    s = x
    while i < 2 * n:
        i += 1
        if i % 2 == 0:
            continue
        s = s * x + i
    return s


@case(num(0.5, 0.9), N, tags="while else")
def while_else(x, n):
    i = 0
    while i < n:
        x = x * 1.1
        if x > 1e6:
            break
        i += 1
    else:
        x = x * x
    return x


@case(num(0.5, 0.9), N, tags="while else break")
def while_else_broken(x, n):
    i = 0
    while i < n + 1:
        x = x * 1.1
        if i == n:
            break
        i += 1
    else:
        x = x * 1000.0
    return x


@case(num(0.5, 0.9), N, tags="while return")
def return_from_while(x, n):
    i = 0
    while i < 5:
        x = x * x + 0.1
        if i == n:
            return x * 3.0
        i += 1
    return x


@case(arr(3, low=0.2, high=0.8), N, tags="while arrays")
def array_state(x, n):
    i = 0
    y = x.copy()
    while i < n:
        y = np.sin(y) * x
        y[i % 3] = y[(i + 1) % 3] * x[0]
        i += 1
    return np.sum(y)


@case(num(0.5, 0.9), N, tags="while nested")
def while_in_for(x, n):
    s = 0.0
    for i in range(n):
        t = x
        while t < 1.0 + i:
            t = t * 1.7 + 0.1
        s += t * t
    return s


@case(num(0.5, 0.9), N, tags="while nested")
def for_in_while(x, n):
    k = 0
    s = x
    while k < n:
        for j in range(k + 1):
            s = s * x + j
            if s > 3.0:
                s = s * 0.25
        k += 1
    return s


@case(num(0.5, 0.9), N, tags="while nested")
def while_in_while(x, n):
    i = 0
    s = x
    while i < n:
        j = 0
        while j <= i:
            s = np.sin(s + x)
            j += 1
        i += 1
    return s


@case(num(0.5, 0.9), N, tags="while condition")
def compound_condition(x, n):
    i = 0
    s = x
    while i < n and s < 100.0 and not s < -100.0:
        s = s * (1.0 + x)
        i += 1
    return s * i


@case(num(0.5, 0.9), N, tags="while walrus")
def walrus_condition(x, n):
    i = 0
    s = 0.0
    while (i := i + 1) <= n:
        s += x**i
    return s


@case(num(2.0, 4.0), num(0.2, 0.3), wrt=(0, 1), tags="while solver")
def kepler(e_anomaly, ecc):
    # solve E - ecc sin E = M by Newton's method with a count limit
    m = e_anomaly
    e = m
    it = 0
    while it < 20:
        step = (e - ecc * np.sin(e) - m) / (1.0 - ecc * np.cos(e))
        e -= step
        it += 1
        if abs(step) < 1e-4:
            break
    return e * ecc


@case(num(0.3, 0.6), tags="while solver")
def bisection(c):
    # the bracket does not depend smoothly on c; a last Newton step does
    lo, hi = 0.0, 2.0
    while hi - lo > 1e-3:
        mid = 0.5 * (lo + hi)
        if mid * mid * mid + mid - 0.45 > 0.0:
            hi = mid
        else:
            lo = mid
    x = 0.5 * (lo + hi)
    return x - (x * x * x + x - c) / (3.0 * x * x + 1.0)


@case(arr(2, low=0.5, high=1.0), tags="while ode")
def adaptive_euler(p):
    t = 0.0
    y = p[0]
    h = 0.3
    while t < 1.0:
        k = -p[1] * y
        if t + h > 1.0:
            h = 1.0 - t
        y = y + h * k
        t = t + h
    return y


@case(num(0.5, 0.9), N, tags="while unused")
def while_does_not_touch_result(x, n):
    i = 0
    junk = 1.0
    while i < n:
        junk = junk * 2.0
        i += 1
    return x * x


@case(arr(N + 1), tags="while index")
def two_pointers(x):
    i, j = 0, x.shape[0] - 1
    s = 0.0
    while i < j:
        s += x[i] * x[j]
        i += 1
        j -= 1
    return s + x[0]
