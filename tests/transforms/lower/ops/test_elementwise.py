"""Elementwise operations: dtypes, scalars, fusion into readers, and Python's int()."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.transforms.lower.harness import check, lowered, run

DTYPES = ["bool", "int8", "int64", "uint8", "float32", "float64"]


@pytest.mark.parametrize(("a", "c"), list(itertools.combinations_with_replacement(DTYPES, 2)))
def test_dtypes_are_numpys(a, c):
    x, y = np.array([0, 1, 3]).astype(a), np.array([1, 1, 2]).astype(c)
    for name in ("add", "multiply", "maximum", "less"):
        check(lambda b, x, y: b.emit(name, x, y), getattr(np, name), x, y)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 0), (2, 3)])
def test_shapes(shape):
    x = np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape)
    check(lambda b, x: np.log(x) * 2.0 - x, lambda x: np.log(x) * 2.0 - x, x)


def test_memory_layouts():
    x = np.linspace(0.5, 2.0, 24).reshape(4, 6)
    for view in (x.T, x[:, ::2], x[::-1], np.asfortranarray(x)):
        check(lambda b, x: np.sqrt(x) + x, lambda x: np.sqrt(x) + x, view)


def test_one_loop_nest_for_a_chain():
    text = lowered(lambda b, x: np.exp(x * 2.0) + 1.0, np.ones((2, 3))).text
    assert text.count("np.empty") == 1 and text.count("for ") == 2
    assert "out[i, j] = np.exp(a[i, j] * 2.0) + 1.0" in text


def test_a_value_with_two_readers_is_computed_once():
    def f(b, x):
        y = np.exp(x)
        return y * 2.0, y + 1.0

    check(f, lambda x: (np.exp(x) * 2.0, np.exp(x) + 1.0), np.arange(3.0))
    assert lowered(f, np.arange(3.0)).text.count("np.exp") == 1


def test_cheap_values_are_recomputed():
    """Computing an element of an affine array costs less than loading it."""

    def f(b, n):
        y = b.emit("arange", 0, n, 1, dtype="int64") * 2
        return y + 1, y * y

    check(f, lambda n: (np.arange(n) * 2 + 1, (np.arange(n) * 2) ** 2), 4)
    assert lowered(f, 4).text.count("np.empty") == 2


def test_scalars_make_no_loop():
    text = lowered(lambda b, x, y: x * y + 1.0, 2.0, 3.0).text
    assert "for " not in text and "np.empty" not in text
    assert run(lambda b, x, y: x * y + 1.0, 2.0, 3.0) == 7.0


def python_int(b, x):
    return b.emit("cast", x, dtype="int64", weak=True)


@pytest.mark.parametrize("x", [0.0, -0.0, 2.9, -2.9, 2.0**62, -(2.0**63)])
def test_pythons_int(x):
    assert run(python_int, x) == int(x)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.nan, ValueError, "cannot convert float NaN to integer"),
        (np.inf, OverflowError, "infinity"),
        (-np.inf, OverflowError, "infinity"),
        (2.0**63, OverflowError, "beyond 64 bits"),
        (-(2.0**63) - 2048.0, OverflowError, "beyond 64 bits"),
    ],
)
def test_floats_that_int_refuses(x, error, message):
    with pytest.raises(error, match=message):
        run(python_int, x)


def test_an_integer_is_not_checked():
    assert "raise" not in lowered(python_int, 3).text
    assert "raise" not in lowered(lambda b, x: b.emit("cast", x, dtype="int64"), 2.5).text


def test_a_clipped_size_bounds_its_indices():
    """max(n, 0) elements are indexed by range(n) without checks."""
    import s2s

    def f(n):
        x = np.zeros(max(n, 0))
        for i in range(n):
            x[i] = i * 2.0
        return x

    g = s2s.function(f, backend="loops")
    for n in (0, 1, 5, -2):
        np.testing.assert_array_equal(g(n), 2.0 * np.arange(max(n, 0)))
    assert "IndexError" not in g.lowered
