"""Jumps and loop `else` clauses mean what they mean in Python, on every path."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.transforms.frontend.desugar.jumps import show_desugared
from s2s.transforms.frontend.source import read


def while_else(x):
    s, i = 0.0, 0
    while x[i] > 0.0:
        s += x[i]
        i += 1
    else:
        s *= 2.0
    return s


def while_else_break(x):
    s, i = 0.0, 0
    while x[i] > 0.0:
        s += x[i]
        i += 1
        if s > 3.0:
            break
    else:
        s *= 2.0
    return s


def walrus_while_else(x):
    s, i = 0.0, 0
    while (v := x[i]) > 0.0:
        s += v
        i += 1
    else:
        s *= 2.0
    return s + v


def walrus_while_else_break(x):
    s, i = 0.0, 0
    while (v := x[i]) > 0.0:
        s += v
        i += 1
        if s > 3.0:
            break
    else:
        s *= 2.0
    return s + v


def walrus_while_else_return(x):
    s, i = 0.0, 0
    while (v := x[i]) > 0.0:
        s += v
        i += 1
        if s > 3.0:
            return -s
    else:
        s *= 2.0
    return s + v


def else_leaves_the_outer_loop(x):
    s = 0.0
    for k in range(3):
        i = 0
        while (v := x[i]) > 0.0:
            s += v * k
            i += 1
        else:
            break
        s += 100.0
    return s


def for_else(x):
    s = 0.0
    for v in x:
        if v < -2.0:
            break
        if v > 2.5:
            continue
        s += v
    else:
        s *= 2.0
    return s


def both_branches_may_jump(x):
    s = 0.0
    for v in x:
        if v > 0.0:
            if v > 2.5:
                continue
            s += 1.0
        else:
            if v < -2.0:
                break
            s -= 1.0
        s += v
    return s


def early_returns(x):
    s = 0.0
    for v in x:
        for w in x:
            if v * w > 5.0:
                return s + v
            if w < 0.0:
                break
            s += v * w
        else:
            return -s
        s *= 1.5
    return s


FUNCTIONS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__]
INPUTS = {"stops": [1.0, 2.0, -1.0], "breaks": [2.0, 3.0, -1.0, -3.0], "never": [-1.0]}


@pytest.mark.parametrize("backend", ["loops", "python"])
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(f, name: str, backend: str) -> None:
    x = np.array(INPUTS[name])
    assert s2s.function(f, backend=backend)(x) == f(x)
    s2s.check_grads(s2s.grad(f, backend=backend), x)


def test_a_procedure_may_return_early() -> None:
    """A bare `return` in one branch, and the end of the function in another."""
    import s2s

    def fill(a, plain):
        if plain:
            a[0] = 1.0
            return
        a[0] = 2.0

    def f(x, plain):
        a = np.zeros(1)
        fill(a, plain)
        return a[0] * x

    assert s2s.grad(f, static_argnames="plain", backend="loops")(3.0, True) == 1.0
    assert s2s.grad(f, static_argnames="plain", backend="loops")(3.0, False) == 2.0
    assert s2s.grad(f, backend="loops")(3.0, False) == 2.0


@pytest.mark.parametrize("f", [while_else, while_else_break, walrus_while_else_break])
def test_the_text_runs_as_the_function_does(f) -> None:
    namespace = {}
    exec(show_desugared(read(f).node), {}, namespace)
    for x in (np.array([1.0, 2.0, -1.0]), np.array([2.0, 2.0, -1.0]), np.array([-1.0])):
        assert namespace[f.__name__](x) == f(x)


def test_the_text_has_no_jumps_but_at_the_end_of_a_loop() -> None:
    text = show_desugared(read(while_else_break).node)
    assert text.count("break\n") == 1 and "else:\n        s *= 2.0" not in text
    assert show_desugared(read(lambda x: x * 2.0).node) == "lambda x: x * 2.0\n"
