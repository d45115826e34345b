"""`s2s check`: right and wrong gradients, and functions that cannot be checked."""

from __future__ import annotations

import json
import sys

import numpy as np

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


STEP = """
import numpy as np
import s2s

w = s2s.Variable(np.array([0.5, -1.0, 2.0], np.float32), name="w")
rng = np.random.default_rng(0)
model = s2s.Sequential([s2s.layers.Dense(3, activation="relu"), s2s.layers.Dropout(0.5)])
optimizer = s2s.optimizers.Adam()


@s2s.function
def step(x):
    with s2s.GradientTape() as tape:
        kept = rng.random(3) < 0.7
        loss = np.sum(model(x, training=True) * w * kept) ** 2
    variables = [w, *model.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


@s2s.custom_gradient
def tripled(x):
    return 3.0 * x, lambda out_bar: 2.9 * out_bar


def wrong(x):
    with s2s.GradientTape() as tape:
        loss = np.sum(tripled(w * x))
    return tape.gradient(loss, w)


def nested(x):
    with s2s.GradientTape() as outer:
        with s2s.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(w * x**3)
        loss = np.sum(tape.gradient(y, x) ** 2)
    return outer.gradient(loss, w)


def watched(x):
    with s2s.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x)
"""


def test_a_training_step(run, write):
    """The model is created in the first call, draws random numbers, and is not modified by the
    check."""
    sys.modules.pop("program", None)  # of another test
    file = write(STEP)
    checked = run(
        "check", f"{file}:step", "--args", "float32[4,3]", "--backend", "python", "--json"
    )
    data = json.loads(checked.out)
    assert checked.code == 0 and data["checked"] == 6 and not data["skipped"], checked.out
    assert data["worst"]["error"] < 1e-5
    import program  # the module that the command imported

    assert program.w.dtype == np.float32 and list(program.w.numpy()) == [0.5, -1.0, 2.0]
    assert program.model.layers[0].dtype == "float32" and program.optimizer.steps == 0


def test_other_steps(run, write):
    file = write(STEP)
    words = ("--args", "float32[3]", "--backend", "python")
    wrong = run("check", f"{file}:wrong", *words)
    assert wrong.code == 1 and "2 wrong" in wrong.out and "w, along a direction" in wrong.out
    assert run("check", f"{file}:nested", *words).code == 0
    watched = run("check", f"{file}:watched", "--args", "float")
    assert watched.code == 2 and "requests no gradient of a Variable from a tape" in watched.err


def test_containers_with_integers_are_left_out(run, write):
    text = "from typing import NamedTuple\n\n\nclass Batch(NamedTuple):\n    x: float\n    n: int\n"
    text += "\n\ndef f(w: float, batch: Batch):\n    return w * batch.x * batch.n\n"
    data = json.loads(run("check", f"{write(text)}:f", "--backend", "python", "--json").out)
    assert data["ok"] and data["wrt"] == ["w"]


def test_a_function_that_fails(run, write):
    text = "def f(x):\n    if x < 100:\n        raise ValueError('too small')\n    return x\n"
    checked = run("check", f"{write(text)}:f", "--args", "1.0", "--backend", "python")
    assert checked.code == 3 and "too small" in checked.err
