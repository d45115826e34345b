"""Objects and containers that calls pass whole."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import s2s


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_CALLS", "keep+inline")
    monkeypatch.setenv("S2S_BACKEND", "loops")


@dataclasses.dataclass
class Cell:
    kernel: np.ndarray
    bias: np.ndarray

    def step(self, x):
        return np.tanh(x @ self.kernel + self.bias)


def run(cell, x):
    h = x
    for _ in range(3):
        h = cell.step(h)
    return np.sum(h)


def two(first, second, x):
    return np.sum(second.step(first.step(x)))


def mixed(first, x):
    return np.sum(Cell(first.kernel * 2.0, first.bias).step(first.step(x)))


def cell(seed: int = 0) -> Cell:
    r = np.random.default_rng(seed)
    return Cell(r.normal(size=(3, 3)), r.normal(size=3))


X = np.ones((2, 3))


def test_an_object() -> None:
    text = str(s2s.grad(run).source_for(cell(), X))
    assert "def step(self, x):\n    return np.tanh(x @ self.kernel + self.bias)\n" in text
    assert "h = step(cell, h)" in text


def test_two_objects_of_a_class() -> None:
    text = str(s2s.grad(two, wrt=("first", "second")).source_for(cell(), cell(1), X))
    assert text.count("def step(") == 1
    assert "step(first, x)" in text


def test_an_object_of_the_program_is_passed_by_its_parts() -> None:
    text = str(s2s.grad(mixed).source_for(cell(), X))
    assert "step(first, " not in text and "def step(self_0, self_1, x)" in text


@pytest.mark.parametrize("program", [run, two, mixed])
def test_values(program, monkeypatch: pytest.MonkeyPatch) -> None:
    args = (cell(), cell(1), X) if program is two else (cell(), X)
    expected = s2s.grad(program)(*args)
    space: dict = {}
    exec(str(s2s.grad(program).source_for(*args)), space)
    _, found = space[f"{program.__name__}_vjp"](*args)
    monkeypatch.setenv("S2S_CALLS", "inline")
    inlined = s2s.grad(program)(*args)
    for name in ("kernel", "bias"):
        want = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name), want, rtol=1e-10)
        np.testing.assert_allclose(getattr(inlined, name), want, rtol=1e-10)
