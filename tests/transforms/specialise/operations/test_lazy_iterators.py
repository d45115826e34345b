"""Elements computed between the iterations of a loop, and by `next`: the order of effects."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import s2s
from tests.attack.beside import judge, judge_gradient, load

X = np.array([1.0, -2.0, 3.0])
HELPER = """
def log(t, v, w):
    t[0] = t[0] * 0.5 + w
    return v


"""
SOURCES = ("x", "[x[2], x[0]]")
ITERATORS = (
    "(log(t, v, 1.0) * k for v in {})",
    "(log(t, v, v) for v in {} if v > -1.0)",
    "(log(t, v, w) * v for v in {} for w in (1.0, 2.0))",
    "map(lambda v: log(t, v, 1.0) * k, {})",
    "filter(lambda v: log(t, v, v) > -1.0, {})",
)
BODIES = {
    "effects": "t[0] = t[0] * 2.0 + v",
    "rebinds": "k = k + 1.0\n        t[0] = t[0] + v * k",
    "leaves": "t[0] = t[0] * 2.0 + v\n        if t[0] > 4.3:\n            break",
    "skips": "if v < 0.0:\n            continue\n        t[0] = t[0] * 2.0 + v",
}


@pytest.mark.parametrize("body", BODIES)
def test_effects_between_iterations(body: str) -> None:
    for iterator, source in itertools.product(ITERATORS, SOURCES):
        over = iterator.format(source)
        text = f"""{HELPER}def f(x):
    t, k = np.zeros(1), 2.0
    for v in {over}:
        {BODIES[body]}
    return t[0]
"""
        f = load(text)["f"]
        for found in (judge(f, (X,)), judge_gradient(f, (X,))):
            assert found.kind == "right", (over, found.text)


def test_next() -> None:
    for iterator, source in itertools.product(ITERATORS[:4:3], SOURCES):
        over = iterator.format(source)
        text = f"""{HELPER}def f(x):
    t, k = np.zeros(1), 2.0
    z = {over}
    v = next(z)
    k = 3.0
    t[0] = t[0] * 5.0
    return v + next(z) * 10.0 + t[0]
"""
        f = load(text)["f"]
        for found in (judge(f, (X,)), judge_gradient(f, (X,))):
            assert found.kind == "right", (over, found.text)


def test_next_beyond_the_end() -> None:
    for source in ("x", "iter(x)", "(x[0],)"):
        f = load(f"def f(x):\n    z = iter({source})\n    next(z)\n    return next(z) * 2.0\n")["f"]
        with pytest.raises(StopIteration):
            f(X[:1])
        found = judge(f, (X[:1],))
        assert found.kind == "right", (source, found.text)


@pytest.mark.parametrize("source", ["iter(a)", "(u * x for u in a)", "map(abs, a)"])
def test_the_default_of_next_is_not_lost(source: str) -> None:
    f = load(f"def f(a, x):\n    return next({source}, 7.0) * x\n")["f"]
    for backend in ("loops", "python"):
        with pytest.raises(s2s.UnsupportedError, match="with a default") as caught:
            s2s.value_and_grad(f, wrt="x", backend=backend)(np.zeros(0), 2.0)
        assert caught.value.source_line
        assert caught.value.advice
