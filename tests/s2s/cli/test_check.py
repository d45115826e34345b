"""`s2s check`: right and wrong gradients, and what cannot be checked."""

from __future__ import annotations

import json

from tests.s2s.cli.files import LOSS


def test_a_right_gradient(run, model):
    checked = run("check", f"{model}:loss", "--args", LOSS, "--backend", "python")
    assert checked.code == 0 and checked.out.startswith("gradient of loss: 8 entries")
    assert ": right" in checked.out


def test_a_wrong_gradient(run, model):
    checked = run("check", f"{model}:wrong", "--args", "float64[3]", "--backend", "python")
    assert checked.code == 1 and "3 wrong" in checked.out and "worst  x[" in checked.out


def test_every_argument_is_checked(run, model):
    data = json.loads(
        run(
            "check", f"{model}:plain", "--args", "float64[3], 2.0", "--backend", "python", "--json"
        ).out
    )
    assert data["ok"] and data["wrt"] == ["x", "k"] and data["checked"] == 4
    assert [m["where"] for m in data["modes"]] == ["tangent, forward mode"]


def test_the_second_order(run, model):
    words = ("--args", "float64[3]", "--order", "2", "--backend", "python", "--json", "--wrt", "x")
    data = json.loads(run("check", f"{model}:plain", *words).out)
    assert data["wrt"] == ["x"] and len(data["modes"]) == 3


def test_a_step_with_a_tape_is_not_a_function(run, write):
    text = "import s2s\n\n\ndef step(x):\n    with s2s.GradientTape() as tape:\n"
    text += "        tape.watch(x)\n        y = x * x\n    return tape.gradient(y, x)\n"
    checked = run("check", f"{write(text)}:step", "--args", "float")
    assert checked.code == 2 and "has a tape in it" in checked.err


def test_a_function_that_fails(run, write):
    text = "def f(x):\n    if x < 100:\n        raise ValueError('too small')\n    return x\n"
    checked = run("check", f"{write(text)}:f", "--args", "1.0", "--backend", "python")
    assert checked.code == 3 and "too small" in checked.err
