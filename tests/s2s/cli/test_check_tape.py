"""`s2s check` of training steps: right and wrong gradients, and what it leaves unchanged."""

from __future__ import annotations

import json
import sys

import numpy as np

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
    """Its model is made in the first call, draws random numbers, and stays as it was."""
    sys.modules.pop("program", None)  # of another test
    file = write(STEP)
    checked = run(
        "check", f"{file}:step", "--args", "float32[4,3]", "--backend", "python", "--json"
    )
    data = json.loads(checked.out)
    assert checked.code == 0 and data["checked"] == 6 and not data["skipped"], checked.out
    assert data["worst"]["error"] < 1e-5
    import program  # what the command has imported

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


MORE = """
import numpy as np
import s2s

w = s2s.Variable(np.array([0.5, -1.0], np.float32), name="w")
b = s2s.Variable(np.array([[2.0]], np.float32), name="b")
calls = []


@s2s.function
def step(x):
    calls.append(x.dtype)
    with s2s.GradientTape() as tape:
        y = np.sum(w * x) * b
        z = np.tanh(w)
    seeds = [np.full((1, 1), 3.0, x.dtype), np.ones(2, x.dtype)]
    gradients = tape.gradient([y, z], [w, b, x], output_gradients=seeds)
    w.assign_sub(gradients[0])
    x[:] = 0.0
    return gradients


def unused(x):
    with s2s.GradientTape() as tape:
        loss = np.sum(w * x)
    return tape.gradient(loss, [w, b])


def kink(x):
    with s2s.GradientTape() as tape:
        loss = np.sum(np.abs(w)) + np.sum(np.maximum(w * 0.0, 0.0))
    return tape.gradient(loss, w)


def fails(x):
    with s2s.GradientTape() as tape:
        loss = np.sum(w) * (1.0 / len([]))
    return tape.gradient(loss, w)
"""


def test_seeds_and_several_targets(run, write):
    sys.modules.pop("program", None)
    checked = run(
        "check", f"{write(MORE)}:step", "--args", "float32[2]", "--backend", "python", "--json"
    )
    data = json.loads(checked.out)
    assert checked.code == 0 and data["checked"] == 4 and data["ok"], checked.out
    assert data["skipped"] == ["source 2, which is no Variable"]
    import program  # what the command has imported

    assert program.w.numpy().tolist() == [0.5, -1.0] and program.w.dtype == np.float32
    assert program.b.numpy().tolist() == [[2.0]] and np.dtype("float64") in program.calls


def test_variables_that_do_not_matter(run, write):
    checked = run("check", f"{write(MORE)}:unused", "--args", "float64[2]", "--backend", "python")
    assert checked.code == 0 and ": right" in checked.out


def test_functions_with_kinks_nearby(run, write):
    checked = run("check", f"{write(MORE)}:kink", "--args", "float64[2]", "--backend", "python")
    assert checked.code == 0, checked.out + checked.err


def test_a_step_that_fails(run, write):
    checked = run("check", f"{write(MORE)}:fails", "--args", "float64[2]", "--backend", "python")
    assert checked.code == 3 and not checked.out and "ZeroDivisionError" in checked.err
