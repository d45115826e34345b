"""Statements whose cheap parts a sweep computes again print as they were written."""

from __future__ import annotations

import numpy as np

import s2s

X, Y = np.linspace(0.5, 2.0, 6), np.linspace(-1.0, 1.0, 6)


def error(x, y):
    e = np.mean(np.abs(x - y) ** 1.5)  # between l1 and l2
    return e * e


def test_a_difference() -> None:
    f = s2s.grad(error, backend="python")
    text = str(f.source_for(X, Y))
    assert "    e = np.mean(np.abs(x - y) ** 1.5)  # between l1 and l2\n" in text
    np.testing.assert_allclose(f(X, Y), s2s.grad(error, backend="loops")(X, Y), rtol=1e-12)


def rebound(x, y):
    e = np.sum((x - y) ** 3)
    x = x * 2.0
    return e * np.sum(x)


def test_not_if_a_variable_has_another_value_by_then() -> None:
    f = s2s.grad(rebound, backend="python")
    text = str(f.source_for(X, Y))
    forward, _, sweep = text.partition("---- adjoint sweep")
    assert "difference = x - y" in forward and "difference ** 2" in sweep
    np.testing.assert_allclose(f(X, Y), s2s.grad(rebound, backend="loops")(X, Y), rtol=1e-12)


def expensive(x, y):
    return np.sum(np.exp(x - y) ** 3)


def test_not_if_it_costs_more_than_a_pass() -> None:
    text = str(s2s.grad(expensive, backend="loops").source_for(X, Y))
    assert "exp = np.exp(x - y)" in text and text.count("= np.exp(") == 1
