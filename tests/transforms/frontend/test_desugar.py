"""Jumps and loop `else` clauses mean what they mean in Python, on every path."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.frontend.check_subset import check_subset
from s2s.transforms.frontend.desugar import show_desugared
from s2s.transforms.frontend.source import read
from tests.scale import count
from tests.transforms.frontend.sources import only


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


# ---- before and after

CHANGES = [
    ("if x: return 1\nreturn 2", "if x:\n    out = 1\nelse:\n    out = 2\nreturn out"),
    ("if x: return 1\ny", "if x:\n    out = 1\nelse:\n    y\nreturn out"),
    ("return", "return"),
    ("y", "y\nreturn"),
    ("raise A\ny", "raise A"),
    ("if x:\n    pass\nelse:\n    y", "if x:\n    pass\nelse:\n    y\nreturn"),
    (
        "while x:\n    if a: break\n    if b: continue\n    y\nelse:\n    z\nreturn x",
        "broke_L2 = False\nwhile x:\n    broke_L2 = False\n    if a:\n        broke_L2 = True\n"
        "    elif b:\n        pass\n    else:\n        y\n    if broke_L2:\n        break\n"
        "if not broke_L2:\n    z\nreturn x",
    ),
    (
        "for i in x:\n    if a: return 1\n    y\nz\nreturn 2",
        "returned = False\nbroke_L2 = False\nfor i in x:\n    broke_L2 = False\n    if a:\n"
        "        out = 1\n        returned = True\n        broke_L2 = True\n    else:\n        y\n"
        "    if broke_L2:\n        break\nif not returned:\n    z\n    out = 2\nreturn out",
    ),
    (
        "for i in x:\n    if a:\n        if b: continue\n        c\n    else:\n        d\n    e",
        "for i in x:\n    left_L3 = False\n    if a:\n        if b:\n            left_L3 = True\n"
        "        else:\n            c\n    else:\n        d\n    if not left_L3:\n"
        "        e\nreturn",
    ),
    ("for i in x: pass\nelse: y\nreturn x", "for i in x:\n    pass\ny\nreturn x"),
    (
        "while (y := x): z\nelse: w",
        "failed_L2 = False\nbroke_L2 = False\nwhile True:\n    broke_L2 = False\n"
        "    if not (y := x):\n        failed_L2 = True\n        broke_L2 = True\n    else:\n"
        "        z\n    if broke_L2:\n        break\nif failed_L2:\n    w\nreturn",
    ),
    (
        "with np.errstate(all='ignore'):\n    if x: return y\nz\nreturn w",
        "if x:\n    out = y\nelse:\n    z\n    out = w\nreturn out",
    ),
    ("out = x\nif out: return out\nreturn 1",
     "out = x\nif out:\n    out_ = out\nelse:\n    out_ = 1\nreturn out_"),
    ("for broke_L2 in x: break",
     "broke_L2_ = False\nfor broke_L2 in x:\n    broke_L2_ = False\n    broke_L2_ = True\n"
     "    if broke_L2_:\n        break\nreturn"),
]  # fmt: skip


@pytest.mark.parametrize("body, expected", CHANGES)
def test_before_and_after(body: str, expected: str) -> None:
    inner = "".join(f"    {line}\n" for line in body.split("\n"))
    define = only(f"def f(x):\n{inner}")
    lines = show_desugared(check_subset(define.func)).splitlines()
    assert "\n".join(line[4:] for line in lines[1:]) == expected


def _block(random: Random, depth: int, in_loop: bool) -> list[str]:
    """Random statements that note in `t` what they did."""
    lines: list[str] = []
    for _ in range(random.randint(1, 3)):
        kind = random.choice("aaaiiiiffww" if depth else "aaa")
        name = f"k{random.randrange(100)}"
        jumps = ["return (t, 1)", *(["break", "continue"] * 2 if in_loop else [])]
        if kind == "a":
            lines.append(f"t.append({random.randrange(100)})")
            if random.random() < 0.3:
                lines.append(random.choice(jumps))
        else:
            if kind == "i":
                head = f"if x() > {random.random():.1f}:"
            elif kind == "f":
                head = f"for {name} in range({random.randrange(3)}):"
            else:
                head = random.choice(["while x() > 0.4:", f"while ({name} := x()) > 0.3:"])
            inner = in_loop if kind == "i" else True
            lines += [head, *(f"    {line}" for line in _block(random, depth - 1, inner))]
            if random.random() < 0.5:
                orelse = _block(random, depth - 1, in_loop)
                lines += ["else:", *(f"    {line}" for line in orelse)]
    return lines


@pytest.mark.parametrize("seed", range(count(60, 2000)))
def test_random_jumps(seed: int) -> None:
    """Python runs the function and its text without jumps: the same statements, in order."""
    random = Random(seed)
    body = "".join(f"    {line}\n" for line in [*_block(random, 3, False), "return (t, 0)"])
    text = f"def f(x, t):\n{body}"
    define = only(text)
    func = check_subset(define.func)
    desugared = show_desugared(func)
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    exec(text, before)
    exec(desugared, after)
    for run in range(5):
        results = [f(Random(run).random, []) for f in (before["f"], after["f"])]
        assert results[0] == results[1], f"{text}\n{desugared}"
