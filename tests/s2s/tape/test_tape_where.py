"""Environments of tapes: scripts, notebooks, methods, decorators; and the lifetime of objects."""

from __future__ import annotations

import gc
import linecache
import weakref
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Dense, Dropout
from s2s.models import Sequential


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


def cell(text: str, name: str, space: dict[str, Any], source: bool = True) -> dict[str, Any]:
    """Execute text as a notebook does: with a unique file name and its lines in linecache."""
    if source:
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)
    exec(compile(text, name, "exec"), space)
    return space


SETUP = "import numpy as np, s2s\nw = s2s.Variable(np.array([1.0, 2.0]))\n"
BLOCK = "with s2s.GradientTape() as tape:\n    y = np.sum(w ** {})\ng = tape.gradient(y, w)\n"


def test_notebooks() -> None:
    space = cell(SETUP, "<ipython-input-1-a>", {})
    cell(BLOCK.format(2), "<ipython-input-2-b>", space)
    np.testing.assert_allclose(space["g"], [2.0, 4.0])
    cell(BLOCK.format(3), "<ipython-input-3-c>", space)  # the cell, edited and run again
    np.testing.assert_allclose(space["g"], [3.0, 12.0])
    cell("g = tape.gradient(y, w) * 2\n", "<ipython-input-4-d>", space)
    np.testing.assert_allclose(space["g"], [6.0, 24.0])


def test_without_source() -> None:
    with pytest.raises(s2s.SourceError, match="save it to a file, use IPython"):
        cell(SETUP + BLOCK.format(2), "<stdin>", {}, source=False)


def test_source_that_has_changed() -> None:
    space = cell(SETUP, "<ipython-input-5-e>", {})
    for name, other in (("f", BLOCK.format(3)), ("g", BLOCK.format(2).replace("w **", "v **"))):
        file = f"<ipython-input-6-{name}>"
        text = BLOCK.format(2)
        code = compile(text, file, "exec")
        linecache.cache[file] = (len(other), None, other.splitlines(keepends=True), file)
        with pytest.raises(s2s.SourceError, match="has changed since it was loaded"):
            exec(code, space)
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(code, space)
        np.testing.assert_allclose(space["g"], [2.0, 4.0])


def test_one_line_and_several() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))
    with s2s.GradientTape() as tape: y = np.sum(w * w)  # noqa: E701  # fmt: skip
    np.testing.assert_allclose(tape.gradient(y, w), [2.0, 4.0])
    with (
        s2s.GradientTape(
            persistent=True,
        ) as first,
        s2s.GradientTape() as second,
    ):
        y = np.sum(w**3)
    np.testing.assert_allclose(first.gradient(y, w), [3.0, 12.0])
    np.testing.assert_allclose(second.gradient(y, w), [3.0, 12.0])


def test_a_function_that_hands_on_its_tape() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def forward(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.sum(w * w * x)
        return tape, loss

    def backward(tape: Any, loss: Any) -> Any:
        return tape.gradient(loss, w)

    one, two = forward(np.array([1.0, 1.0])), forward(np.array([2.0, 3.0]))
    np.testing.assert_allclose(backward(*one), [2.0, 4.0])
    np.testing.assert_allclose(backward(*two), [4.0, 12.0])

    def step(x: Any) -> Any:
        tape, loss = forward(x)
        return backward(tape, loss)

    np.testing.assert_allclose(s2s.function(step)(np.array([2.0, 3.0])), [4.0, 12.0])


def test_a_generator_function() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def steps() -> Any:
        for k in range(3):
            with s2s.GradientTape() as tape:
                y = np.sum(w * w) * float(k)
            yield tape.gradient(y, w)

    np.testing.assert_allclose(list(steps()), [[0.0, 0.0], [2.0, 4.0], [4.0, 8.0]])


def test_grad_of_a_step_is_the_step(capsys: Any) -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))

    def step(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            print("step")
            loss = np.sum(w * w * x)
        w.assign_sub(0.25 * tape.gradient(loss, w))
        return loss

    for compiled in (s2s.grad(step), s2s.grad(backend="loops")(step), s2s.function(step)):
        w.assign([1.0, 2.0])
        assert compiled(np.ones(2)) == 5.0
        assert compiled(np.ones(2)) == 1.25
        np.testing.assert_allclose(w.numpy(), [0.25, 0.5])
        assert capsys.readouterr().out == "step\nstep\n"
    with pytest.raises(TypeError, match="wrt= has no meaning here"):
        s2s.grad(step, wrt="x")


def test_nothing_is_kept_alive() -> None:
    w, big = s2s.Variable(np.ones(3)), np.ones(1000)
    with s2s.GradientTape(persistent=True) as tape:
        y = np.sum(w) * np.sum(big)
    tape.gradient(y, w)
    watched = weakref.ref(tape)
    del tape
    gc.collect()
    assert watched() is None
    w.assign(np.zeros(3))  # notifies no tape


@pytest.mark.parametrize("compiled", [False, True])
def test_attributions(compiled: bool) -> None:
    """Gradients with respect to the input: saliency, an adversarial input, integrated gradients."""
    model = Sequential([Dense(5, activation="tanh"), Dropout(0.5), Dense(1)])
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 3)).astype(np.float32)
    model(x)

    def saliency(inputs: Any) -> Any:
        with s2s.GradientTape() as tape:
            tape.watch(inputs)
            score = model(inputs, training=False)
        return tape.gradient(score, inputs), score

    slope = s2s.function(saliency) if compiled else saliency
    g, score = slope(x)
    (a, p), (b, q) = (layer.get_weights() for layer in (model.layers[0], model.layers[2]))
    h = np.tanh(x @ a + p)
    np.testing.assert_allclose(score, h @ b + q, rtol=1e-5)
    np.testing.assert_allclose(g, ((1 - h**2) * b.T) @ a.T, rtol=1e-4, atol=1e-6)
    higher = slope(x + 0.01 * np.sign(np.asarray(g)))[1]
    assert np.all(np.asarray(higher) > np.asarray(score))
    steps = (np.arange(64, dtype=np.float32) + 0.5) / 64
    total = np.mean([np.asarray(slope(s * x)[0]) for s in steps], axis=0) * x
    rise = np.asarray(score) - np.asarray(slope(0 * x)[1])
    np.testing.assert_allclose(total.sum(axis=1), rise[:, 0], rtol=1e-2, atol=1e-3)


def test_why_there_is_no_gradient() -> None:
    w, fixed = s2s.Variable(np.ones(2)), s2s.Variable(np.ones(2), trainable=False)
    x = np.ones(2)

    def f(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            steps = np.floor(w)
            y = np.sum(steps * fixed * x)
        late = y * 2.0
        return tape.gradient(y, [w, fixed, x]), tape.gradient(late, w)

    compiled = s2s.function(f)
    compiled(x)
    reasons = {(i.name, i.reason) for i in compiled.explain().inactive}
    first = f.__code__.co_firstlineno
    assert reasons == {
        ("w", f"reaches the result only through np.floor, whose derivative is 0 (L{first + 2})"),
        ("fixed", "is not watched: it is a Variable with trainable=False"),
        ("x", "is not watched by the tape"),
        ("w", f"is not connected: the target is computed outside of the block (L{first + 4})"),
    }

    with s2s.GradientTape() as tape:
        steps = np.floor(w)
        y = np.sum(steps * fixed)
    late = y * 2.0
    other = x * 1.0
    assert tape.gradient(y, [w, fixed, other]) == [None, None, None]
    told = tape.explain().splitlines()
    assert "source 3 has no gradient: it is no value that the block read or computed" in told
    assert any(t.startswith("w has no gradient: it reaches the result only through") for t in told)
    assert "fixed has no gradient: it is not watched: it is a Variable with trainable=False" in told
    assert tape.gradient(late, w) is None
    assert "the target is no value that the block computed" in tape.explain()
    with pytest.raises(ValueError, match="has computed no gradient yet"):
        s2s.GradientTape().explain()


def test_numbers_that_cannot_be_told_apart() -> None:
    a, b = 3.0, 3.0  # one object, in Python
    with s2s.GradientTape() as tape:
        tape.watch(a)
        y = a * a * b
    with pytest.raises(s2s.UnsupportedError, match="a and b are one object"):
        tape.gradient(y, a)
