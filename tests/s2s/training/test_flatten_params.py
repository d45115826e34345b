"""Parameters as one vector and back, in plain Python and in compiled functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import s2s


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Layer:
    weights: Any
    bias: Any


NESTS: list[Any] = [
    {"w": np.arange(6.0).reshape(2, 3), "b": [np.ones(2), 0.5]},
    Pair(np.ones((2, 2)), 3.0),
    Layer(np.eye(2), (np.zeros(3), 1.5)),
    np.ones((2, 1, 2)),
    2.5,
    [np.zeros((0, 3)), np.ones(1)],
]


def leaves(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return [leaf for v in x.values() for leaf in leaves(v)]
    if isinstance(x, (tuple, list)):
        return [leaf for v in x for leaf in leaves(v)]
    return leaves(list(vars(x).values())) if isinstance(x, Layer) else [x]


@pytest.mark.parametrize("nest", NESTS, ids=lambda n: type(n).__name__)
def test_there_and_back(nest: Any) -> None:
    vector, unflatten = s2s.flatten(nest)
    again = unflatten(vector)
    assert type(again) is type(nest) or isinstance(nest, float)
    for x, y in zip(leaves(nest), leaves(again), strict=True):
        np.testing.assert_array_equal(x, y)
        assert np.shape(x) == np.shape(y)


def test_empty_nest() -> None:
    vector, unflatten = s2s.flatten(())
    assert vector.shape == (0,) and unflatten(vector) == ()


def test_wrong_length() -> None:
    _, unflatten = s2s.flatten(np.ones(3))
    with pytest.raises(ValueError, match="longer or shorter"):
        unflatten(np.ones(5))


def test_dtypes_come_back() -> None:
    vector, unflatten = s2s.flatten([np.ones(2, np.float32), np.ones(1)])
    assert vector.dtype == np.float64
    assert [x.dtype for x in unflatten(vector)] == [np.float32, np.float64]


layer = Layer(np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([0.1, 0.2]))
start, unflatten_layer = s2s.flatten(layer)


def energy(vector: Any) -> Any:
    p = unflatten_layer(vector)
    return np.sum(np.sin(p.weights) @ p.bias)


def test_gradient_by_the_vector() -> None:
    got = s2s.grad(energy, backend="loops")(start)
    w, b = layer.weights, layer.bias
    want = np.concatenate([(np.cos(w) * b).ravel(), np.sin(w).sum(0)])
    np.testing.assert_allclose(got, want)


def test_both_ways_inside_a_compiled_function() -> None:
    def f(p: dict[str, Any]) -> Any:
        vector, unflatten = s2s.flatten(p)
        q = unflatten(vector * 2.0)
        return np.sum(q["w"] * p["w"]) + q["b"]

    got = s2s.grad(f, backend="loops")({"w": np.array([1.0, 2.0]), "b": 0.5})
    np.testing.assert_allclose(got["w"], [4.0, 8.0])
    assert got["b"] == 2.0
