"""Elements computed between the iterations of a loop, and by `next`: the order of effects."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

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
def test_next_with_a_default(source: str) -> None:
    f = load(f"def f(a, x):\n    z = {source}\n    return next(z, 7.0) * x + next(z, x)\n")["f"]
    for a in (np.zeros(0), np.array([3.0]), np.array([3.0, 4.0])):
        for found in (judge(f, (a, 2.0)), judge_gradient(f, (a, 2.0))):
            assert found.kind == "right", (source, found.text)


# Iterators of which the run takes a part, and what is left of them.
PARTS = {
    "zip(it, it)": "for a, b in zip(it, it):\n        s += a * b",
    "zip of an iterator and a sequence": (
        "for a, b in zip(it, x[:2]):\n        s += a * b\n    for a in it:\n        s += 10.0 * a"
    ),
    "zip of a sequence and an iterator": (
        "for a, b in zip(x[:2], it):\n        s += a * b\n    for a in it:\n        s += 10.0 * a"
    ),
    "next in the loop": "for a in it:\n        s += a * next(it, 5.0)",
    "nested": (
        "for a in it:\n        for b in it:\n            s += a * b\n            if b < 0:\n"
        "                break"
    ),
    "sum of the rest": "for a in it:\n        if a < 0:\n            break\n    s = sum(it)",
    "enumerate": (
        "e = enumerate(map(lambda v: v * v, it), 2)\n    for k, a in e:\n        if a > 2:\n"
        "            break\n    for k, a in e:\n        s += k * a"
    ),
    "filter": (
        "e = filter(lambda v: v > 0, it)\n    for a in e:\n        break\n    for a in e:\n"
        "        s += 3.0 * a * a"
    ),
    "any": "s = 1.0 if any(a < 0 for a in it) else 2.0\n    for a in it:\n        s += a",
    "while": (
        "a = next(it, -9.0)\n    while a > -9.0:\n        s += a * a\n        a = next(it, -9.0)"
    ),
    "in a branch": (
        "if x[0] > 0:\n        for a in it:\n            s += a\n"
        "    for a in it:\n        s += a * a"
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_what_is_left(name: str) -> None:
    lists = "t = []\n    for v in x:\n        t.append(v * 2.0)\n    "
    for made in ("it = iter(x)", f"{lists}it = iter(t)", "it = (v * x[1] for v in x)"):
        if made.startswith("it = (") and name in ("any", "in a branch"):
            continue
        f = load(f"def f(x):\n    {made}\n    s = 0.0\n    {PARTS[name]}\n    return s\n")["f"]
        found = (judge_gradient if made == "it = iter(x)" else judge)(f, (X,))
        assert found.kind == "right", (made, found.text)
