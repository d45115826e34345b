"""Values that are computed for another statement go by the names that the user gives them."""

from __future__ import annotations

import numpy as np

import s2s

X = np.array([0.5, -1.0, 2.0])


def halved(v):
    return np.tanh(v) * 0.5


def helper_twice(x):
    first = halved(x)
    second = halved(first)
    return np.sum(first * second)


def test_the_result_of_a_helper() -> None:
    text = str(s2s.function(helper_twice, backend="loops").source_for(X))
    assert "first = np.tanh(x) * 0.5" in text
    assert "second = np.tanh(first) * 0.5" in text
    assert "np.sum(first * second)" in text


def names_change_hands(x):
    pair = (x, halved(x))
    x = pair[1]
    y = x * 2.0
    pair = y
    return np.sum(pair * x)


def test_a_name_that_had_another_value() -> None:
    expected = np.sum(np.tanh(X) ** 2 * 0.5)
    for backend in ("loops", "python"):
        np.testing.assert_allclose(s2s.function(names_change_hands, backend=backend)(X), expected)


def with_loops(x, n):
    def grown(v):
        w = np.zeros_like(v)
        for i in range(n):
            w[i] = v[i] * v[i]
        return w

    k1 = grown(x)
    k2 = grown(x + k1)
    return np.sum(k1 * k2)


def test_what_a_helper_writes_into_keeps_its_name() -> None:
    f, g = (s2s.grad(with_loops, backend=backend) for backend in ("loops", "python"))
    np.testing.assert_allclose(f(X, 3), g(X, 3), rtol=1e-12)


def scalar_step(w, x):
    with s2s.GradientTape() as tape:
        tape.watch(w)
        e = (w * x - 1.0) ** 2
    dw = tape.gradient(e, w)
    return w - 0.1 * dw


def test_a_number() -> None:
    f = s2s.function(scalar_step, backend="python")
    np.testing.assert_allclose(f(2.0, 3.0), 2.0 - 0.1 * 2.0 * 5.0 * 3.0)
    assert "return w - 0.1 * dw" in str(f.source_for(2.0, 3.0))
