"""Every part of an expression is evaluated when and as often as in CPython."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.attack.beside import judge, judge_gradient, judge_source, load
from tests.attack.orders import Order
from tests.scale import count

X = np.array([1.0, -2.0, 3.0])
EXAMPLES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "while_test_fails": (
        """
def f(a):
    t = []
    while t[0] > a:
        a += 1
    return a
""",
        (1.0,),
    ),
    "or_walrus": (
        """
def f(a):
    n = 0
    b = a > 0 or (n := n + 1) > 0
    return n + 0.0 * a, b
""",
        (1.0,),
    ),
    "or_walrus_if": (
        """
def f(a):
    n = 0
    if a > 0 or (n := n + 1) > 0:
        a = a * 2
    return n + 0.0 * a
""",
        (1.0,),
    ),
    "and_walrus": (
        """
def f(a):
    n = 0
    b = a > 0 and (n := n + 1) > 0
    return n + 0.0 * a, b
""",
        (-1.0,),
    ),
    "chain_walrus": (
        """
def f(a):
    n = 0
    b = 0 < a < (n := n + 1) + 5
    return n, b
""",
        (-1.0,),
    ),
    "chain3_walrus": (
        """
def f(a):
    n = 0
    b = 0 < a < 1 < (n := n + 1) + 5
    return n, b
""",
        (2.0,),
    ),
    "chain3_helper": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    b = g(t, 0.0) < g(t, a) < g(t, 1.0) < g(t, 5.0)
    return len(t), b
""",
        (2.0,),
    ),
    "ifexp_walrus": (
        """
def f(a):
    n = 0
    b = (n := n + 1) if a > 0 else (n := n + 2)
    return n, b
""",
        (2.0,),
    ),
    "while_or": (
        """
def f(a):
    n = 0
    k = 0
    while k < 3 and (a > 5 or (n := n + 1) > 0):
        k += 1
        a = a + 2
    return n, k, a
""",
        (2.0,),
    ),
    "assert_msg": (
        """
def f(a):
    n = 0
    assert a > 0, (n := n + 1)
    return n + a
""",
        (2.0,),
    ),
    "append_and": (
        """
def f(a):
    t = []
    b = a > 0 and t.append(1.0) is None
    return len(t), b
""",
        (-2.0,),
    ),
    "append_and2": (
        """
def f(a):
    t = [0.0]
    if a > 0 and t.append(1.0) is None:
        a = 2 * a
    return sum(t) + a
""",
        (-2.0,),
    ),
    "helper_append_or": (
        """
def g(t, v):
    t.append(v)
    return v > 0
def f(a):
    t = [0.0]
    b = a > 0 or g(t, a)
    return sum(t) + a, b
""",
        (2.0,),
    ),
    "inplace_array_or": (
        """
def g(t, v):
    t[0] = v
    return v > 0
def f(a):
    t = np.zeros(2)
    b = a > 0 or g(t, a)
    return t, b
""",
        (2.0,),
    ),
    "inplace_array_and": (
        """
def g(t):
    t += 1.0
    return True
def f(a):
    t = np.zeros(2)
    b = a > 0 and g(t)
    return t, b
""",
        (-2.0,),
    ),
    "index_guard": (
        """
def f(x):
    i = 0
    s = 0.0
    while i < len(x) and x[i] != 7.0:
        s += x[i]
        i += 1
    return s
""",
        (X,),
    ),
    "index_guard_if": (
        """
def f(x, i):
    n = len(x)
    if i < n and x[i] > 0:
        return x[i]
    return -1.0
""",
        (X, 5),
    ),
    "index_guard_val": (
        """
def f(x, i):
    n = len(x)
    b = i < n and x[i] > 0
    return b
""",
        (X, 5),
    ),
    "print_and": (
        """
def g(v):
    print('called')
    return True
def f(a):
    b = a > 0 and g(a)
    return b, a
""",
        (-1.0,),
    ),
    "raise_and": (
        """
def g(v):
    if v < 0:
        raise ValueError('neg')
    return True
def f(a):
    b = a > 0 and g(a)
    return b, a
""",
        (-1.0,),
    ),
    "default_once": (
        """
def f(a):
    n = 0
    t = []
    def g(v, w=t.append(1.0)):
        return v
    return g(a) + g(a) + len(t)
""",
        (1.0,),
    ),
    "default_value": (
        """
def f(a):
    n = 1.0
    def g(v, w=n):
        return v + w
    n = 5.0
    return g(a)
""",
        (1.0,),
    ),
    "default_list": (
        """
def f(a):
    def g(v, w=[]):
        w.append(v)
        return len(w)
    g(a)
    g(a)
    return g(a) + a
""",
        (1.0,),
    ),
    "comp_walrus_if": (
        """
def f(x):
    n = 0
    y = [v for v in x if v > 0 or (n := n + 1) > 5]
    return n, len(y)
""",
        (X,),
    ),
    "comp_walrus": (
        """
def f(x):
    last = 0.0
    y = [last := v * 2 for v in x]
    return last + sum(y)
""",
        (X,),
    ),
    "any_gen_effects": (
        """
def f(x):
    n = 0
    b = any((n := n + 1) > 1 for v in (1.0, 2.0, 3.0))
    return n, b
""",
        (X,),
    ),
    "all_gen_effects": (
        """
def g(t, v):
    t.append(v)
    return v < 2.0
def f(x):
    t = []
    b = all(g(t, v) for v in (1.0, 2.0, 3.0))
    return len(t), b
""",
        (X,),
    ),
    "any_gen_rt": (
        """
def f(x):
    n = 0
    b = any((n := n + 1) > 1 and v < 0 for v in x)
    return n, b
""",
        (X,),
    ),
    "nested_bool": (
        """
def f(a, b):
    n = 0
    r = (a > 0 and (n := n + 1) > 5) or (b > 0 and (n := n + 10) > 0)
    return n, r
""",
        (1.0, -1.0),
    ),
    "walrus_right_used": (
        """
def f(a):
    if a > 0 and (m := a * 2) > 1:
        return m
    return a
""",
        (3.0,),
    ),
    "div_guard": (
        """
def f(a, n):
    return n != 0 and 10 // n > 1, a
""",
        (3.0, 0),
    ),
    "list_guard": (
        """
def f(a):
    s = []
    if s and s[-1] > a:
        return 1.0
    return a
""",
        (3.0,),
    ),
    "ifexp_append": (
        """
def f(a):
    t = []
    t.append(1.0) if a > 0 else t.append(2.0)
    return t[0] + a
""",
        (3.0,),
    ),
    "ifexp_test_effect": (
        """
def f(a):
    n = 0
    r = 1.0 if (n := n + 1) > 0 and a > 0 else 2.0
    return r, n
""",
        (-3.0,),
    ),
    "not_effect": (
        """
def f(a):
    n = 0
    r = not (a > 0 or (n := n + 1) > 0)
    return r, n
""",
        (3.0,),
    ),
    "assert_effect": (
        """
def f(a):
    n = 0
    assert a > 0 or (n := n + 1) > 0
    return n + a
""",
        (3.0,),
    ),
    "sub_effect": (
        """
def f(x):
    n = 0
    b = n > 1 or x[(n := n + 1)] > 0
    return n, b
""",
        (X,),
    ),
    "pop_and": (
        """
def f(a):
    t = [1.0, 2.0]
    b = a > 0 and t.pop() > 0
    return len(t), b
""",
        (-2.0,),
    ),
    "attr_effect": (
        """
class C:
    def __init__(self):
        self.n = 0
    def up(self):
        self.n += 1
        return True
def f(a):
    c = C()
    b = a > 0 or c.up()
    return c.n, b
""",
        (2.0,),
    ),
    "dict_effect": (
        """
def g(d):
    d['k'] = 2.0
    return True
def f(a):
    d = {'k': 1.0}
    b = a > 0 or g(d)
    return d['k'], b
""",
        (2.0,),
    ),
    "min_order": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    s = g(t, 1.0) + g(t, a) * g(t, 3.0)
    return t, s
""",
        (2.0,),
    ),
    "dict_order": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    d = {g(t, 1.0): g(t, 2.0)}
    return t
""",
        (2.0,),
    ),
    "assign_order": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    u = [0.0, 0.0]
    u[g(t, 1)] = g(t, 0)
    return t, u
""",
        (2.0,),
    ),
    "aug_order": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    u = [0.0, 0.0]
    u[g(t, 1)] += g(t, 0)
    return t, u
""",
        (2.0,),
    ),
    "walrus_order": (
        """
def f(a):
    n = 1
    return n + (n := 5) + n
""",
        (2.0,),
    ),
    "walrus_order_arr": (
        """
def f(x):
    return x.sum() + (x := x * 2).sum() + x.sum()
""",
        (X,),
    ),
    "list_read_then_mutate": (
        """
def g(t):
    t.append(1.0)
    return 1.0
def f(a):
    t = [a]
    return len(t) + g(t) + len(t)
""",
        (2.0,),
    ),
    "array_read_then_mutate": (
        """
def g(t):
    t += 1.0
    return 1.0
def f(a):
    t = np.zeros(3)
    return t[0] + g(t) + t[0]
""",
        (2.0,),
    ),
    "array_expr_then_mutate": (
        """
def g(t):
    t += 1.0
    return 1.0
def f(a):
    t = np.zeros(3)
    return t + g(t)
""",
        (2.0,),
    ),
    "array_arg_then_mutate": (
        """
def g(t):
    t += 1.0
    return 1.0
def h(t, u):
    return t.sum() + u
def f(a):
    t = np.zeros(3)
    return h(t, g(t))
""",
        (2.0,),
    ),
    "tuple_of_name": (
        """
def f(a):
    t = (a, (a := a + 1), a)
    return t
""",
        (2.0,),
    ),
    "any_index": (
        """
def f(x):
    return any(x[i] > x[i + 1] for i in range(len(x) - 1)), x
""",
        (X,),
    ),
    "any_index_oob": (
        """
def f(x):
    return any(x[i] > 0 for i in range(len(x) + 3)), x
""",
        (X,),
    ),
    "all_index_oob": (
        """
def f(x):
    return all(x[i] < 0 for i in range(len(x) + 3)), x
""",
        (X,),
    ),
    "all_plain": (
        """
def f(x):
    return all(v < 100 for v in x), any(v < -100 for v in x)
""",
        (X,),
    ),
    "while_test_effect": (
        """
def g(t):
    t[0] += 1.0
    return t[0] < 3
def f(x):
    t = np.zeros(1)
    n = 0
    while g(t):
        n += 1
    return t[0] + 10 * n + x[0]
""",
        (X,),
    ),
    "while_test_pop": (
        """
def f(x):
    t = [1.0, 2.0, 3.0]
    s = x[0]
    while t and t.pop() > 1.5:
        s += 1.0
    return s, len(t)
""",
        (X,),
    ),
    "while_test_pop_rt": (
        """
def f(x):
    t = list(x)
    s = x[0]
    while t and t.pop() > 1.5:
        s += 1.0
    return s, len(t)
""",
        (X,),
    ),
    "error_in_a_chain_that_ends_before": (
        """
def f(x):
    d = {'a': x[0]}
    if x[0] < x[1] > next(d.values()):
        raise ValueError('no')
    return x[0] * 1.0
""",
        (X,),
    ),
    "error_in_a_chain": (
        """
def f(x):
    d = {'a': x[0]}
    if x[1] < x[0] > next(d.values()):
        raise ValueError('no')
    return x[0] * 1.0
""",
        (X,),
    ),
    "error_on_the_right_of_and": (
        """
def f(x):
    return x[0] if x[0] < x[1] and len(1) else x[1]
""",
        (X,),
    ),
    "effect_of_a_statement": (
        """
def f(a):
    a > 0 or print('x')
    a > 0 and print('y')
    return a
""",
        (1.0,),
    ),
    "while_test_else": (
        """
def g(t):
    t[0] += 1.0
    return t[0] < 3
def f(x):
    t = np.zeros(1)
    n = 0
    while g(t):
        n += 1
        if n > 5:
            break
    else:
        n += 100
    return t[0] + 10 * n + x[0]
""",
        (X,),
    ),
    "while_test_break": (
        """
def g(t):
    t[0] += 1.0
    return t[0] < 30
def f(x):
    t = np.zeros(1)
    n = 0
    while g(t):
        n += 1
        if n > 5:
            break
    else:
        n += 100
    return t[0] + 10 * n + x[0]
""",
        (X,),
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    source, args = EXAMPLES[name]
    found = judge_source(source, args)
    assert found.kind == "right", found.text


def arguments(order: Order, seed: int) -> tuple[Any, ...]:
    x = np.array([0.75, -0.5, 1.25, 0.25, 2.0, 0.1, 0.7])
    return (*order.arguments, seed % 2 == 0, x)


def test_random_orders_of_evaluation() -> None:
    bad = []
    for seed in range(count(60, 4000)):
        order = Order(seed)
        f, args = load(order.source)["f"], arguments(order, seed)
        found = judge(f, args)
        if found.kind == "right" and seed % 5 == 0:
            found = judge_gradient(f, args)
        if not found.allowed:
            bad.append(f"{seed}: {found.kind}: {found.text}\n{order.source}")
    assert not bad, f"{len(bad)} programs\n" + "\n".join(bad[:3])
