"""Lists appended to in loops, then read, summed or stacked; comprehensions."""

import numpy as np

from . import N, arr, case, ints, made, num


@case(arr(N), tags="lists append")
def append_then_sum(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * x[i])
    s = 0.0
    for v in out:
        s += v * v
    return s


@case(arr(N + 1), tags="lists append stack")
def append_then_array(x):
    out = []
    for v in x:
        out.append(np.sin(v))
    a = np.array(out)
    return np.sum(a * a * x)


@case(arr(3), N, tags="lists append stack")
def append_vectors_then_stack(x, n):
    rows = [x]
    for i in range(n):
        rows.append(np.tanh(rows[-1] * x + i))
    a = np.stack(rows)
    return np.sum(a * a)


@case(arr(2), N, tags="lists append concatenate")
def append_then_concatenate(x, n):
    parts = [x]
    for i in range(n):
        parts.append(x * (i + 1.0))
    return np.sum(np.concatenate(parts) ** 2)


@case(num(), N, tags="lists read")
def read_earlier_elements(x, n):
    h = [x, x * x]
    for i in range(n):
        h.append(h[i] * h[i + 1] + 1.0)
    return h[-1] + h[0] * len(h)


@case(num(), N, tags="lists write")
def write_elements(x, n):
    h = [0.0] * 4
    for i in range(n):
        h[i] = x * (i + 1.0)
        h[i + 1] += h[i] * h[i]
    return h[0] + h[1] * h[2] + h[3]


@case(arr(N), tags="lists branches")
def append_in_branch(x):
    kept = []
    for v in x:
        if v > 0.0:
            kept.append(v)
        else:
            kept.append(v * v)
            kept.append(1.0)
    s = 0.0
    for i in range(len(kept)):
        s += kept[i] * (i + 1)
    return s


@case(arr(N), tags="lists comprehension")
def comprehension_over_array(x):
    squares = [v * v for v in x]
    s = 0.0
    for q in squares:
        s += np.sin(q)
    return s


@case(arr(N), tags="lists comprehension")
def comprehension_over_range(x):
    return float(np.sum(np.array([x[i] * (i + 1.0) for i in range(len(x))]))) + 0.5


@case(arr(N), tags="lists comprehension")
def comprehension_with_condition(x):
    s = 0.0
    for v in [2.0 * t for t in x if t > 0.0]:
        s += v * v
    return s


@case(arr(3), tags="lists comprehension static")
def comprehension_over_tuple(x):
    parts = [x * k for k in (1.0, 2.0, 3.0)]
    a, b, c = [p * p for p in parts]
    return np.sum(parts[0] * a) + np.sum(b * c) + sum([np.sum(p) for p in parts])


@case(arr(2, 3), tags="lists comprehension")
def comprehension_stacked(a):
    return np.sum(np.stack([np.sin(row) for row in a]) * a)


@case(arr(2, 2), tags="lists comprehension nested")
def nested_comprehension(a):
    m = np.array([[a[i, j] * a[j, i] for j in range(2)] for i in range(2)])
    return np.sum(m * a)


@case(num(), N, tags="lists pop")
def stack_discipline(x, n):
    stack = []
    for i in range(n + 1):
        stack.append(x * (i + 1.0))
    s = 1.0
    while len(stack) > 0:
        s = s * 0.5 + stack.pop() * x
    return s


@case(num(), tags="lists literal")
def list_literal(x):
    a = [x, x * 2.0, x * x]
    a[1] = a[0] * a[2]
    b = a + [x + 1.0]
    return sum(a) + b[-1] * b[1] + len(b)


@case(arr(3), tags="lists generator")
def sum_of_generator(x):
    return sum(v * v for v in x) + max(v for v in x) + sum(x[i] * i for i in range(3))


@case(num(), N, tags="lists nested")
def list_rebuilt_in_loop(x, n):
    s = 0.0
    for k in range(n):
        row = []
        for i in range(k + 1):
            row.append(x * (i + 1) + k)
        for v in row:
            s += v * v
    return s


@case(arr(N), tags="lists extend")
def extend_and_insert(x):
    a = [1.0]
    a.extend([0.5, 2.0])
    for v in x:
        a.append(v * a[-1])
    return a[-1] * a[0] + a[1]


@case(arr(4), tags="lists")
def arrays_of_rank_zero_in_a_list(x):
    items = []
    for i in range(len(x)):
        items.append(np.asarray(x[i] * x[0]))
    items[1] = np.asarray(items[2] + 1.0)
    total = np.sum(np.stack(items) ** 2)
    for item in items:
        total += np.sin(item)
    return total


@case(arr(N + 2), num(0.7), tags="lists zip")
def zipped_with_numbers_of_both_kinds(x, s):
    total = x[0] * 0.0
    for a, b in zip(x, [s, 2.0, np.sin(s)]):
        total += a * b * b
    for b in [s, 0.5]:
        total = total * b
    return total


@case(arr(N + 2, 3), tags="lists rows")
def rows_as_a_list(m):
    rows = list(m)
    total = 0.0
    for row in rows:
        total += np.sum(row * rows[0])
    return total * len(rows) + rows[-1] @ rows[1]


@case(arr(N + 3, 3), arr(N + 2), tags="lists rows unpack")
def first_and_rest_of_rows(m, x):
    first, *rest = m
    a, *middle, b = x
    total = np.sum(first) * a * b
    for row in rest:
        total += np.sin(row @ first)
    for v in middle:
        total += v * v
    return total + np.sum(np.stack(rest) ** 2)


def _tree(rng, n, dtype):
    return np.array([-1, *(rng.integers(0, k) for k in range(1, n + 1))])


@case(arr(N + 1, 2), made(_tree), tags="lists append index")
def products_along_a_tree(x, parents):
    """A list that is empty at first and is read at a run-time index."""
    out = []
    for i in range(x.shape[0]):
        if parents[i] == -1:
            out.append(np.sin(x[i]))
        else:
            out.append(out[parents[i]] * np.cos(x[i]))
    return np.sum(np.array(out) ** 2)


@case(arr(N + 1, 2), made(_tree), tags="lists append index whiles")
def append_to_what_an_index_chose(x, parents):
    states = [x[0] * x[0]]
    i = 1
    while i < len(parents):
        states.append(np.tanh(states[parents[i]]) + x[i])
        i += 1
    return np.sum(states[-1] * x[-1])


@case(arr(3), ints(N, low=0, high=3), tags="lists index")
def array_chosen_by_an_index(x, order):
    terms = [np.sin(x), x * x, np.exp(x)]
    total = 0.0
    for k in order:
        total += np.sum(terms[k] * x)
    return total


@case(arr(N, 2), tags="lists slices")
def both_ways_through_a_list(x):
    states, h = [], np.ones(2)
    for row in x:
        h = np.tanh(h * row + 1.0)
        states.append(h)
    back, h = [], np.ones(2)
    for state in states[::-1]:
        h = np.sin(h * state)
        back.append(h)
    back.reverse()
    total = 0.0
    for k, (one, two) in enumerate(zip(states, back)):
        total += np.sum(one * two) * (k + 1.0)
    return total


@case(arr(N + 1), N, tags="lists slices")
def neighbours_in_a_list(x, n):
    squares = [v * v for v in x]
    total = 0.0
    for one, two in zip(squares[1:], squares[:-1]):
        total += one * two * two
    for k, v in enumerate(reversed(squares)):
        total += v * k
    return total + sum(squares[-2:]) + sum(squares[n - 1 : 9 : 2]) * sum(squares[n::-2])


@case(arr(N), num(), wrt=(0, 1), tags="lists insert")
def returns_inserted_at_the_front(rewards, gamma):
    total = 0.0
    returns = []
    for r in rewards[::-1]:
        total = r + gamma * total
        returns.insert(0, total)
    s = 0.5
    for k, v in enumerate(returns):
        s += v * v * (k + 1)
    return s


@case(arr(N), tags="lists pop while")
def queue_with_newcomers(x):
    queue = [v for v in x]
    s = 0.5
    while queue:
        first = queue.pop(0)
        if len(queue) > 1 and first > 0.2:
            queue.append(0.3 * first)
        s += first * first * (len(queue) + 1)
    return s


@case(arr(N, 3), tags="lists insert pop")
def rows_inserted_and_popped_in_the_middle(m):
    rows = []
    s = 0.5
    for k in range(len(m)):
        rows.insert(len(rows) // 2, np.sin(m[k]))
        if k % 3 == 2:
            s += np.sum(rows.pop(1) ** 2) * k
        if k % 3 == 1:
            s += np.sum(rows.pop(-1)) * k
    for k, v in enumerate(rows):
        s += np.sum(v) * (k + 1)
    return s


@case(arr(N), tags="lists insert")
def inserted_beyond_the_ends(x):
    items = [0.5]
    for k in range(len(x)):
        items.insert(-1, x[k] * k)
        items.insert(100, x[k])
        items.insert(-100, x[k] ** 2)
    s = 0.0
    for k, v in enumerate(items):
        s += v * k
    return s


@case(arr(N + 3), tags="lists pop found")
def taken_from_a_list_only_once_it_has_grown(x):
    items = []
    s = 0.5
    for k in range(len(x)):
        if k % 3 == 2:
            s += items.pop() * k
        if k >= 3:
            s += items[1] * items[-1]
        items.append(x[k] ** 2)
    for v in items:
        s += v
    return s
