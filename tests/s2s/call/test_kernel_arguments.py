"""Arguments in the form that kernels take: base classes, dtypes, aligned and disjoint memory."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.call.kernel_arguments import to_kernel_argument, with_copied_arguments
from s2s.errors import Overlap
from s2s.objects.tensor import Tensor
from s2s.transforms.frontend.pytree import ArraySpec, ScalarSpec, describe


def test_arrays_become_plain_and_share_memory() -> None:
    array = np.arange(4.0)
    for given in (array, array.view(Tensor), array.view(np.recarray)):
        got = to_kernel_argument(ArraySpec("float64", 1, "C"), given)
        assert type(got) is np.ndarray and np.shares_memory(got, array)
    assert to_kernel_argument(ArraySpec("float64", 1, "C"), array) is array


def test_dtypes_become_the_singleton_of_numpy() -> None:
    """`np.dtype` objects of one type may be distinct objects: with metadata, for example."""
    array = np.zeros(3, np.dtype("f8", metadata={"unit": "m"}))
    assert array.dtype is not np.dtype("float64")
    got = to_kernel_argument(ArraySpec("float64", 1, "C"), array)
    assert got.dtype is np.dtype("float64") and np.shares_memory(got, array)


@pytest.mark.parametrize(
    "value, type_",
    [
        (1.5, float), (2, int), (True, bool), (np.bool_(True), bool), (1j, complex),
        (np.float32(1.5), np.float32), (np.int8(3), np.int8), (np.float64(1.5), np.float64),
    ],
)  # fmt: skip
def test_scalars(value: Any, type_: type) -> None:
    got = to_kernel_argument(describe(value), value)
    assert type(got) is type_ and got == value


def test_scalars_of_other_classes() -> None:
    class Metres(float):
        pass

    assert type(to_kernel_argument(ScalarSpec("float64", True), Metres(2.0))) is float
    variable = s2s.Variable(2.0)
    assert type(to_kernel_argument(ScalarSpec("float32", False), variable.numpy())) is np.float32


# ---------------------------------------------------------------- aligned


def unaligned(values: Any) -> Any:
    memory = np.zeros(values.nbytes + 1, np.uint8)
    made = memory[1:].view(values.dtype)
    made[:] = values
    assert not made.flags.aligned
    return made


def kernel(seen: list[Any], refusal: Any = None) -> Any:
    """A kernel that adds 1 to its first parameter, and refuses as compiled code does."""

    def call(params: Any, seed: Any, buffers: Any) -> Any:
        if refusal is not None and not seen:
            seen.append(None)
            raise refusal
        if not all(p.flags.aligned for p in params if isinstance(p, np.ndarray)):
            raise TypeError("unaligned")
        seen.append(params)
        params[0][...] += 1.0
        return [params[0].sum()]

    return call


COMPILED: Any = types.SimpleNamespace(written=[0])


def test_arguments_that_fit_are_passed_as_they_are() -> None:
    seen: list[Any] = []
    array = np.zeros(3)
    assert with_copied_arguments(kernel(seen), COMPILED, None)((array, 2.0), None, ()) == [3.0]
    assert seen[0][0] is array


def test_unaligned_arrays_are_copied_and_written_back() -> None:
    seen: list[Any] = []
    array, other = unaligned(np.zeros(3)), np.ones(2)
    assert with_copied_arguments(kernel(seen), COMPILED, None)((array, other), None, ()) == [3.0]
    np.testing.assert_array_equal(array, [1.0, 1.0, 1.0])
    assert seen[0][0] is not array and seen[0][1] is other


def test_what_was_written_before_an_error_stays() -> None:
    def fails(params: Any, seed: Any, buffers: Any) -> Any:
        kernel([])(params, seed, buffers)
        raise IndexError("in the middle")

    array = unaligned(np.zeros(3))
    with pytest.raises(IndexError, match="in the middle"):
        with_copied_arguments(fails, COMPILED, None)((array,), None, ())
    np.testing.assert_array_equal(array, [1.0, 1.0, 1.0])


def filled(x, n):
    for i in range(n):
        x[i] = 7.0
    return np.sum(x)


def test_an_error_after_writes_into_unaligned_arrays() -> None:
    array, plain = unaligned(np.zeros(3)), np.zeros(3)
    for x in (array, plain):
        with pytest.raises(IndexError):
            s2s.function(filled)(x, 5)
        np.testing.assert_array_equal(x, [7.0, 7.0, 7.0])


def test_overlapping_arrays_are_all_copied() -> None:
    seen: list[Any] = []
    array = np.zeros(3)
    assert with_copied_arguments(kernel(seen, Overlap()), COMPILED, None)(
        (array, array), None, ()
    ) == [3.0]
    np.testing.assert_array_equal(array, [1.0, 1.0, 1.0])
    assert not np.shares_memory(*seen[1])


def test_other_errors_pass() -> None:
    call = with_copied_arguments(kernel([], TypeError("its own")), COMPILED, None)
    with pytest.raises(TypeError, match="its own"):
        call((np.zeros(3),), None, ())
    function = object()
    assert with_copied_arguments(kernel([]), COMPILED, function).function is function  # type: ignore[attr-defined]
