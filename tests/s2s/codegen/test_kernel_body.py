"""The body of a kernel: last uses, results, and what the error exit gives back."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from s2s.codegen import value_types as types
from s2s.codegen.kernel_body import last_uses, returned_names
from s2s.runtime import block_pool
from tests.s2s.codegen.machine_code import VECTOR, KernelError, kernel

TEXT = """
def f(x, n):
    a = g(x)
    for i in range(n):
        b = a
        if i > 3:
            c = b
    d = a
    return (d, x.shape[0])
"""


def test_last_mentions() -> None:
    (function,) = ast.parse(TEXT).body
    assert isinstance(function, ast.FunctionDef)
    first, loop, third, done = function.body
    found = {s: {*names} for s, names in last_uses(function.body).items()}
    assert found == {
        first: {"g"}, loop: {"i", "n", "b", "c", "range"}, third: {"a"}, done: {"d", "x"},
    }  # fmt: skip
    assert returned_names(function) == {"d", "x"}


MEMORY = """
    def f(x, n):
        a = np.empty((n,), np.float64)
        for i in range(n):
            a[i] = x[0] + i
        b = a
        c = np.empty((n,), np.float64)
        c[0] = b[1]
        k = np.int64(0)
        while True:
            t = np.empty((n,), np.float64)
            t[0] = c[0]
            u = t
            k = k + 1
            if k > 3:
                break
        if n == 7:
            raise ValueError("seven", n)
        if n == 8:
            raise IndexError("eight")
        return (b, u[0], a)
"""


def test_memory_is_given_back_but_for_the_results() -> None:
    """Blocks of the pool are counted: these arrays are large enough for it."""
    run = kernel(MEMORY.replace("(n,)", "(n * 10000,)"), VECTOR, types.int64)
    before = block_pool.usage()["in_use"]
    for n, error in ((7, (ValueError, ("seven", 7))), (8, (IndexError, ("eight",)))):
        for _ in range(3):
            with pytest.raises(KernelError) as raised:
                run(np.ones(1), n)
            assert raised.value.args == error
    assert block_pool.usage()["in_use"] == before


def test_results_are_owned_by_the_caller() -> None:
    run = kernel(
        """
        def f(x, n):
            a = np.empty((n,), np.float64)
            for i in range(n):
                a[i] = x[0] + i
            return (a, a[1])
        """,
        VECTOR,
        types.int64,
    )
    before = block_pool.usage()["in_use"]
    for _ in range(3):
        found, one = run(np.ones(1), 20_000)
        np.testing.assert_array_equal(found, 1.0 + np.arange(20_000))
        assert one == 2.0
    assert block_pool.usage()["in_use"] == before


def test_a_kernel_that_always_fails() -> None:
    run = kernel("def f(n):\n    raise ValueError('never')\n    return (n,)", types.int64)
    with pytest.raises(KernelError) as raised:
        run(3)
    assert raised.value.args == (ValueError, ("never",))
