"""Short axes that the program indexes by constants get constant sizes; others do not."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from tests.oracle import central_differences
from tests.switches import switched_off
from tests.transforms.lower.memory.test_layout import again

RNG = np.random.default_rng(1)


def lengths(p, w):
    total = 0.0
    for i in range(p.shape[0]):
        for j in range(i):
            d = p[i] - p[j]
            total += w[i] * np.sqrt(d[0] ** 2 + d[1] ** 2 + np.sum(p[:, 1] * p[:, 0]) ** 2)
    return total


def columns(p):
    return np.sum(np.sin(p[:, 0]) * p[:, 1]) + np.sum(p**2)


@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_other_sizes_are_other_specialisations(backend):
    g = s2s.grad(columns, backend=backend)
    for shape in ((5, 2), (4, 3), (5, 2), (0, 2), (1, 2), (7, 5), (2, 2)):
        p = RNG.normal(size=shape)
        np.testing.assert_allclose(g(p), central_differences(columns, (p,)), rtol=1e-6, atol=1e-6)
    with pytest.raises(IndexError):
        g(np.ones((3, 1)))


def test_a_known_size():
    g, p = s2s.grad(columns, backend="loops"), RNG.normal(size=(5, 2))
    g(p)
    assert "p.shape[1]" not in g.lowered and "p.shape[0]" in g.lowered
    with switched_off("specialise_small_axes"):
        plain = s2s.grad(again(columns), backend="loops")
        np.testing.assert_array_equal(plain(p), g(p))
        assert "p.shape[1]" in plain.lowered


def vector(x):
    return x[0] * x[1] + np.sum(x * x)


def first(p):
    return np.sum(p[:, 0] ** 2) + np.sum(p)


def inner(p):
    return np.sum(p[:, 1] ** 2) + np.sum(p)


def last(p):
    return np.sum(p[:, -1] ** 2) + np.sum(p)


def many(p):
    return np.sum(p[:, 7] ** 2) + np.sum(p)


@pytest.mark.parametrize(
    "f, shape",
    [(vector, (2,)), (first, (3, 1)), (inner, (3, 3)), (last, (3, 3)), (many, (3, 8))],
    ids=["no other axis", "one", "not all of them", "from the end", "many"],
)
def test_left_alone(f, shape):
    g, p = s2s.grad(f, backend="loops"), RNG.normal(size=shape)
    np.testing.assert_allclose(g(p), central_differences(f, (p,)), rtol=1e-6, atol=1e-6)
    assert f".shape[{len(shape) - 1}]" in g.lowered


@pytest.mark.parametrize("backend", ["loops", "numba"])
@pytest.mark.parametrize("n", [0, 1, 2, 6])
def test_small_arrays_in_loops(n, backend):
    g = s2s.grad(lengths, backend=backend)
    p, w = RNG.normal(size=(n, 2)), RNG.normal(size=n)
    want = central_differences(lengths, (p, w))
    np.testing.assert_allclose(g(p, w), want, rtol=1e-5, atol=1e-6)
