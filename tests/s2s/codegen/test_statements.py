"""Statements as LLVM IR: loops, branches, buffers that grow, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from s2s import kernels
from s2s.codegen import value_types as types
from s2s.codegen.llvm_utils import INT
from s2s.codegen.statements import MAX_STACK_ELEMENTS, ErrorCodes, fits_on_stack
from s2s.runtime import block_pool
from tests.s2s.codegen.machine_code import VECTOR, KernelError, kernel

BYTES = types.Array(types.NUMBERS["int8"], 1, "C")

GROWS = """
    def f(x, used, more):
        y = np.empty((x.shape[0],), np.{dtype})
        for i in range(x.shape[0]):
            y[i] = x[i]
        y = rt.reserve(y, used, more)
        return (y,)
"""


@pytest.fixture(scope="module")
def grows():
    return kernel(GROWS.format(dtype="float64"), VECTOR, types.int64, types.int64)


def test_a_buffer_grows_only_when_it_is_full(grows) -> None:
    x = np.array([1.0, 2.0, 3.0])
    for used, more in ((0, 0), (0, 3), (3, 0), (1, 2), (2, -7), (3, -(2**63))):
        (found,) = grows(x, used, more)
        np.testing.assert_array_equal(found, x)
    for used, more in ((3, 1), (1, 3), (0, 4), (2, 100)):
        (found,) = grows(x, used, more)
        assert len(found) == len(kernels.reserve(x, used, more)) == 2 * (used + more) + 8
        np.testing.assert_array_equal(found[:used], x[:used])


@pytest.mark.parametrize(
    "more", [2**40, 2**60, 2**60 + 1, 2**61, 2**62, 2**62 - 4, 2**63 - 9, 2**63 - 2, 2**63 - 1]
)
def test_a_capacity_that_overflows_is_an_error(grows, more) -> None:
    """Twice 2**63 - 1, and 8, is 6 in 64 bits: a buffer of 6 elements would be written beyond its
    end."""
    for used in (0, 1, 3):
        with pytest.raises(KernelError) as raised:
            grows(np.ones(3), used, more)
        assert raised.value.args == (MemoryError, ("Allocation failed (probably too large).",))
    with pytest.raises((MemoryError, ValueError)):
        kernels.reserve(np.ones(3), 1, more)


def test_a_capacity_in_bytes_that_overflows_is_an_error() -> None:
    run = kernel(GROWS.format(dtype="int8"), BYTES, types.int64, types.int64)
    x = np.ones(3, np.int8)
    assert len(run(x, 3, 1)[0]) == 16
    for more in (2**50, 2**60, 2**60 + 1, 2**62, 2**63 - 1):
        with pytest.raises(KernelError):
            run(x, 3, more)


def test_memory_is_given_back_after_an_error() -> None:
    run = kernel(
        """
        def f(x, n):
            y = np.empty((100000,), np.float64)
            for i in range(n):
                z = np.empty((50000,), np.float64)
                z[0] = x[0]
                if i == 3:
                    raise ValueError("three")
            return (y,)
        """,
        VECTOR,
        types.int64,
    )
    before = block_pool.usage()["in_use"]
    run(np.ones(1), 2)
    for _ in range(3):
        with pytest.raises(KernelError) as raised:
            run(np.ones(1), 9)
        assert raised.value.args == (ValueError, ("three",))
    assert block_pool.usage()["in_use"] == before


def test_loops_count_as_in_python() -> None:
    run = kernel(
        """
        def f(start, stop, step):
            s = np.int64(0)
            n = np.int64(0)
            for i in range(start, stop, step):
                s = s * 3 + i
                n = n + 1
                if n == 50:
                    break
            m = np.int64(0)
            for i in range(5, -5, -2):
                m = m * 3 + i
            while True:
                m = m + 1
                if m > 100:
                    break
            return (s, n, m)
        """,
        types.int64, types.int64, types.int64,
    )  # fmt: skip

    def expected(*bounds: int) -> tuple[int, int]:
        s = n = 0
        for i in range(*bounds):
            s, n = s * 3 + i, n + 1
            if n == 50:
                break
        return (s + 2**63) % 2**64 - 2**63, n

    for bounds in ((0, 9, 2), (9, 0, -2), (3, 3, 1), (5, 2, 1), (2, 5, -1), (-4, 90, 3)):
        assert run(*bounds) == [*expected(*bounds), 490]


def test_branches_that_all_fail_leave_no_way_on() -> None:
    run = kernel(
        """
        def f(k):
            s = np.float64(1.0)
            if k > 0:
                if k > 5:
                    raise ValueError("large")
                else:
                    raise IndexError("small", k)
            return (s,)
        """,
        types.int64,
    )
    assert run(0) == [1.0]
    with pytest.raises(KernelError) as raised:
        run(6)
    assert raised.value.args == (ValueError, ("large",))
    with pytest.raises(KernelError) as raised:
        run(3)
    assert raised.value.args == (IndexError, ("small", 3))


def test_codes_of_failures_are_numbered_once() -> None:
    failures = ErrorCodes(16)
    first = failures.code(ValueError, ("a",))
    assert (first, failures.code(ValueError, ("b",)), failures.code(TypeError, ("a",))) == (
        16, 17, 18,
    )  # fmt: skip
    assert failures.code(ValueError, ("a",)) == first
    assert list(failures.known.values()) == [16, 17, 18]


def test_only_arrays_of_few_constants_are_small() -> None:
    assert (
        fits_on_stack([INT(MAX_STACK_ELEMENTS)])
        and fits_on_stack([INT(4), INT(MAX_STACK_ELEMENTS // 4)])
        and fits_on_stack([])
    )
    assert fits_on_stack([INT(0), INT(10**6)])
    assert not fits_on_stack([INT(MAX_STACK_ELEMENTS + 1)]) and not fits_on_stack([INT(9), INT(8)])


def test_updates_convert_to_the_type_of_the_array() -> None:
    run = kernel(
        """
        def f(x):
            y = np.empty((2,), np.float32)
            y[0] = 1.5
            y[0] += 1.0e-9
            y[1] = 7
            y[1] -= 9
            x[0] *= 3
            x[1] /= 0.0
            return (y,)
        """,
        VECTOR,
        written=[0],
    )
    x = np.array([2.0, 1.0])
    (found,) = run(x)
    assert found.tolist() == [1.5, -2.0] and x.tolist() == [6.0, math.inf]
