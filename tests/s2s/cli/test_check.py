"""`s2s check`: right and wrong gradients, and functions that cannot be checked."""

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


def test_containers_with_integers_are_left_out(run, write):
    text = "from typing import NamedTuple\n\n\nclass Batch(NamedTuple):\n    x: float\n    n: int\n"
    text += "\n\ndef f(w: float, batch: Batch):\n    return w * batch.x * batch.n\n"
    data = json.loads(run("check", f"{write(text)}:f", "--backend", "python", "--json").out)
    assert data["ok"] and data["wrt"] == ["w"]


def test_a_function_that_fails(run, write):
    text = "def f(x):\n    if x < 100:\n        raise ValueError('too small')\n    return x\n"
    checked = run("check", f"{write(text)}:f", "--args", "1.0", "--backend", "python")
    assert checked.code == 3 and "too small" in checked.err
