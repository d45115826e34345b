"""Names of temporaries and of their adjoints."""

from __future__ import annotations

import re

import numpy as np

import s2s

X, Y = np.linspace(0.5, 2.0, 6), np.linspace(-1.0, 1.0, 6)


def text_of(f: object, *args: object) -> str:
    return str(s2s.grad(f, backend="loops").source_for(*args))  # type: ignore[call-overload]


def gated(x, y):
    return np.sum(np.tanh(x) * np.exp(y * x) * np.tanh(x))


def test_functions_give_their_names() -> None:
    text = text_of(gated, X, Y)
    assert "tanh_x = np.tanh(x)" in text and "exp = np.exp(y * x)" in text
    assert not re.search(r"\bt_\d", text), text


def layer(W, x, y):
    h = np.tanh(W @ x)
    guess = W @ h
    return np.sum(np.exp(guess - y))


def test_the_adjoint_of_a_difference_is_that_of_the_variable() -> None:
    text = text_of(layer, np.eye(6), X, Y)
    assert "guess_bar = " in text and " t_bar" not in text


def loop(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.exp(np.sin(x[i])) * np.sin(x[i])
    return s


def test_saved_values_have_the_names_of_the_values() -> None:
    text = text_of(loop, X)
    assert re.search(r"sin_L\d+\[i\] = sin\b", text), text
