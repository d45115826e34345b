"""Programs of generated size: compiled and right, or refused with a line."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from tests.attack.beside import load

X = np.arange(5.0) + 0.5
_CHAIN = "".join(f"    y = np.sin(y) + {i}.0 * x\n" for i in range(400))
_ELIFS = "".join(f"    elif x[0] > {300 - i}:\n        y = x[1] * {i}.0\n" for i in range(300))
COMPILED = {
    "chain": f"def f(x):\n    y = x\n{_CHAIN}    return np.sum(y)\n",
    "transposed chain": "def f(x):\n    y = np.outer(x, x)\n"
    + "    y = np.cos(y).T + x\n" * 250
    + "    return np.sum(y)\n",
    "scalars": "def f(x):\n    y = x[0]\n" + "    y = y * 0.5 + 1.0\n" * 500 + "    return y\n",
    "list": "def f(x):\n    return np.sum(np.array([" + "1.0, " * 1500 + "]) * x[0])\n",
}
LARGE = {
    "terms": "def f(x):\n    return " + " + ".join(f"x[{i % 5}] * {i}.5" for i in range(1000)),
    "arrays": "def f(x):\n    return np.sum(" + " + ".join(f"x * {i}.5" for i in range(1000)) + ")",
    "elif": f"def f(x):\n    if x[0] > 1000:\n        y = x[0]\n{_ELIFS}    return y\n",
    "and": "def f(x):\n    return 1.0 if " + " and ".join(["x[0] > 0.0"] * 600) + " else x[0]\n",
}


@pytest.mark.parametrize("name", COMPILED)
def test_long_programs_are_compiled(name):
    f = load(COMPILED[name])["f"]
    np.testing.assert_allclose(s2s.function(f, backend="loops")(X), f(X), rtol=1e-9)


@pytest.mark.parametrize("name", LARGE)
def test_deep_programs_are_right_or_refused_with_a_line(name):
    f = load(LARGE[name])["f"]
    try:
        found = s2s.function(f, backend="loops")(X)
    except s2s.UnsupportedError as error:
        assert error.line and error.advice
        return
    np.testing.assert_allclose(found, f(X), rtol=1e-9)
