"""Values computed by methods, properties and operators of objects are differentiated."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import s2s


class Model:
    factor = 2.0

    def __init__(self) -> None:
        self.w = s2s.Variable(np.array([1.0, 2.0]))
        self.factor = 5.0

    def score(self, x: Any) -> Any:
        return np.sum(self.w * x) * self.factor

    def other(self, x: Any) -> Any:
        return np.sum(self.w * self.w * x)


class Holder:
    """Its attributes include bound methods of another object."""

    factor = 7.0

    def __init__(self, model: Model) -> None:
        self.w = s2s.Variable(np.array([-1.0, -1.0]))
        self.score = model.score
        self.listed, self.named = [model.score], {"score": model.score}
        self.partial = functools.partial(model.score)

    def by_all(self, x: Any) -> Any:
        return self.score(x) + self.listed[0](x) * 2.0 + self.named["score"](x) + self.partial(x)


class Wrapper:
    factor = 11.0

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name == "doubled":
            return self.inner.w * 2.0
        return getattr(self.inner, name)


class Tripled:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __get__(self, owner: Any, cls: Any) -> Any:
        return owner.w * self.scale


class Described:
    tripled = Tripled(3.0)

    def __init__(self, model: Model) -> None:
        self.w = model.w


MODEL = Model()
HOLDER, WRAPPER, DESCRIBED, BOUND = Holder(MODEL), Wrapper(MODEL), Described(MODEL), MODEL.score
X = np.array([1.0, 3.0])


def held_in_a_closure(function: Any) -> Any:
    return lambda x: function(x) * 2.0


IN_CLOSURE = held_in_a_closure(MODEL.score)


@pytest.mark.parametrize(
    "function, gradient",
    [
        (lambda x: HOLDER.score(x), 5.0 * X),
        (lambda x: HOLDER.by_all(x), 25.0 * X),
        (lambda x: BOUND(x), 5.0 * X),
        (lambda x: IN_CLOSURE(x), 10.0 * X),
        (lambda x: WRAPPER.score(x) * WRAPPER.factor, 55.0 * X),
        (lambda x: np.sum(WRAPPER.doubled * x), 2.0 * X),
        (lambda x: np.sum(DESCRIBED.tripled * x), 3.0 * X),
    ],
)
def test_gradients_through_objects(function: Any, gradient: Any) -> None:
    @s2s.function(backend="loops")
    def step(x: Any) -> Any:
        with s2s.GradientTape() as tape:
            y = function(x)
        return y, tape.gradient(y, MODEL.w)

    for _ in range(2):
        value, found = step(X)
        np.testing.assert_allclose(value, function(X))
        np.testing.assert_allclose(found, gradient)


def test_a_method_that_is_held_may_be_another_one_later() -> None:
    holder = Holder(MODEL)
    compiled = s2s.function(lambda x: holder.score(x), backend="loops")
    assert compiled(X) == MODEL.score(X)
    holder.score = MODEL.other
    assert compiled(X) == MODEL.other(X)
    holder.score = Model().score
    assert compiled(X) == holder.score(X)
