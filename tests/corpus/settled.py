"""Loops that read an array they write: elements that are final when they are read, and elements
that are overwritten later."""

import numpy as np

from . import N, arr, case

V, M = arr(N + 3), arr(N + 2, N + 3, low=-0.5, high=0.5)


@case(V, tags="settled")
def chain(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.sin(y[i] * y[i - 1])
    return np.sum(y**2)


@case(V, tags="settled")
def chain_from_the_end(x):
    y = x.copy()
    for i in range(len(y) - 2, -1, -1):
        y[i] = np.sin(y[i] * y[i + 1])
    return np.sum(y**2)


@case(V, tags="settled")
def both_ends_of_a_link_change(x):
    y = x.copy()
    for i in range(len(y) - 1):
        y[i + 1] = np.sin(y[i] * y[i + 1]) + y[i]
        y[i] = 0.5 * y[i] * y[i + 1]
    return np.sum(y**2)


@case(V, tags="settled")
def the_first_reads_the_last(x):
    y = x.copy()
    for i in range(len(y)):
        y[i] = np.sin(y[i] * y[i - 1])
    return np.sum(y**2)


@case(V, tags="settled")
def the_first_writes_the_last(x):
    y = x.copy()
    for i in range(len(y)):
        y[i - 1] = np.sin(y[i] * y[i - 1])
    return np.sum(y**2)


@case(V, tags="settled")
def the_whole_again(x):
    y = x.copy()
    for _ in range(2):
        for i in range(1, len(y)):
            y[i] = np.sin(y[i] * y[i - 1])
    return np.sum(y**2)


@case(V, tags="settled")
def all_before(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.sin(y[i] + np.sum(y[:i] ** 2))
    return np.sum(y**2)


@case(V, tags="settled")
def all_before_but_the_first_changes(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.sin(y[i] + np.sum(y[:i] ** 2))
        y[0] = y[0] * y[i]
    return np.sum(y**2)


@case(V, tags="settled")
def all_after(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.sin(y[i] + np.sum(y[i:] ** 2))
    return np.sum(y**2)


@case(V, tags="settled")
def links_of_two_kinds(x):
    y = x.copy()
    for i in range(1, len(y)):
        if y[i - 1] > 0:
            y[i] = np.sin(y[i] * y[i - 1])
        else:
            y[i] = y[i] * y[i] * y[i - 1]
    return np.sum(y**2)


@case(V, tags="settled")
def sometimes_the_one_before_changes(x):
    y = x.copy()
    for i in range(1, len(y)):
        z = y[i - 1] * y[i]
        if z > 0:
            y[i - 1] = np.sin(z)
        y[i] = z * y[i]
    return np.sum(y**2)


@case(V, tags="settled")
def every_second(x):
    y = x.copy()
    for i in range(2, len(y), 2):
        y[i] = np.sin(y[i] * y[i - 2])
    return np.sum(y**2)


@case(V, tags="settled aliases")
def through_a_view(x):
    y = x.copy()
    v = y[1:]
    for i in range(len(v) - 1):
        v[i] = np.sin(v[i] * y[i])
        y[i] = y[i] * v[i + 1]
    return np.sum(y**2)


@case(V, tags="settled")
def changed_after_the_loop(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.sin(y[i] * y[i - 1])
    y[0] = y[1] * y[2]
    y *= y
    return np.sum(y**2)


@case(V, tags="settled break")
def until_one_is_large(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = np.sin(y[i] * y[i - 1])
        if y[i] > 0.3:
            break
    return np.sum(y**2)


@case(V, tags="settled")
def stored_once(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        e = np.exp(x[i] * 0.3 * y[i - 1])
        y[i] = e
    return np.sum(y * x)


@case(V, tags="settled")
def stored_and_doubled(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        e = np.exp(x[i] * 0.3 * y[i - 1])
        y[i] = e
        y[i] = y[i] * 2
    return np.sum(y * x)


@case(V, tags="settled")
def stored_in_one_place(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        e = np.exp(x[i] * 0.3 * y[i - 1])
        y[0] = e
    return np.sum(y * x)


@case(V, tags="settled")
def at_places_from_a_table(x):
    y = x.copy()
    places = np.array([0, 1, 1, 2])
    for i in range(min(len(y) - 1, 4)):
        y[places[i]] = np.sin(y[i] * y[i + 1])
    return np.sum(y**2)


@case(V, tags="settled")
def triangle_from_the_end(x):
    y = x.copy()
    n = len(y)
    for i in range(n):
        for j in range(n - 1, i, -1):
            y[j] = np.sin(y[j] * y[i])
    return np.sum(y**2)


@case(M, tags="settled")
def row_by_row(A):
    B = A.copy()
    for i in range(1, B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = np.sin(B[i, j] + B[i - 1, j] * B[i, 0])
    return np.sum(B**2)


@case(M, tags="settled")
def rows_and_their_heads(A):
    B = A.copy()
    for i in range(1, B.shape[0]):
        B[i] = np.sin(B[i] * B[i - 1])
        B[i, 0] = B[i, 0] * B[i - 1, 1]
    return np.sum(B**2)


@case(M, tags="settled")
def sweeps_over_a_grid(A):
    A = A.copy()
    for _ in range(2):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = np.sin(A[i - 1, j] * A[i, j - 1] + A[i + 1, j] * A[i, j + 1])
    return np.sum(A**2)


def _doubling(y, x, n):
    total = 0.0
    for j in range(n):
        total += y[j] ** 2 * x[j]
        y = y * 2
    return total


@case(V, tags="settled helper")
def bound_anew_in_an_inner_loop(x):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = np.sin(_doubling(y, x, i)) * x[i]
    return np.sum(y)


@case(V, tags="settled")
def at_a_number_that_goes_round(x):
    y = x.copy()
    k = 0
    for i in range(len(x)):
        k = (k * 3 + 1) % 2
        y[k + 1] = np.sin(y[k] ** 2) * x[i]
    return np.sum(y**2)


@case(V, tags="settled")
def up_to_a_count_that_falls(x):
    y = x.copy()
    total = 0.0
    for i in range(3):
        k = len(np.nonzero(np.arange(len(x)) < 4 - i)[0])
        for j in range(k):
            total += y[j] ** 2 * x[0]
        for j in range(k, len(x)):
            y[j] = np.sin(y[j] * total)
    return total + np.sum(y)
