"""`s2s bench`: which quantities are measured, not their values."""

from __future__ import annotations

import json

from tests.s2s.cli.files import LOSS


def test_a_gradient(run, model):
    words = ("bench", f"{model}:loss", "--args", LOSS, "--seconds", "0.01")
    data = json.loads(run(*words, "--json").out)
    assert data["backend"] == "python"  # as the decorator requests
    assert data["ratio"] > 0 and data["gradient"]["best"] <= data["gradient"]["median"]
    assert list(data["compiling"])[:3] == ["specialise", "reverse", "simplify"]
    told = run(*words, "--no-python").out
    assert "× the function" in told and "plain Python" not in told and "compiling" in told


def test_a_function_and_a_direction(run, write):
    text = "import numpy as np, s2s\n\n\n@s2s.function\ndef f(x: 'float64[3]'):\n    return x * x\n"
    text += "\n\n@s2s.jvp\ndef g(x):\n    return np.sum(x * x)\n"
    file = write(text)
    words = ("--seconds", "0.01", "--backend", "loops", "--json")
    data = json.loads(run("bench", f"{file}:f", *words).out)
    assert data["primal"] is None and data["python"]["calls"] > 0 and data["backend"] == "loops"
    data = json.loads(run("bench", f"{file}:g", "--args", "float64[3], float64[3]", *words).out)
    assert data["python"] is None


def test_a_function_that_fails(run, write):
    text = "def f(x):\n    if x < 100:\n        raise ValueError('too small')\n    return x\n"
    done = run("bench", f"{write(text)}:f", "--args", "1.0", "--backend", "python")
    assert done.code == 3 and "too small" in done.err


def test_a_function_that_writes_is_always_given_the_same(run, write):
    text = "def f(x: 'float64[3]'):\n    if x[0] > 10.0:\n        raise ValueError('again')\n"
    text += "    x *= 20.0\n    return x[0] ** 2\n"
    words = ("--args", "0 < float64[3] < 1", "--backend", "python", "--seconds", "0.01")
    done = run("bench", f"{write(text)}:f", *words)
    assert done.code == 0, done.err
