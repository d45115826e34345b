"""The arguments of a function: given, annotated, defaults, or those of an earlier call."""

from __future__ import annotations

import json

import numpy as np
import pytest

import s2s
from s2s.cli.default_arguments import parameters_of, sizes
from s2s.cli.exit_codes import CommandError
from s2s.errors import SourceError


def test_arguments_from_a_function(run, model):
    shown = run("show", f"{model}:loss", "--example", "make_args")
    assert "def loss_vjp(" in shown.out
    assert shown.out == run("show", f"{model}:loss", "--example", f"{model}:make_args").out
    assert (
        "def plain_vjp(x, k=2.0, out_bar"
        in run("show", f"{model}:plain", "--example", "make_named").out
    )


def test_arguments_from_annotations(run, write):
    text = 'import numpy as np\n\n\ndef f(x: "float64[n]", k: float, power: int = 2):\n'
    shown = run("show", write(text + "    return np.sum(k * x**power)\n") + ":f")
    assert shown.code == 0 and "def f_vjp(x, k" in shown.out


def test_arguments_of_an_earlier_call(run, write):
    text = "import numpy as np, s2s\n\n\n@s2s.grad(backend='python')\ndef f(x, y):\n"
    text += "    return np.sum(x @ y)\n\n\nf(np.ones((3, 2)), np.ones(2))\n"
    file = write(text)
    shown = run("show", f"{file}:f")
    assert "x_bar = " in shown.out
    assert shown.err == "s2s: arguments like those of the call in the file: " + (
        "x: float64[3, 2], y: float64[2]\n"
    )
    data = json.loads(run("show", f"{file}:f", "--json").out)
    assert data["arguments"] == {"x": "float64[3, 2]", "y": "float64[2]"}


def test_arguments_that_are_missing(run, model):
    shown = run("show", f"{model}:loss")
    assert shown.code == 2 and not shown.out
    assert "what are the arguments W, b, x, y?" in shown.err
    assert '--args "W=float64[:], b=float64[:]' in shown.err and "--example make_args" in shown.err
    rest = run("show", f"{model}:loss", "--args", "float64[3,2]")
    assert "what are the arguments b, x, y?" in rest.err
    many = run("show", f"{model}:plain", "--args", "1.0, 2.0, 3.0")
    assert many.code == 2 and "takes 2 arguments, and 3 are given" in many.err
    unknown = run("show", f"{model}:plain", "--args", "1.0, z=2.0")
    assert unknown.code == 2 and "has no parameter z" in unknown.err


PROGRAM = """
from typing import Optional

import numpy as np
import s2s


def f(x: "float64[n,3]", y: "float64[n]", k=2.0, *, power: int = 2):
    return np.sum(x * y[:, None]) * k**power


def needs(x: float, *, scale):
    return x * scale


def pair():
    return np.ones((2, 3)), np.ones(2)


def one():
    return 3.0


def names():
    return {"x": np.ones((2, 3)), "y": np.ones(2), "power": 3}


def broken():
    raise RuntimeError("no arguments today")


def many(*xs):
    return xs[0] * 2.0


def one_argument(x):
    return x * 2.0
"""


@pytest.fixture
def arguments(run, write):
    file = write(PROGRAM)

    def given(name, *words):
        shown = run("show", f"{file}:{name}", *words, "--json")
        assert shown.code == 0, shown.err
        return json.loads(shown.out)["arguments"]

    return given


def test_annotations_are_completed_by_defaults(arguments):
    assert arguments("f", "--size", "n=5") == {
        "x": "float64[5, 3]", "y": "float64[5]", "k": "2.0", "power": "2",
    }  # fmt: skip
    assert arguments("f", "--args", "k=3.0", "--size", "n=2")["k"] == "3.0"
    assert arguments("f", "--args", "float32[4,3], float32[4]")["x"] == "float32[4, 3]"


def test_functions_that_make_arguments(arguments):
    assert arguments("f", "--example", "pair")["x"] == "float64[2, 3]"
    assert arguments("f", "--example", "names")["power"] == "3"
    assert arguments("one_argument", "--example", "one") == {"x": "3.0"}


def test_any_number_of_arguments(arguments):
    assert arguments("many", "--args", "1.0, 2.0, 3.0") == {"xs": "tuple(1.0, 2.0, 3.0)"}


def test_a_keyword_argument_that_is_missing(run, write):
    shown = run("show", f"{write(PROGRAM)}:needs")
    assert shown.code == 2 and "what is the argument scale?" in shown.err and not shown.out


def test_a_function_that_makes_no_arguments(run, write):
    shown = run("show", f"{write(PROGRAM)}:f", "--example", "broken")
    assert shown.code == 3 and "no arguments today" in shown.err and not shown.out
    shown = run("show", f"{write(PROGRAM)}:f", "--example", "absent")
    assert shown.code == 2 and "absent" in shown.err


def test_sizes():
    assert sizes(["n=5", "rows=0"]) == {"n": 5, "rows": 0} and sizes([]) == {}
    for text in ("n", "n=", "=5", "n=-1", "n=x", "2n=3", "n=1.5"):
        with pytest.raises(CommandError, match="not a size") as info:
            sizes([text])
        assert info.value.code == 2 and "--size n=32" in info.value.advice


class Model:
    def step(self, x, rate=0.1):
        return x * rate


def test_parameters_that_are_not_bound_yet():
    def f(x, y, k=2.0):
        return x * y * k

    assert list(parameters_of(f)) == list(parameters_of(s2s.grad(f))) == ["x", "y", "k"]
    assert list(parameters_of(Model().step)) == ["x", "rate"]
    assert parameters_of(f)["k"].default == 2.0
    with pytest.raises(SourceError, match="sin is not written in Python"):
        parameters_of(np.sin)
