"""Random programs of helpers, methods and closures, in the modes of `S2S_CALLS`.

The helpers return one or two arrays or a number and a size, return early, write into their first
argument, loop for a count, until a condition holds or over slices, branch inside loops, take flags
and defaults, define functions, call each other and themselves.  `f(a, b, n)` calls them with two
arrays, in loops, too; `n` is the depth of recursions.  Each mode must give the value of plain
Python and the gradients of the program that is inlined at once.
"""

from __future__ import annotations

import linecache
import os
import random
import sys
import types
from typing import Any
from unittest import mock

import numpy as np

import s2s

MODES = ("inline", "keep", "keep+inline")
UNARY = ("np.sin({0})", "np.tanh({0})", "np.exp(-{0}*{0})", "0.5*{0}", "({0} + 1.0)")
BINARY = ("{0}*{1}", "{0}+{1}", "{0}-0.5*{1}", "{0}*np.cos({1})", "np.where({0}>0.2, 1.0, 0.5)*{1}")
KINDS = "plain pair early writes loop until slices flag closure scalar recursive nested".split()
Lines = list[str]


class Generator:
    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.helpers: list[tuple[str, str]] = []

    def expression(self, names: list[str], depth: int = 0) -> str:
        r = self.r
        if depth > 1 or r.random() < 0.25:
            return r.choice(names)
        parts = [self.expression(names, depth + 1) for _ in range(2)]
        return f"({r.choice(UNARY if r.random() < 0.5 else BINARY).format(*parts)})"

    def program(self) -> str:
        r = self.r
        lines = [
            "import numpy as np",
            "W = np.array([0.3, -0.2, 0.5, 0.7])",
            "class Box:",
            "    def __init__(self, w):",
            "        self.w = w",
            "    def apply(self, x):",
            f"        y = {self.expression(['x', 'self.w'])}",
            f"        return {self.expression(['x', 'y', 'self.w'])}",
            "BOX = Box(W * 1.5)",
        ]
        for i in range(r.randint(2, 5)):
            kind = r.choice(KINDS if self.helpers else KINDS[:-1])
            more = {"flag": ", deep=False, k=1", "recursive": ", n"}.get(kind, "")
            lines += [f"def h{i}(x, y{more}):"]
            lines += [f"    {line}" for line in getattr(self, kind)()]
            plain = kind in ("nested", "until", "slices")
            self.helpers.append(("plain" if plain else kind, f"h{i}"))
        lines += ["def f(a, b, n):", "    v = a * 1.0", "    u = b * 1.0"]
        for i in range(r.randint(3, 6)):
            names, indent = ["v", "u"], "    "
            if r.random() < 0.25:
                lines.append(f"    for i{i} in range({r.choice(['2', '3'])}):")
                indent *= 2
            target = r.choice(names)
            body = self.call(names) if r.random() < 0.85 else [f"q = BOX.apply({r.choice(names)})"]
            lines += [indent + line for line in (*body, f"{target} = 0.5 * {target} + 0.3 * q")]
        return "\n".join([*lines, "    return np.sum(v * u) + np.sum(v)", ""])

    # ---- the bodies of helpers

    def plain(self) -> Lines:
        t = self.expression(["x", "y"])
        return [f"t = {t}", f"return {self.expression(['x', 'y', 't'])} + 0.0"]

    def pair(self) -> Lines:
        a, b = (self.expression(["x", "y"]) for _ in range(2))
        return [f"a = {a}", f"b = {b} + 0.0", "return a * 1.0, b"]

    def early(self) -> Lines:
        first = self.expression(["x", "y"])
        return [
            "if np.sum(x) > 0.4:",
            f"    return {first} + 0.0",
            f"t = {self.expression(['x', 'y'])}",
            "return t * y",
        ]

    def writes(self) -> Lines:
        where, how = self.r.choice(["0", "1:", "-1", "::2"]), self.r.choice(["=", "+=", "*="])
        what = self.r.choice(["0.3", "np.sum(y)", "0.5"])
        return [f"x[{where}] {how} {what}", f"return {self.expression(['x', 'y'])} + 0.0"]

    def loop(self) -> Lines:
        count = self.r.choice(["2", "3", "x.shape[0]"])
        step = self.expression(["s", "y"])
        return ["s = x * 1.0", f"for i in range({count}):", f"    s = {step} + 0.0", "return s"]

    def until(self) -> Lines:
        """A while loop whose test may call a helper, with a branch in its body."""
        test = "np.sum(s * s) > 0.3"
        if self.helpers and self.r.random() < 0.3:
            kind, helper = self.r.choice(self.helpers)
            test = f"np.sum({helper}(s, y)) > 0.3" if kind == "plain" else test
        return [
            "s = x * 1.0",
            "k = 0",
            f"while {test} and k < 4:",
            f"    t = {self.expression(['s', 'y'])}",
            "    if np.sum(t) > 0.1:",
            f"        s = 0.5 * s + 0.1 * {self.expression(['t', 's'])}",
            "    else:",
            f"        s = 0.7 * s + 0.0 * {self.expression(['t', 'y'])}",
            "    k += 1",
            "return s * y",
        ]

    def slices(self) -> Lines:
        """A loop over slices of different lengths."""
        return [
            "s = 0.0",
            "for i in range(x.shape[0]):",
            f"    t = {self.expression(['x[i:]', 'y[i:]'])} + 0.0",
            f"    s = s + 0.2 * np.sum({self.expression(['t', 'x[i:]'])})",
            "return s * y",
        ]

    def recursive(self) -> Lines:
        own = f"h{len(self.helpers)}"
        second = self.r.choice(["", f" + 0.3 * {own}(y, t, n - 2)"])
        return [
            "if n <= 0:",
            f"    return {self.expression(['x', 'y'])} + 0.0",
            f"t = {self.expression(['x', 'y'])} + 0.0",
            f"return 0.6 * {own}(np.sin(t), y, n - 1) * {self.expression(['x', 't'])}{second}",
        ]

    def flag(self) -> Lines:
        return ["if deep:", f"    x = {self.expression(['x', 'y'])}", "return x * y[k]"]

    def closure(self) -> Lines:
        return [
            f"s = {self.expression(['x', 'y'])}",
            "def inner(v):",
            "    w = v * s",
            f"    return {self.expression(['w', 'v', 'y'])} + 0.0",
            "return inner(x) + inner(y)",
        ]

    def scalar(self) -> Lines:
        t = self.expression(["x", "y"])
        return [f"t = np.sum({t})", "n = x.shape[0]", "return t / n, n"]

    def nested(self) -> Lines:
        return [*self.call(["x", "y"], "2"), f"return {self.expression(['x', 'y', 'q'])} + 0.0"]

    # ---- calls

    def call(self, names: list[str], depth: str = "n") -> Lines:
        """A call of a helper, whose result is `q`."""
        r = self.r
        kind, helper = r.choice(self.helpers)
        a, b = r.choice(names), r.choice(names)
        if kind == "pair":
            return [f"q, p = {helper}({a}, {b})", "q = q * p"]
        if kind == "scalar":
            return [f"p, m = {helper}({a}, {b})", f"q = {b} * p * m"]
        if kind == "recursive":
            return [f"q = {helper}({a}, {b}, {depth})"]
        if kind == "flag":
            options = r.choice(["", ", True", ", deep=False, k=2", ", False, 0"])
            return [f"q = {helper}({a}, {b}{options})"]
        if kind == "writes" and r.random() < 0.6:
            return [f"w = {a} * 1.0", f"q = {helper}(w, {b}) + w"]
        return [f"q = {helper}({a}, {b})"]


def made(seed: int) -> tuple[str, Any]:
    """The text of a program, and its function `f`."""
    text, name = Generator(seed).program(), f"_helpers_{seed}"
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, file, "exec"), vars(module))
    return text, module.f


def check(seed: int, backend: str = "loops") -> None:
    """Raises unless all modes agree."""
    args = np.array([0.31, 0.52, 0.73, 0.14]), np.array([0.2, -0.4, 0.6, 0.9]), 3
    expected: Any = None
    for mode in MODES:
        text, f = made(seed)
        with mock.patch.dict(os.environ, {"S2S_CALLS": mode, "S2S_BACKEND": backend}):
            value, gradients = s2s.value_and_grad(f, wrt=(0, 1))(*args)
        where = f"program {seed}, {mode}:\n{text}"
        np.testing.assert_allclose(value, f(*args), rtol=1e-9, atol=1e-11, err_msg=where)
        expected = gradients if expected is None else expected
        for got, want in zip(gradients, expected):
            np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-10, err_msg=where)
