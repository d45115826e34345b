"""Emitted texts written by hand: what the emitted code of programs with functions is to look like.

`tests/golden/by_hand` has pairs of a program and its text.  The texts run under plain NumPy, and
give the same numbers as the compiled programs.  Where a text is changed, its comments must still
quote the lines they point to.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import s2s

FOLDER = Path(__file__).parent / "golden" / "by_hand"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py") if not p.stem.endswith("_emitted"))


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"by_hand_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same(actual: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


@pytest.fixture(autouse=True, params=["inline", "keep"])
def calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_CALLS", request.param)
    monkeypatch.setenv("S2S_BACKEND", "loops")


def test_comments_quote_the_program() -> None:
    for name in NAMES:
        program = (FOLDER / f"{name}.py").read_text().splitlines()
        quoted = re.findall(r"# L(\d+): (.*)", (FOLDER / f"{name}_emitted.py").read_text())
        assert quoted, name
        assert [program[int(line) - 1].strip() for line, _ in quoted] == [q for _, q in quoted]


def test_mlp() -> None:
    r = np.random.default_rng(0)
    sizes = ((4, 5), (5, 5), (5, 3))
    params = [(r.normal(size=(m, n)), r.normal(size=n)) for m, n in sizes]
    args = params, r.normal(size=(7, 4)), r.normal(size=(7, 3)), 0.01
    value, gradients = s2s.value_and_grad(load("mlp").loss, wrt="params")(*args)
    out, by_hand = load("mlp_emitted").loss_vjp(*args)
    same(out, value)
    for want, got in zip(gradients, by_hand):
        for a, b in zip(want, got):
            same(b, a)


def test_training_step() -> None:
    r = np.random.default_rng(0)
    W, b = r.normal(size=(5, 3)), np.zeros(3)
    x, y = r.normal(size=(20, 5)), r.normal(size=(20, 3))
    own_W, own_b = W.copy(), b.copy()
    step, by_hand = load("training_step").step, load("training_step_emitted").step
    for _ in range(3):
        same(by_hand(own_W, own_b, x, y, 0.1), step(W, b, x, y, 0.1))
    same(own_W, W)
    same(own_b, b)


def test_keras_step() -> None:
    program, text = load("keras_step"), load("keras_step_emitted")
    r = np.random.default_rng(0)
    images, labels = r.normal(size=(8, 7)).astype("f4"), r.normal(size=(8, 2)).astype("f4")
    net = program.Net()
    program.net(images), net(images)
    net.set_weights(program.net.get_weights())
    opt = type(program.opt)(0.01)
    opt.build(net.trainable_variables)
    for _ in range(4):
        same(text.train(images, labels, net, opt), program.train(images, labels), rtol=2e-5)
    for got, want in zip(net.get_weights(), program.net.get_weights()):
        same(got, want, rtol=1e-3, atol=1e-5)
    assert opt.steps == 4


def test_lstm_cell() -> None:
    program, text = load("lstm_cell"), load("lstm_cell_emitted")
    r = np.random.default_rng(0)
    cell = program.Cell(r.normal(size=(3, 20)), r.normal(size=(5, 20)), r.normal(size=20))
    args = cell, r.normal(size=(5, 2)), r.normal(size=(6, 4, 3)), r.normal(size=(4, 2))
    value, (cell_bar, W_bar) = s2s.value_and_grad(program.loss, wrt=("cell", "W"))(*args)
    out, (by_hand, own_W_bar) = text.loss_vjp(*args)
    same(out, value)
    same(own_W_bar, W_bar)
    for name in ("kernel", "recurrent", "bias"):
        same(getattr(by_hand, name), getattr(cell_bar, name), rtol=1e-8)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 9])
def test_recursion(n: int) -> None:
    value, gradient = s2s.value_and_grad(load("recursion").tree)(0.7, n)
    same(load("recursion_emitted").tree_vjp(0.7, n), (value, gradient), rtol=1e-10)
