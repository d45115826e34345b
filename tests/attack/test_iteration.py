"""Iterators are consumed as in Python, and their elements are computed when they are consumed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.attack.beside import judge, judge_gradient, judge_source, load
from tests.attack.iterations import Iteration
from tests.scale import count

X = np.array([1.0, -2.0, 3.0])
Y = np.array([0.5, 1.5, 2.5])
EXAMPLES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "dict_grows_before_a_generator": (
        """
def f(a):
    d = {'a': a}
    z = (v for v in d)
    d['b'] = 1.0
    for v in z:
        a += 1.0
    return a
""",
        (2.0,),
    ),
    "dict_grows_after_iter": (
        """
def f(a):
    d = {'a': 1.0}
    z = zip(d, d.values())
    d['b'] = a
    return [v for k, v in z]
""",
        (2.0,),
    ),
    "dict_changes_after_iter": (
        """
def f(a):
    d = {'a': 1.0}
    z = iter(d.values())
    d['a'] = a
    return [v for v in z]
""",
        (2.0,),
    ),
    "late_gen": (
        """
def f(x):
    k = 2.0
    z = (v * k for v in x)
    k = 3.0
    return sum(z)
""",
        (X,),
    ),
    "late_gen_static": (
        """
def f(a):
    k = 2.0
    z = (v * k for v in (1.0, 2.0))
    k = 3.0
    return sum(z) + a
""",
        (1.0,),
    ),
    "late_gen_iter": (
        """
def f(a):
    w = [1.0, 2.0]
    z = (v for v in w)
    w = [5.0]
    return sum(z) + a
""",
        (1.0,),
    ),
    "late_map": (
        """
def f(a):
    k = 2.0
    z = map(lambda v: v * k, [1.0, 2.0])
    k = 3.0
    return sum(z) + a
""",
        (1.0,),
    ),
    "late_gen_mut": (
        """
def f(a):
    w = [1.0, 2.0]
    z = (v for v in w)
    w.append(5.0)
    return sum(z) + a
""",
        (1.0,),
    ),
    "late_zip_mut": (
        """
def f(a):
    w = [1.0, 2.0, 3.0]
    z = zip(w, w)
    w[0] = 7.0
    return sum(p * q for p, q in z) + a
""",
        (1.0,),
    ),
    "late_enum_mut": (
        """
def f(a):
    w = [1.0, 2.0, 3.0]
    z = enumerate(w)
    w.append(7.0)
    return sum(i * q for i, q in z) + a
""",
        (1.0,),
    ),
    "late_arr_mut": (
        """
def f(x):
    y = x.copy()
    z = zip(y, y)
    y[0] = 7.0
    return sum(p * q for p, q in z)
""",
        (X,),
    ),
    "late_arr_rev_mut": (
        """
def f(x):
    y = x.copy()
    z = reversed(y)
    y[0] = 7.0
    return sum(p for p in z)
""",
        (X,),
    ),
    "gen_side_unused": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    z = (g(t, v) for v in (1.0, 2.0))
    return len(t) + a
""",
        (1.0,),
    ),
    "map_side_unused": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    z = map(lambda v: g(t, v), (1.0, 2.0))
    return len(t) + a
""",
        (1.0,),
    ),
    "dict_view": (
        """
def f(a):
    d = {'a': 1.0}
    v = d.values()
    d['b'] = a
    return sum(v)
""",
        (2.0,),
    ),
    "dict_view_keys": (
        """
def f(a):
    d = {'a': 1.0}
    v = d.keys()
    d['b'] = a
    return len(v)
""",
        (2.0,),
    ),
    "dict_view_items": (
        """
def f(a):
    d = {'a': 1.0}
    v = d.items()
    d['a'] = a
    return [w for k, w in v]
""",
        (2.0,),
    ),
    "dict_view_in": (
        """
def f(a):
    d = {'a': 1.0}
    v = d.keys()
    d['b'] = a
    return 'b' in v
""",
        (2.0,),
    ),
    "dict_keys_eq": (
        """
def f(a):
    d = {'a': 1.0}
    return d.keys() == ('a',), d.keys() == d.keys(), d.values() == (1.0,)
""",
        (2.0,),
    ),
    "dict_loop_change": (
        """
def f(a):
    d = {'a': 1.0}
    for k in d:
        d['b'] = a
    return d
""",
        (2.0,),
    ),
    "dict_loop_change_items": (
        """
def f(a):
    d = {'a': 1.0, 'b': 2.0}
    s = 0.0
    for k, v in d.items():
        d['b'] = 5.0
        s += v
    return s + a
""",
        (2.0,),
    ),
    "dictcomp_twice": (
        """
def f(a):
    d = {k % 2: k * a for k in range(4)}
    return d
""",
        (2.0,),
    ),
    "dictcomp_twice_s": (
        """
def f(a):
    d = {k: v for k, v in [('a', 1.0), ('a', a)]}
    return d, len(d)
""",
        (2.0,),
    ),
    "dictlit_twice": (
        """
def f(a):
    d = {'a': 1.0, 'a': a, **{'a': 3.0}}
    return d
""",
        (2.0,),
    ),
    "dict_1_true": (
        """
def f(a):
    d = {1: 1.0, True: a, 1.0: 7.0}
    return d
""",
        (2.0,),
    ),
    "dict_call_twice": (
        """
def f(a):
    d = dict([('a', 1.0), ('a', a)], a=5.0)
    return d
""",
        (2.0,),
    ),
    "dictcomp_order": (
        """
def f(a):
    d = {k: a for k in ('b', 'a', 'b')}
    return list(d.keys())
""",
        (2.0,),
    ),
    "list_imul_alias": (
        """
def f(a):
    t = [a]
    u = t
    t *= 3
    return len(u), len(t)
""",
        (2.0,),
    ),
    "list_imul_0": (
        """
def f(a):
    t = [a]
    u = t
    t *= 0
    return len(u), len(t)
""",
        (2.0,),
    ),
    "list_imul_attr": (
        """
class C:
    pass
def f(a):
    t = [a]
    d = {'t': t}
    d['t'] *= 2
    return len(t), len(d['t'])
""",
        (2.0,),
    ),
    "list_iadd_sub": (
        """
def f(a):
    t = [a]
    d = {'t': t}
    d['t'] += [1.0]
    return len(t), len(d['t'])
""",
        (2.0,),
    ),
    "list_iadd_sub2": (
        """
def f(a):
    t = [a]
    d = [t, t]
    d[0] += [1.0]
    return len(t), len(d[1])
""",
        (2.0,),
    ),
    "list_iadd_tuple": (
        """
def f(a):
    t = [a]
    t += (1.0, 2.0)
    return t
""",
        (2.0,),
    ),
    "list_iadd_self": (
        """
def f(a):
    t = [a, 2.0]
    u = t
    t += t
    return u
""",
        (2.0,),
    ),
    "list_iadd_range": (
        """
def f(a):
    t = [a, 2.0]
    t += range(2)
    return t
""",
        (2.0,),
    ),
    "list_imul_loop": (
        """
def f(a, n):
    t = [a]
    u = t
    t *= n
    return len(u) + a
""",
        (2.0, 3),
    ),
    "tuple_imul": (
        """
def f(a):
    t = (a,)
    u = t
    t *= 2
    return u, t
""",
        (2.0,),
    ),
    "append_in_iter": (
        """
def f(a):
    t = [1.0, 2.0]
    s = 0.0
    for v in t:
        if len(t) < 4:
            t.append(v + 5)
        s += v
    return s + a
""",
        (2.0,),
    ),
    "append_in_iter_rt": (
        """
def f(x):
    t = []
    for v in x:
        t.append(v)
    s = 0.0
    for v in t:
        if len(t) < 6:
            t.append(v + 5)
        s += v
    return s
""",
        (X,),
    ),
    "pop_in_iter": (
        """
def f(a):
    t = [1.0, 2.0, 3.0, 4.0]
    s = 0.0
    for v in t:
        t.pop()
        s += v
    return s + a
""",
        (2.0,),
    ),
    "remove_in_iter": (
        """
def f(a):
    t = [1.0, 2.0, 3.0, 4.0]
    s = 0.0
    for v in t:
        t.pop(0)
        s += v
    return s + a
""",
        (2.0,),
    ),
    "set_in_iter": (
        """
def f(a):
    t = [1.0, 2.0, 3.0, 4.0]
    s = 0.0
    for i, v in enumerate(t):
        t[3] = 10.0
        s += v
    return s + a
""",
        (2.0,),
    ),
    "set_in_iter_rt": (
        """
def f(x):
    t = list(x)
    s = 0.0
    for v in t:
        t[2] = 10.0
        s += v
    return s
""",
        (X,),
    ),
    "pop_in_iter_rt": (
        """
def f(x):
    t = list(x)
    s = 0.0
    for v in t:
        t.pop()
        s += v
    return s
""",
        (X,),
    ),
    "arr_set_in_iter": (
        """
def f(x):
    y = x.copy()
    s = 0.0
    for v in y:
        y[2] = 10.0
        s += v
    return s
""",
        (X,),
    ),
    "arr_rebind_in_iter": (
        """
def f(x):
    y = x.copy()
    s = 0.0
    for v in y:
        y = y * 2
        s += v
    return s + y[0]
""",
        (X,),
    ),
    "list_rebind_in_iter": (
        """
def f(a):
    y = [1.0, 2.0]
    s = 0.0
    for v in y:
        y = [9.0]
        s += v
    return s + y[0] + a
""",
        (1.0,),
    ),
    "comp_append": (
        """
def f(a):
    y = [1.0, 2.0]
    z = [y.append(v) for v in y if len(y) < 5]
    return y, len(z)
""",
        (1.0,),
    ),
    "clear_in_iter": (
        """
def f(a):
    y = [1.0, 2.0]
    s = a
    for v in y:
        s += v
        y.clear()
    return s
""",
        (1.0,),
    ),
    "insert_in_iter": (
        """
def f(a):
    y = [1.0, 2.0]
    s = a
    for v in y:
        s += v
        if len(y) < 4:
            y.insert(0, 5.0)
    return s
""",
        (1.0,),
    ),
    "sum_while_mut": (
        """
def f(a):
    y = [1.0, 2.0]
    s = a
    for i, v in enumerate(y):
        s += v * i
        if i < 3:
            y.append(v)
    return s
""",
        (1.0,),
    ),
    "zip_mut": (
        """
def f(a):
    y = [1.0, 2.0]
    w = [1.0, 2.0, 3.0, 4.0, 5.0]
    s = a
    for u, v in zip(w, y):
        s += v * u
        if len(y) < 4:
            y.append(v)
    return s
""",
        (1.0,),
    ),
    "prod_twice": (
        """
import itertools
def f(x):
    z = itertools.product(range(2), range(3))
    s = 0.0
    for i, j in z:
        s += i * j
    for i, j in z:
        s += 100.0
    return s
""",
        (X,),
    ),
    "ndindex_twice": (
        """
def f(x):
    z = np.ndindex(2, 3)
    s = 0.0
    for i, j in z:
        s += i * j
    for i, j in z:
        s += 100.0
    return s
""",
        (X,),
    ),
    "comb_twice": (
        """
import itertools
def f(x):
    z = itertools.combinations([1.0, 2.0, 3.0], 2)
    s = 0.0
    for i, j in z:
        s += i * j
    for i, j in z:
        s += 100.0
    return s
""",
        (X,),
    ),
    "chain_twice": (
        """
import itertools
def f(x):
    z = itertools.chain([1.0], [2.0])
    return sum(z) + 10 * sum(z)
""",
        (X,),
    ),
    "acc_twice": (
        """
import itertools
def f(x):
    z = itertools.accumulate([1.0, 2.0])
    return sum(z) + 10 * sum(z)
""",
        (X,),
    ),
    "acc_arr": (
        """
import itertools
def f(x):
    return sum(itertools.accumulate(x))
""",
        (X,),
    ),
    "acc_late": (
        """
import itertools
def f(x):
    k = 1.0
    z = itertools.accumulate([1.0, 2.0], lambda a, b: a + k * b)
    k = 5.0
    return sum(z)
""",
        (X,),
    ),
    "for_enum_gen": (
        """
def f(x):
    s = 0.0
    for i, v in enumerate(v * 2 for v in x):
        s += i * v
    return s
""",
        (X,),
    ),
    "for_zip_map": (
        """
def f(x, y):
    s = 0.0
    for a, b in zip(map(lambda v: v * 2, x), y):
        s += a * b
    return s
""",
        (X, Y),
    ),
    "for_gen_helper": (
        """
def g(z):
    s = 0.0
    for v in z:
        s += v
    return s
def f(x):
    k = 3.0
    return g(v * k for v in x)
""",
        (X,),
    ),
    "nested_gens": (
        """
def f(x):
    return sum(sum(v * w for v in x) for w in x)
""",
        (X,),
    ),
    "gen_two": (
        """
def f(x):
    return sum(v * w for v in x for w in (1.0, 2.0) if v > 0)
""",
        (X,),
    ),
    "dict_from_zip2": (
        """
def f(x):
    d = {k: v for k, v in zip(['a', 'b'], [1.0, 2.0])}
    return d['a'] + d['b'] + x[0]
""",
        (X,),
    ),
    "unpack_map": (
        """
def f(x):
    a, b = map(lambda v: v * 2, [1.0, 2.0])
    return a + b + x[0]
""",
        (X,),
    ),
    "star_map": (
        """
def g(a, b):
    return a - b
def f(x):
    return g(*map(lambda v: v * 2, [1.0, 2.0])) + x[0]
""",
        (X,),
    ),
    "sorted_gen": (
        """
def f(x):
    return sorted(v * -1 for v in [1.0, 3.0, 2.0]), x
""",
        (X,),
    ),
    "max_gen": (
        """
def f(x):
    return max(v * -1 for v in x), min((v for v in x), default=0.0)
""",
        (X,),
    ),
    "max_map_key": (
        """
def f(x):
    return max(map(lambda v: v * 2, [1.0, -5.0]), key=lambda v: v * v) + x[0]
""",
        (X,),
    ),
    "join_gen": (
        """
def f(x):
    return len(','.join(str(k) for k in range(3))) + x[0]
""",
        (X,),
    ),
    "reduce_map": (
        """
import functools
def f(x):
    return functools.reduce(lambda a, b: a + b, map(lambda v: v * 2, [1.0, 2.0])) + x[0]
""",
        (X,),
    ),
    "extend_gen": (
        """
def f(x):
    t = [1.0]
    t.extend(v * 2 for v in [1.0, 2.0])
    return sum(t) + x[0]
""",
        (X,),
    ),
    "tuple_gen": (
        """
def f(x):
    return tuple(v * 2 for v in (1.0, 2.0)), x
""",
        (X,),
    ),
    "dict_update_loop": (
        """
def f(x):
    d = {'a': x[0], 'b': x[1]}
    for k in d:
        d[k] = d[k] * 2
    return d['a'] + d['b']
""",
        (X,),
    ),
    "dict_update_loop2": (
        """
def f(x):
    d = {'a': x[0], 'b': x[1]}
    for k, v in d.items():
        d[k] = v * 2
    return d['a'] + d['b']
""",
        (X,),
    ),
    "view_truth": (
        """
def f(x):
    d = {}
    return (1.0 if d.items() else 2.0) + x[0]
""",
        (X,),
    ),
    "range_truth": (
        """
def f(x, n):
    return (1.0 if range(n) else 2.0) + x[0]
""",
        (X, 0),
    ),
    "grouper": (
        """
def f(x):
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0])
    return [a * b for a, b in zip(it, it)], list(it)
""",
        (X,),
    ),
    "zip_uneven": (
        """
def f(x):
    a = iter([1.0, 2.0, 3.0, 4.0])
    b = iter([1.0, 2.0])
    z = list(zip(a, b))
    return len(z), list(a), list(b)
""",
        (X,),
    ),
    "zip_uneven2": (
        """
def f(x):
    a = iter([1.0, 2.0, 3.0, 4.0])
    b = iter([1.0, 2.0])
    z = list(zip(b, a))
    return len(z), list(a), list(b)
""",
        (X,),
    ),
    "iter_break_rt": (
        """
def f(x):
    it = iter([1.0, 2.0, 3.0, 4.0])
    s = 0.0
    for v in it:
        if v > x[0]:
            break
        s += v
    return s + x[1]
""",
        (X,),
    ),
    "iter_next_in_loop": (
        """
def f(x):
    it = iter([1.0, 2.0, 3.0, 4.0])
    s = 0.0
    for v in it:
        s += v * next(it)
    return s + x[1]
""",
        (X,),
    ),
    "next_default": (
        """
def f(x):
    it = iter([1.0])
    return next(it, 5.0) + 10 * next(it, 7.0) + x[0]
""",
        (X,),
    ),
    "next_stop": (
        """
def f(x):
    it = iter([])
    return next(it) + x[0]
""",
        (X,),
    ),
    "iter_in_loop": (
        """
def f(x):
    z = zip(x, x)
    s = 0.0
    for k in range(2):
        for a, b in z:
            s += a * b
    return s
""",
        (X,),
    ),
    "iter_in_loop2": (
        """
def f(x, n):
    z = zip(x, x)
    s = 0.0
    for k in range(n):
        for a, b in z:
            s += a * b
    return s
""",
        (X, 3),
    ),
    "late_rev_mut": (
        """
def f(a):
    w = [1.0, 2.0, 3.0]
    z = reversed(w)
    w[0] = 7.0
    return sum(z) + a
""",
        (1.0,),
    ),
    "gen_side_order": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    for v in (g(t, v) for v in (1.0, 2.0)):
        t.append(10.0)
    return t
""",
        (1.0,),
    ),
    "map_side_order": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    for v in map(lambda v: g(t, v), (1.0, 2.0)):
        t.append(10.0)
    return t
""",
        (1.0,),
    ),
    "map_break": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = []
    for v in map(lambda v: g(t, v), (1.0, 2.0)):
        break
    return t
""",
        (1.0,),
    ),
    "gen_raise": (
        """
def g(v):
    if v > 1.0:
        raise ValueError('x')
    return v
def f(a):
    for v in (g(v) for v in (1.0, 2.0)):
        if v > 0:
            break
    return v + a
""",
        (1.0,),
    ),
    "for_gen_late": (
        """
def f(x):
    s = 0.0
    k = 1.0
    for a in (v * k for v in x):
        s += a
        k = 2.0
    return s
""",
        (X,),
    ),
    "for_gen_mut": (
        """
def f(x):
    s = 0.0
    y = x.copy()
    for a in (v * y[0] for v in x):
        s += a
        y[0] += 1.0
    return s
""",
        (X,),
    ),
    "for_gen_helper2": (
        """
def g(z, y):
    s = 0.0
    for v in z:
        s += v
        y[0] = 5.0
    return s
def f(x):
    y = x.copy()
    return g((v * y[0] for v in x), y)
""",
        (X,),
    ),
    "next_arr": (
        """
def f(x):
    it = iter(x)
    a = next(it)
    return a + sum(it)
""",
        (X,),
    ),
    "next_gen": (
        """
def f(x):
    return next(v for v in [1.0, 2.0] if v > 1.0) + x[0]
""",
        (X,),
    ),
    "gen_break_other_names": (
        """
def g(t, v):
    t.append(v)
    return v * 2
def f(a):
    t = []
    v = 7.0
    for w in (g(t, v) for v in (1.0, a, 3.0) if v != 1.0):
        t.append(v)
        if w > 2.0:
            break
    return len(t), sum(t), v, w
""",
        (1.5,),
    ),
    "gen_same_target": (
        """
def f(x):
    y = x.copy()
    s = 0.0
    for v in (v * y[0] for v in x):
        y[0] += 1.0
        v = v * 2
        s += v
    return s, v, y
""",
        (X,),
    ),
    "gen_two_clauses_changed": (
        """
def f(x):
    k = 1.0
    s = 0.0
    for p in (v * w * k for v in x for w in x if w > 0):
        s += p
        k = k + 1.0
    return s
""",
        (X,),
    ),
    "filter_changed": (
        """
def f(x):
    k = 0.0
    s = 0.0
    for v in filter(lambda v: v > k, x):
        s += v
        k = 1.5
    return s
""",
        (X,),
    ),
    "gen_in_a_helper_with_tests": (
        """
def g(z, y):
    s = 0.0
    for p in z:
        s += p
        y[0] = 5.0
    return s
def f(x):
    y = x.copy()
    return g((v * y[0] for v in x if v * y[0] > -5.0), y), y
""",
        (X,),
    ),
    "gen_return_inside": (
        """
def g(t, v):
    t.append(v)
    return v
def f(a):
    t = np.zeros(1)
    for v in (h(t, v) for v in (1.0, 2.0, 3.0)):
        if v > a:
            return v + t[0]
    return a + t[0]
def h(t, v):
    t[0] += 10.0
    return v
""",
        (1.5,),
    ),
    "next_map": (
        """
def f(x):
    k = 2.0
    z = map(lambda v, w: v * w * k, x, [1.0, 2.0])
    a = next(z)
    k = 3.0
    return a, next(z), k
""",
        (X,),
    ),
    "next_gen_resumed": (
        """
def f(a):
    z = (v * a for v in [1.0, 2.0, 3.0] if v != 2.0)
    p = next(z)
    return p, sum(z), next(z, 7.0)
""",
        (2.0,),
    ),
    "next_rows": (
        """
def f(x):
    m = np.outer(x, x)
    z = iter(m)
    p = next(z)
    m[1] = 0.0
    s = next(z).sum()
    for row in z:
        s += row[0]
    return p, s
""",
        (X,),
    ),
    "next_beyond_the_end": (
        """
def f(x):
    z = iter(x[:1])
    return next(z) + next(z)
""",
        (X,),
    ),
    "late_rev_shorter": (
        """
def f(a):
    w = [1.0, 2.0, 3.0]
    z = reversed(w)
    w.pop()
    return list(z), a
""",
        (1.0,),
    ),
    "late_rev_longer": (
        """
def f(a):
    w = [1.0, 2.0, 3.0]
    z = reversed(w)
    w.append(a)
    return list(z)
""",
        (1.0,),
    ),
    "for_zip_map_late": (
        """
def f(x, y):
    s = 0.0
    k = 1.0
    for a, b in zip(map(lambda v: v * k, x), y):
        s += a * b
        k = 2.0
    return s
""",
        (X, Y),
    ),
    "iter_break_rt_resume": (
        """
def f(x):
    it = iter([1.0, 2.0, 3.0, 4.0])
    s = 0.0
    for v in it:
        if v > x[0]:
            break
    for v in it:
        s += v
    return s + x[1]
""",
        (X,),
    ),
    "iter_in_branch": (
        """
def f(x):
    z = zip(x, x)
    s = 0.0
    if x[0] > 0:
        for a, b in z:
            s += a * b
    for a, b in z:
        s += 100.0
    return s
""",
        (X,),
    ),
    "break_resume_zip": (
        """
def f(x):
    s = 0.0
    z = zip(x, x)
    for v in z:
        break
    for v in z:
        s += 10.0
    return s
""",
        (X,),
    ),
    "break_resume_gen": (
        """
def f(x):
    s = 0.0
    z = (v * 2 for v in x)
    for v in z:
        break
    for v in z:
        s += 10.0
    return s
""",
        (X,),
    ),
    "break_resume_iter": (
        """
def f(x):
    s = 0.0
    z = iter(x)
    for v in z:
        break
    for v in z:
        s += 10.0
    return s
""",
        (X,),
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    source, args = EXAMPLES[name]
    found = judge_source(source, args)
    assert found.kind == "right", found.text


# Refused: what is left is known at run time only, or `zip` would compute its parts by turns.
REFUSED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "list_imul_growing": (
        """
def f(x):
    t = []
    for v in x:
        t.append(v)
    u = t
    t *= 2
    return sum(u), len(t)
""",
        (X,),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_its_line(name: str) -> None:
    source, args = REFUSED[name]
    assert judge_source(source, args).kind == "refused"


# Each iterator in each use: consumed twice, resumed, aliased, passed to a function, used as a
# sequence.
ITERATORS = (
    "zip(x, x)", "enumerate(x)", "reversed(x)", "map(lambda v: v * 2, x)", "iter(x)",
    "filter(lambda v: v > 0, x)", "(v * 2 for v in x)", "zip([1.0, 2.0], [3.0, 4.0])",
    "enumerate([1.0, 2.0])", "reversed([1.0, 2.0])", "map(lambda v: v * 2, [1.0, 2.0])",
    "filter(lambda v: v > 1, [1.0, 2.0])", "(v * 2 for v in [1.0, 2.0])", "iter([1.0, 2.0])",
    "iter({'a': 1.0}.items())", "range(3)", "reversed(range(3))", "np.ndindex(2, 2)",
)  # fmt: skip
LOOP = "for v in z:\n        s += "
USES = {
    "once": "s = 0.0\n    for v in z:\n        s += 1.0\n    return s",
    "twice": f"s = 0.0\n    {LOOP}1.0\n    {LOOP}10.0\n    return s",
    "lists": "a = list(z)\n    return len(a), len(list(z))",
    "resumed": f"s = 0.0\n    for v in z:\n        break\n    {LOOP}10.0\n    return s",
    "helper": "return g(z) + 10.0 * g(z)",
    "next": "return next(z), next(z)",
    "alias": "w = z\n    n = len(list(z))\n    return n, len(list(w))",
    "length": "return len(z)",
    "index": "return z[0]",
    "truth": "return 1.0 if z else 2.0",
    "list": "return list(z)",
    "member": "return 1.0 in z, 1.0 in z",
    "equal": "return z == [2.0, 4.0], z == {iterator}",
    "sum_of_lists": "return z + [1.0]",
    "unpacked": "a, *b = z\n    return len(b), len(list(z))",
    "by_turns": "return len(list(zip(z, z)))",
    "any": "n = any([True for v in z])\n    return n, len(list(z))",
    "sorted": "return len(sorted(z)), len(list(z))",
}
HELPER = "def g(z):\n    s = 0.0\n    for v in z:\n        s += 1.0\n    return s\n\n\n"


@pytest.mark.parametrize("use", USES)
def test_uses_of_all_iterators(use: str) -> None:
    for iterator in ITERATORS:
        body = USES[use].replace("{iterator}", iterator)
        found = judge_source(f"{HELPER}def f(x):\n    z = {iterator}\n    {body}\n", (X,))
        assert found.allowed, (iterator, found)
        if use in ("once", "twice"):
            assert found.kind == "right", (iterator, found)


def test_numpy_does_not_take_iterators() -> None:
    for iterator in ITERATORS:
        if "range(3)" != iterator:
            found = judge_source(f"def f(x):\n    return np.sum({iterator})\n", (X,))
            assert found.kind == "refused", (iterator, found)


def test_random_iterations() -> None:
    args = (np.array([0.8, -0.6, 1.9]), 1.1)
    bad, right = [], 0
    for seed in range(count(80, 6000)):
        source = Iteration(seed).source
        f = load(source)["f"]
        found = judge(f, args)
        right += found.kind == "right"
        if found.kind == "right" and seed % 5 == 0:
            found = judge_gradient(f, args)
        if not found.allowed:
            bad.append(f"{seed}: {found.kind}: {found.text}\n{source}")
    assert not bad, f"{len(bad)} programs\n" + "\n".join(bad[:3])
    assert right > count(80, 6000) / 3


def test_gradients_through_iterators() -> None:
    uses = ("sum([np.sum(v) for v in {z}])", "sum([np.sum(v) * k for k, v in enumerate({z})])")
    made = ("iter(x)", "reversed(x)", "map(lambda v: v * v, x)", "(v * v for v in x)",
            "filter(lambda v: v > 0, x)", "(v * w for v in x for w in x)")  # fmt: skip
    for use, iterator in itertools.product(uses, made):
        f = load(f"def f(x):\n    z = {iterator}\n    return {use.format(z='z')}\n")["f"]
        found = judge_gradient(f, (X,))
        assert found.kind == "right", (use, iterator, found.text)


@pytest.mark.parametrize(
    "made",
    ["(k for k in n)", "zip([x], n)", "enumerate(n)", "map(abs, n)", "iter(n)", "iter(x[0])"],
)
def test_iterators_over_scalars_raise_when_they_are_made(made: str) -> None:
    found = judge_source(f"def f(x, n):\n    z = {made}\n    return np.sum(x)\n", (X, 3))
    assert found.kind == "refused" and "not iterable" in found.text, found
