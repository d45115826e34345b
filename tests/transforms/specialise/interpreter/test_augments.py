"""Augmented assignment changes arrays and lists, and binds numbers anew."""

from __future__ import annotations

import numpy as np
import pytest

from tests.attack.beside import judge_gradient, judge_source, load

X = np.array([0.5, 2.0, -1.5])
STATEMENTS = [
    "y = a\n    a += x\n    return np.sum(y * y)",
    "y = a\n    a[1:] *= x[1:]\n    return np.sum(y * y)",
    "t = [x, a]\n    t[1] *= x\n    return np.sum(a * t[0])",
    "d = {'s': x[0]}\n    d['s'] **= 2\n    return d['s'] * x[1]",
    "t = [x[0]]\n    u = t\n    t *= 2\n    t += [x[1]]\n    return sum(u)",
    "d = {'s': x[0]}\n    e = d\n    d |= {'k': x[1]}\n    return e['k'] * e['s']",
    "s = x[0]\n    r = s\n    s -= x[1]\n    return r * s",
]


@pytest.mark.parametrize("body", STATEMENTS)
def test_as_in_python(body: str) -> None:
    source = f"def f(x):\n    a = np.array([3.0, 2.0, 1.0])\n    {body}\n"
    found = judge_source(source, (X,))
    assert found.kind == "right", found.text
    found = judge_gradient(load(source)["f"], (X,))
    assert found.kind == "right", found.text


def test_a_smaller_dtype_does_not_take_the_result() -> None:
    source = "def f(n, x):\n    m = n.copy()\n    m += x\n    return np.sum(m)\n"
    found = judge_source(source, (np.array([1, 2, 3]), X))
    assert found.allowed and found.kind != "wrong"
