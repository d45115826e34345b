"""The readable source as a whole: it runs on the user's objects and has the user's names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

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


def two_places(o: Any, p: Any, x: float) -> Any:
    o.last = o.w = o.w * x
    p.w = o.w
    p.a = o.a = np.exp(o.a * x)
    return o.last * p.w


def kept_in_another(o: Any, p: Any, x: float) -> Any:
    p.w = o.a
    o.a = x * 2.0
    return x * 3.0


def returned_and_replaced(o: Any, p: Any, x: float) -> Any:
    before = o.a
    o.a = o.a * x
    return before, o.a


def detached(o: Any, p: Any, x: float) -> Any:
    part = o.part
    o.part = None
    part.w = part.w * x
    return part.w


def replaced_by_another(o: Any, p: Any, x: float) -> Any:
    part = o.part
    o.part = p.part
    part.w = x * 2.0
    o.part.w = x * 3.0
    return part.w * o.part.w


def exchanged(o: Any, p: Any, x: float) -> Any:
    o.part, p.part = p.part, o.part
    o.part.w = x
    o.part.a, p.part.a = p.part.a, o.part.a
    return o.part.w * p.part.w


def of_two() -> tuple[Any, Any]:
    o, p = (
        SimpleNamespace(
            a=np.array([k, 2.0]), w=k + 1.0, part=SimpleNamespace(w=k + 2.0, a=np.array([k, 7.0]))
        )
        for k in (1.0, 3.0)
    )
    return o, p


CHANGES = (
    two_places,
    kept_in_another,
    returned_and_replaced,
    detached,
    replaced_by_another,
    exchanged,
)


def shown(x: Any) -> Any:
    """What objects hold, numbers rounded."""
    if isinstance(x, SimpleNamespace):
        return {name: shown(v) for name, v in vars(x).items()}
    if isinstance(x, (tuple, list)):
        return [shown(v) for v in x]
    return None if x is None else np.round(x, 9).tolist()


def outcome(f: Any) -> Any:
    """The result, and the objects afterwards: by name, and those that they had as parts."""
    o, p = of_two()
    parts = [o.part, p.part]
    return shown([f(o, p, 1.5), o, p, parts])


@pytest.mark.parametrize("f", CHANGES, ids=lambda f: f.__name__)
def test_places_in_objects_hold_what_python_sets_there(f: Any) -> None:
    expected = outcome(f)
    for backend in ("loops", "python"):
        compiled = s2s.function(f, backend=backend)
        assert outcome(compiled) == expected
        entry = executed(compiled.source, f.__name__)
        names = entry.__code__.co_varnames[: entry.__code__.co_argcount]
        if {*names} <= {"o", "p", "x"}:  # and no objects that the text has no name for
            assert outcome(lambda *args: entry(*_named(names, args))) == expected


def _named(names: tuple[str, ...], args: tuple[Any, ...]) -> list[Any]:
    given = dict(zip("opx", args))
    return [given[name] for name in names]
