"""Branches on active values, on integers, on arrays; maybe-defined variables."""

# ruff: noqa: B007

import numpy as np

from . import N, arr, bools, case, ints, num, value


@case(num(0.1, 0.9), tags="branches")
def if_else(x):
    if x > 0.0:
        y = x * x
    else:
        y = -x
    return y


@case(num(-0.9, -0.1), tags="branches")
def if_else_other_side(x):
    if x > 0.0:
        y = x * x
    else:
        y = -3.0 * x
    return y


@case(num(0.5, 0.9), tags="branches")
def if_only(x):
    y = x
    if y > 0.2:
        y = y * x
    if y > 10.0:
        y = y * 100.0
    return y


@case(num(-1.0, 1.0), tags="branches", seed=2)
def if_elif_else(x):
    if x < -0.5:
        return x * 2.0
    elif x < 0.0:
        return x * x
    elif x < 0.5:
        y = np.sin(x)
    else:
        y = np.exp(x)
    return y * x


@case(arr(N), tags="branches loops")
def branch_per_element(x):
    s = 1.0
    for v in x:
        if v > 0.5:
            s += v * v
        elif v > 0.0:
            s *= v
        elif v > -0.5:
            s -= np.sin(v)
        else:
            s = s / (2.0 + v)
    return s


@case(arr(N), tags="branches loops nested")
def nested_branches(x):
    s = 0.2
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            if s > 0.5:
                s = s * x[i]
            else:
                t = x[i] * x[i]
                s = s + t
        else:
            if i % 2 == 0:
                s = s - x[i]
    return s


@case(num(0.2, 0.8), value(1), tags="branches integers")
def branch_on_integer(x, mode):
    if mode == 0:
        return x
    if mode == 1:
        return x**2
    return x**3


@case(arr(N), ints(N, low=0, high=3), tags="branches integers loops")
def branch_on_integer_array(x, kind):
    s = 0.0
    for i in range(x.shape[0]):
        if kind[i] == 0:
            s += x[i]
        elif kind[i] == 1:
            s += x[i] ** 2
        else:
            s *= x[i]
    return s


@case(arr(N), bools(N), tags="branches booleans loops")
def branch_on_flags(x, keep):
    s = 0.0
    for i in range(x.shape[0]):
        if keep[i]:
            s += np.exp(x[i])
        if not keep[i]:
            s -= x[i]
    return s


@case(num(0.2, 0.8), tags="branches pass")
def branch_with_pass(x):
    if x > 0.5:
        pass
    else:
        x = x * 1.0
    return x * x


@case(num(0.2, 0.8), tags="branches defined")
def defined_in_both(x):
    if x > 0.5:
        a = x
        b = 2.0 * x
    else:
        b = x * x
        a = b + 1.0
    return a * b


@case(num(0.2, 0.8), tags="branches defined")
def defined_in_one(x):
    if x > 0.0:
        a = x * x
    if x > 0.0:
        return a * 2.0
    return x


@case(num(0.2, 0.8), N, tags="branches defined loops")
def defined_in_loop(x, n):
    s = 0.0
    for i in range(n):
        if i == 0:
            last = x
        else:
            s += last * x
            last = last * 2.0 * x
    return s


@case(arr(4), tags="branches arrays")
def branch_rebinds_array(x):
    if x[0] > 5.0:
        y = x * 2.0
    else:
        y = np.sin(x)
    return np.sum(y * x)


@case(arr(4), tags="branches arrays")
def branch_writes_array(x):
    y = x.copy()
    if np.sum(y) > -100.0:
        y[0] = y[1] * y[2]
    else:
        y[1:] = 0.0
    return np.sum(y * y)


@case(arr(4), tags="branches arrays")
def branch_changes_size(x):
    if x[0] < 100.0:
        y = x[:2]
    else:
        y = x
    return np.sum(y * y)


@case(num(0.2, 0.8), num(0.1, 0.9), wrt=(0, 1), tags="branches phi")
def swap_in_branch(x, y):
    if x < 10.0:
        x, y = y, x
    return x * x * y


@case(arr(3), tags="branches any all")
def branch_on_any_and_all(x):
    if np.any(x > 0.99) or (x < -5.0).any():
        return np.sum(x)
    if np.all(x < 1.0) and (x > -2.0).all():
        return np.sum(x * x)
    return 0.0


@case(num(0.2, 0.8), tags="branches nested return")
def deep_returns(x):
    if x > 0.0:
        if x > 0.5:
            if x > 0.7:
                return x
            return x * 2.0
        return np.sin(x)
    return np.cos(x)


@case(arr(N), tags="branches loops")
def running_maximum(x):
    best = -10.0
    for v in x:
        if v > best:
            best = v
    return best * 2.0


@case(arr(N), tags="branches loops")
def relu_network_by_hand(x):
    s = 0.0
    for i in range(x.shape[0]):
        h = 2.0 * x[i] + 0.1
        s += h if h > 0.0 else 0.01 * h
    return s


@case(num(0.3, 0.8), N, tags="branches loops flags")
def flag_variable(x, n):
    done = False
    s = x
    for i in range(n):
        if not done:
            s = s * (1.0 + x)
            if s > 1.0:
                done = True
        else:
            s = s + x
    return s


@case(num(0.3, 0.8), tags="branches is")
def optional_none(x, scale=None):
    if scale is None:
        scale = 2.0
    y = None
    if y is not None:
        x = x * 100.0
    return x * scale


@case(num(0.3, 0.8), value("square"), tags="branches strings")
def string_mode(x, mode):
    if mode == "square":
        return x * x
    elif mode in ("cube", "third"):
        return x**3
    return x


@case(arr(N + 2, 3), arr(2, 3), tags="branches")
def nearest_of_two(points, centres):
    total = 0.0
    for i in range(len(points)):
        nearest = np.inf
        for c in range(len(centres)):
            nearest = min(nearest, np.sum((points[i] - centres[c]) ** 2))
        total += nearest * np.max(points[i])
    return total


@case(arr(N + 1), tags="branches")
def zeros_of_both_signs(x):
    z = np.where(x > 0.1, 0.0, -0.0)
    s = 0.0 if x[0] > 0.2 else -0.0
    return np.sum(np.copysign(x * x, z)) + np.copysign(x[0] * 3.0, s)


@case(arr(N + 2, 4), arr(N + 3), tags="branches")
def first_bound_in_a_branch(x, w):
    """The sizes of an array are known although some iterations do not bind it."""
    total = 0.0
    for k in range(x.shape[1]):
        if k > 0:
            below = np.sin(x[:, k] * (w[1:] + w[:-1]))
        if k > 1:
            total += np.sum(below * x[:, k])
    return total
