"""Loops that run as long as a test holds."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from tests.attack.beside import judge_gradient, judge_source, load

PROGRAMS = {
    "test with effects": "    n = [x[0]]\n    while n.append(n[-1] * 0.5) or n[-1] > 0.1:\n"
    "        s += n[-1]\n",
    "test of the last value": "    v = x[0]\n    while (v := v * 0.5) > 0.1:\n        s += v * v\n",
    "known test": "    k = 0\n    while k < 3:\n        s += x[k] * k\n        k += 1\n",
    "never": "    while s > 1.0:\n        s *= x[0]\n",
    "else": "    while s < 2.0:\n        s += x[0]\n    else:\n        s *= x[1]\n",
    "first iteration": "    t = 0\n    k = 0\n    while k < 3 and s < 9.0:\n        t = t + x * k\n"
    "        k += 1\n    s = np.sum(t)\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_python(name: str) -> None:
    source = f"def f(x):\n    s = 0.0\n{PROGRAMS[name]}    return s + x[2]\n"
    x = np.array([0.9, 1.5, 2.5])
    found = judge_source(source, (x,))
    assert found.kind == "right", found.text
    found = judge_gradient(load(source)["f"], (x,))
    assert found.kind == "right", found.text


def test_a_loop_that_only_an_error_ends_is_refused() -> None:
    f = load("def f(x):\n    while True:\n        x = x + 1.0\n")["f"]
    with pytest.raises(s2s.UnsupportedError, match="nothing but an error ends this loop"):
        s2s.function(f, backend="loops")(1.0)
