"""The readable source as a whole: it runs on the user's objects and has the user's names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import s2s


def executed(text: str, name: str) -> Any:
    space: dict[str, Any] = {}
    exec(str(text), space)
    return space[name]


def step(W, b, xs, y, lr):
    for _ in range(2):
        # the block
        with s2s.GradientTape() as tape:
            tape.watch([W, b])
            h = np.zeros(W.shape[0])
            for t in range(xs.shape[0]):  # time
                h = np.tanh(W @ h + xs[t] * b)
            e = np.sum((h - y) ** 2)
        # its gradients
        dW, db = tape.gradient(e, [W, b])
        W -= lr * dW
        b -= lr * db  # down
    return W.sum()


REQUEST = step.__code__.co_firstlineno + 10


def arguments() -> tuple[Any, ...]:
    r = np.random.default_rng(0)
    return r.normal(size=(3, 3)), r.normal(size=3), r.normal(size=(5, 3)), r.normal(size=3), 0.1


def test_the_names_of_gradients_and_the_lines_that_read_them() -> None:
    compiled = s2s.function(step, backend="loops")
    mine, theirs = arguments(), arguments()
    expected = compiled(*theirs)
    text = str(compiled.source)
    lines = ["# the block", "# its gradients", f"# L{REQUEST}: dW, db = tape.gradient(e, [W, b])"]
    lines += ["W -= lr * dW", "b -= lr * db  # down", "dW = np.zeros_like(W)"]
    for line in lines:
        assert f"        {line}\n" in text, line
    assert "adjoint sweep" not in text and "with " not in text and "watch" not in text
    np.testing.assert_allclose(executed(text, "step")(*mine), expected, rtol=1e-12)
    for a, b in zip(mine, theirs):
        np.testing.assert_allclose(a, b, rtol=1e-12)


SCALE = SimpleNamespace(factor=2.0, offset=np.array([1.0, 2.0, 3.0]))


def scaled(params, x):
    total = 0.0
    for W, b in params:
        total += np.sum(W * x * SCALE.factor + b["bias"] * SCALE.offset)
    return total


def test_parts_are_read_by_the_paths_that_lead_to_them() -> None:
    x = np.array([0.5, -1.0, 2.0])
    params = [(x + k, {"bias": x * k}) for k in (1.0, 2.0)]
    gradient = s2s.value_and_grad(scaled, backend="loops")
    value, bars = gradient(params, x)
    text = gradient.source_for(params, x)
    assert "def scaled_vjp(params, x, SCALE, out_bar=1.0):" in text
    assert 'params[1][1]["bias"] * SCALE' in text
    found, mine = executed(text, "scaled_vjp")(params, x, SCALE)
    np.testing.assert_allclose(found, value)
    assert type(mine) is list and type(mine[0]) is tuple and type(mine[0][1]) is dict
    for (a, b), (c, d) in zip(mine, bars):
        np.testing.assert_allclose(a, c)
        np.testing.assert_allclose(b["bias"], d["bias"])


def test_the_same_text_each_time() -> None:
    first, again = (s2s.value_and_grad(scaled, backend="loops") for _ in range(2))
    x = np.ones(3)
    params = [(x, {"bias": x})]
    assert str(first.source_for(params, x)) == str(again.source_for(params, x))


def sets_an_attribute(o: Any, d: Any, x: float) -> float:
    y = x * x
    o.label = None
    d["b"] = "s"
    return y * 3.0


def test_what_the_program_sets_stands_before_the_return() -> None:
    for backend in ("loops", "python"):
        compiled = s2s.function(sets_an_attribute, backend=backend)
        for again in (False, True):
            o, d = SimpleNamespace(label="a"), {"a": 1.0}
            f = executed(compiled.source, "sets_an_attribute") if again else compiled
            assert f(o, d, 2.0) == 12.0
            assert o.label is None
            assert d == {"a": 1.0, "b": "s"}
