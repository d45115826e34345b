"""Expressions as LLVM IR: values as in NumPy, and nothing evaluated that should not be."""

from __future__ import annotations

import ast
import itertools
import math

import numpy as np
import pytest

from s2s.codegen import value_types as types
from s2s.codegen.expressions import _extremum_intrinsic, cannot_raise, is_speculatable
from s2s.codegen.value_types import Array, Callee
from tests.s2s.codegen.machine_code import MATRIX, VECTOR, kernel, kernel_source

SPECIAL = (0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan)


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize("text", ["x", "1.0", "x * y + 2.0", "np.float64(n)", "x < y", "not x > y",
                                  "a.shape[0] + n", "-x", "n & 3", "x < y or y < 0.0"])  # fmt: skip
def test_cheap_expressions(text) -> None:
    assert is_speculatable(expression(text))


@pytest.mark.parametrize("text", ["a[i]", "np.sin(x)", "n // m", "n % m", "x ** y",
                                  "x if n > 0 else y", "x + a[i]", "f(x)"])  # fmt: skip
def test_others_are_evaluated_only_where_they_are_needed(text) -> None:
    assert not is_speculatable(expression(text))


def test_loads_of_branches_that_are_not_taken_do_not_happen() -> None:
    run = kernel(
        """
        def f(x, i, far):
            a = x[i] if i < x.shape[0] else -1.0
            b = i < x.shape[0] and x[i] > 1.0
            c = i >= x.shape[0] or x[i] > 1.0
            d = (x[far] if i < 0 else x[i]) if i < x.shape[0] else x[0] * 14.0
            return (a, d, 1 if b else 0, 1 if c else 0)
        """,
        VECTOR,
        types.int64,
        types.int64,
    )
    x = np.array([0.5, 2.0])
    far = 1 << 45
    assert run(x, 0, far) == [0.5, 0.5, 0, 0]
    assert run(x, 1, far) == [2.0, 2.0, 1, 1]
    assert run(x, far, far) == [-1.0, 7.0, 0, 1]


def test_extremes_propagate_nan() -> None:
    run = kernel(
        """
        def f(x, y):
            most = x if x > y or x != x else y
            least = x if x < y or x != x else y
            return (most, least)
        """,
        types.float64,
        types.float64,
    )
    for x, y in itertools.product(SPECIAL, SPECIAL):
        np.testing.assert_array_equal(run(x, y), [np.maximum(x, y), np.minimum(x, y)])


def test_only_that_pattern_is_an_extreme() -> None:
    def name(text: str) -> str | None:
        node = expression(text)
        assert isinstance(node, ast.IfExp)
        return _extremum_intrinsic(node)

    assert name("x if x > y or x != x else y") == "maximum"
    assert name("x if x < y or x != x else y") == "minimum"
    for text in ("y if x > y or x != x else x", "x if x > y else y", "x if x >= y or x != x else y",
                 "x if x > y or y != y else y", "x if x > y and x != x else y",
                 "x if x > 1.0 or x != x else y", "x if x > y or x != x else z"):  # fmt: skip
        assert name(text) is None


def test_parts_of_arrays() -> None:
    run = kernel(
        """
        def f(a, i):
            row = a[i]
            return (row[1] + a[i, 0], row.shape[0] + a.shape[0])
        """,
        Array(types.float64, 2, "A"),
        types.int64,
    )
    a = np.arange(24.0).reshape(4, 6)[::-1, ::2]
    for i in range(4):
        assert run(a, i) == [a[i, 1] + a[i, 0], 7]


def test_loads_of_arguments_that_are_only_read_are_invariant() -> None:
    from s2s.codegen.kernel_module import optimised_module

    source = kernel_source(
        """
        def f(x, y, n):
            for i in range(n):
                y[0] = y[0] + x[0]
            return (n,)
        """,
        VECTOR,
        VECTOR,
        types.int64,
    )
    text = str(optimised_module(source, [1]))
    assert "invariant.load" in text or text.count("load double") <= 3


def test_what_never_fails() -> None:
    pair = (types.float64, types.float64)
    assert cannot_raise(Callee(np.add, pair, types.float64))
    numba = (object(), object())
    assert cannot_raise(Callee(np.nextafter, pair, types.float64, numba))
    ints = (types.int64, types.int64)
    assert not cannot_raise(Callee(np.floor_divide, ints, types.int64, numba))
    arrays = (VECTOR, types.float64)
    assert not cannot_raise(Callee(np.add, arrays, MATRIX, numba))
    assert not cannot_raise(Callee(len, (types.int64,), types.int64, numba))
