"""The IR as text: indices and regions have Python syntax."""

from __future__ import annotations

import numpy as np

import s2s


def passes(f, *args) -> dict[str, str]:
    return dict(s2s.grad(f).passes(*args))


def test_indices() -> None:
    def f(x, k):
        return np.sum(x[1:, ::2, None] * x[k, 0]) + np.sum(x[k][-1])

    text = passes(f, np.ones((3, 4)), np.array([0, 2]))["specialise"]
    for part in ("= x[1:, ::2, None]", "= x[k, 0]", "= x[k, :]"):
        assert part in text


def test_updates_and_stores() -> None:
    def f(x, k):
        y = x.copy()
        y[k] = 2.0 * x[0]
        y.T[1:] += 1.0
        return np.sum(y * y)

    found = passes(f, np.ones((3, 3)), 1)
    assert "update(" in found["specialise"] and ".transpose(1, 0)[1:, :]" in found["specialise"]
    assert "y[k, :] = " in found["storage"] and "path=" not in "".join(found.values())
