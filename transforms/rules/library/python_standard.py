"""Python: `sorted`, `max` with a key, functools, itertools, operator, math, statistics."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .declare_program import view_of, written


@written("builtins.sorted", kinks="equal values keep their order")
def sorted_(iterable: Any, *, key: Any = None, reverse: bool = False) -> Any:
    values = np.array(list(iterable))
    keys = values if key is None else np.array([key(v) for v in iterable])
    order = np.argsort(keys)
    if reverse:  # stable: equal keys keep their order
        order = (len(values) - 1 - np.argsort(keys[::-1]))[::-1]
    if isinstance(iterable, (list, tuple)):
        return [_one_of(values[order[i]], iterable) for i in tuple(range(len(iterable)))]
    return list(values[order])


def _one_of(value: Any, values: Any) -> Any:
    """`value`, one of `values` selected at run time; an array may alias any of them."""
    if np.ndim(value) > 0:
        for v in values:
            value = view_of(v, value, True)
    return value


def largest(values: Any, key: Any = None, default: Any = None) -> Any:
    """`max(values, key=…, default=…)`"""
    if default is not None and len(values) == 0:
        return default
    if key is None:
        return max(values)
    if len(values) == 0:
        raise ValueError("max() arg is an empty sequence")
    best = values[0]
    for v in values[1:]:
        if key(v) > key(best):
            best = v
    return best


def smallest(values: Any, key: Any = None, default: Any = None) -> Any:
    """`min(values, key=…, default=…)`"""
    if default is not None and len(values) == 0:
        return default
    if key is None:
        return min(values)
    if len(values) == 0:
        raise ValueError("min() arg is an empty sequence")
    best = values[0]
    for v in values[1:]:
        if key(v) < key(best):
            best = v
    return best


# ---------------------------------------------------------------- functools, itertools


@written("functools.reduce")
def reduce_(function: Any, iterable: Any, *initial: Any) -> Any:
    if len(initial) == 1:
        total, rest = initial[0], iterable
    else:
        if len(iterable) == 0:
            raise TypeError("reduce() of empty iterable with no initial value")
        total, rest = iterable[0], iterable[1:]
    for item in rest:
        total = function(total, item)
    return total


@written("itertools.accumulate")
def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    out: Any = []
    rest = iterable
    if initial is not None:
        out.append(initial)
    else:
        out.append(iterable[0])
        rest = iterable[1:]
    for item in rest:
        out.append(out[-1] + item if func is None else func(out[-1], item))
    return out


@written("itertools.chain")
def chain(*iterables: Any) -> Any:
    return [item for iterable in iterables for item in iterable]


# ---------------------------------------------------------------- math


@written("math.dist", kinks="0 where both are equal")
def dist(p: Any, q: Any) -> Any:
    total = 0.0
    for x, y in zip(p, q):
        total += (x - y) ** 2
    return math.sqrt(total) if total > 0.0 else 0.0


@written("math.isclose")
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


_LARGEST = 9223372036854775807


@written("math.factorial")
def factorial(x: int) -> Any:
    if x < 0:
        raise ValueError("factorial() not defined for negative values")
    if x > 20:
        raise OverflowError("the factorial does not fit in 64 bits")
    out = 1
    for k in range(2, x + 1):
        out *= k
    return out


@written("math.perm")
def perm(n: int, k: Any = None) -> Any:
    out = 1
    for i in range(n if k is None else k):
        if n > i and out > _LARGEST // (n - i):
            raise OverflowError("the number of permutations does not fit in 64 bits")
        out *= n - i
    return out


@written("math.comb")
def comb(n: int, k: int) -> Any:
    out = 1
    for i in range(k):
        if n > i and out > _LARGEST // (n - i):
            raise OverflowError("the number of combinations does not fit in 64 bits")
        out = out * (n - i) // (i + 1)
    return out


@written("math.isqrt")
def isqrt(n: int) -> Any:
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    while root * root > n:
        root -= 1
    while (root + 1) * (root + 1) <= n:
        root += 1
    return root


# ---------------------------------------------------------------- statistics


@written("statistics.mean", "statistics.fmean")
def mean(data: Any) -> Any:
    return float(np.mean(np.array(data)))


@written("statistics.variance")
def variance(data: Any) -> Any:
    return float(np.var(np.array(data), ddof=1))


@written("statistics.pvariance")
def pvariance(data: Any) -> Any:
    return float(np.var(np.array(data)))


@written("statistics.stdev")
def stdev(data: Any) -> Any:
    return float(np.std(np.array(data), ddof=1))


@written("statistics.pstdev")
def pstdev(data: Any) -> Any:
    return float(np.std(np.array(data)))


@written("statistics.median")
def median(data: Any) -> Any:
    return float(np.median(np.array(data)))


# ---------------------------------------------------------------- operator


@written("operator.add")
def operator_add(a: Any, b: Any) -> Any:
    return a + b


@written("operator.sub")
def operator_sub(a: Any, b: Any) -> Any:
    return a - b


@written("operator.mul")
def operator_mul(a: Any, b: Any) -> Any:
    return a * b


@written("operator.truediv")
def operator_truediv(a: Any, b: Any) -> Any:
    return a / b


@written("operator.floordiv")
def operator_floordiv(a: Any, b: Any) -> Any:
    return a // b


@written("operator.mod")
def operator_mod(a: Any, b: Any) -> Any:
    return a % b


@written("operator.pow")
def operator_pow(a: Any, b: Any) -> Any:
    return a**b


@written("operator.matmul")
def operator_matmul(a: Any, b: Any) -> Any:
    return a @ b


@written("operator.lt")
def operator_lt(a: Any, b: Any) -> Any:
    return a < b


@written("operator.le")
def operator_le(a: Any, b: Any) -> Any:
    return a <= b


@written("operator.gt")
def operator_gt(a: Any, b: Any) -> Any:
    return a > b


@written("operator.ge")
def operator_ge(a: Any, b: Any) -> Any:
    return a >= b


@written("operator.eq")
def operator_eq(a: Any, b: Any) -> Any:
    return a == b


@written("operator.ne")
def operator_ne(a: Any, b: Any) -> Any:
    return a != b


@written("operator.neg")
def operator_neg(a: Any) -> Any:
    return -a


@written("operator.pos")
def operator_pos(a: Any) -> Any:
    return +a


@written("operator.abs")
def operator_abs(a: Any) -> Any:
    return abs(a)


@written("operator.getitem")
def operator_getitem(a: Any, b: Any) -> Any:
    return a[b]
