"""Calls of C functions from code of Numba: what they take, and that arrays outlive the call."""

# ruff: noqa: E402

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")
import llvmlite.binding as llvm
from numba import njit, types
from numba.core.errors import TypingError

from s2s.codegen.numba_bridge.external_call import ADDRESS, external, intrinsic_of

seen: list[Any] = []


def note(kind: int, place: int, size: int) -> int:
    """What C finds at the address.  Other memory is taken and given back before."""
    for _ in range(20):
        bytes(8 * size)
    gc.collect()
    seen.append((kind, list((ctypes.c_double * size).from_address(place))))
    return 7 * size


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int8, ctypes.c_void_p, ctypes.c_int64)(note)
llvm.add_symbol("s2s_test_note", ctypes.cast(CALLBACK, ctypes.c_void_p).value)
call_note = external("s2s_test_note", types.int64, types.char, ADDRESS, types.intp)


@njit
def of_temporary(n):
    a = np.empty(n)
    for i in range(n):
        a[i] = i
    return call_note(np.int8(3), a, n)  # the last statement that mentions the array


@njit
def of_number(x):
    return call_note(np.int8(5), x, 1)


@njit
def of_part(a):
    return call_note(np.int8(6), a[1], a.shape[1])


def test_an_array_lives_until_the_call_returns() -> None:
    seen.clear()
    assert of_temporary(5) == 35 and seen == [(3, [0.0, 1.0, 2.0, 3.0, 4.0])]
    assert of_temporary(1000) == 7000 and seen[-1][1] == [float(k) for k in range(1000)]


def test_numbers_are_passed_by_address() -> None:
    seen.clear()
    assert of_number(2.5) == 7 and seen == [(5, [2.5])]


def test_parts_of_arrays() -> None:
    seen.clear()
    assert of_part(np.arange(6.0).reshape(2, 3)) == 21 and seen == [(6, [3.0, 4.0, 5.0])]


@pytest.mark.parametrize("a", [np.zeros(4)[::2], np.asfortranarray(np.zeros((2, 3))), "text", None])
def test_what_has_no_address_of_contiguous_elements_is_refused(a) -> None:
    @njit
    def call(a):
        return call_note(np.int8(1), a, 1)

    with pytest.raises(TypingError, match="takes arrays in C order and numbers"):
        call(a)


def test_the_number_of_arguments_is_checked() -> None:
    @njit
    def call(a):
        return call_note(np.int8(1), a)

    with pytest.raises((TypingError, TypeError)):
        call(np.zeros(3))


def test_intrinsics_have_the_parameters_that_they_are_given() -> None:
    def typed(x: Any, y: Any) -> Any:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.sub(*args)

        return types.int64(types.int64, types.int64), code

    minus = intrinsic_of(typed, ["x", "y"])
    assert njit(lambda a, b: minus(a, b))(7, 3) == 4
