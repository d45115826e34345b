"""One specialisation: types and structure of results, side effects, disjoint memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.dispatch.specialization import Specialization, converter, takes_writes
from s2s.errors import S2SValueError
from s2s.transforms.ir.nodes import Array, Scalar


def entry_of(
    function: Any, *args: Any, mode: str = "primal", **options: Any
) -> tuple[Specialization, Any]:
    """The specialisation of a function for arguments, and its parameters."""
    made = (s2s.grad if mode == "vjp" else s2s.function)(function, backend="loops", **options)
    return made._specialiser(mode).find(args, "loops")


# ---------------------------------------------------------------- results


@pytest.mark.parametrize(
    "dtype, value, type_",
    [
        ("float64", 1.5, np.float64), ("float32", 1.5, np.float32), ("int64", 3, int),
        ("bool", 1, bool), ("int32", 3, np.int32), ("complex64", 1j, np.complex64),
    ],
)  # fmt: skip
def test_scalar_results_are_those_of_numpy(dtype: str, value: Any, type_: type) -> None:
    convert = converter(Scalar(dtype))
    assert convert is not None and type(convert(value)) is type_ and convert(value) == value


def test_arrays_are_not_converted() -> None:
    entry, params = entry_of(lambda x: x * 2.0, np.ones(2))
    assert isinstance(entry.compiled.result_types[0], Array) and entry.convert == []
    assert converter(entry.compiled.result_types[0]) is None
    np.testing.assert_array_equal(entry.run("loops", params)[0], [2.0, 2.0])


def test_results_in_the_structure_of_the_function() -> None:
    x = np.ones(2)
    entry, params = entry_of(lambda x: {"a": (x * 2.0, np.sum(x)), "b": [x, 3, "text"]}, x)
    got = entry.value((x,), entry.run("loops", params))
    assert got["a"][1] == 2.0 and got["b"][0] is x and got["b"][1:] == [3, "text"]
    assert type(got["a"]) is tuple and type(got["b"]) is list


def test_gradients_in_the_structure_of_the_arguments() -> None:
    args = ({"w": np.ones(2), "b": (3.0,)}, 2.0)
    entry, params = entry_of(
        lambda p, k: np.sum(p["w"]) * p["b"][0] * k, *args, mode="vjp", wrt=(0, 1)
    )
    p_bar, k_bar = entry.gradients(args, entry.run("loops", params))
    np.testing.assert_array_equal(p_bar["w"], [6.0, 6.0])
    assert p_bar["b"] == (4.0,) and k_bar == 6.0


# ---------------------------------------------------------------- guards and kernels


def test_guards() -> None:
    entry, params = entry_of(lambda x, y: x + y, np.ones(2), np.ones(2))
    assert params is not None and entry.enter((np.ones(3), np.ones(3))) is not None
    assert entry.enter((np.ones(3), np.ones(2))) is None
    assert "x" in entry.broken_guard((np.ones(3), np.ones(2)))


def test_a_kernel_is_made_once_for_each_back_end() -> None:
    entry, params = entry_of(lambda x: x * 2.0, 3.0)
    assert entry.kernels == {}
    assert entry.kernel("loops", params) is entry.kernel("loops", params)
    entry.kernel("python", params)
    assert set(entry.kernels) == {"loops", "python"}
    assert entry.run("python", params) == entry.run("loops", params) == [6.0]


def test_examples_for_explanations_take_no_memory() -> None:
    entry, _ = entry_of(lambda x: x * 2.0, np.ones((500, 400)))
    assert entry.example[0].shape == (500, 400) and entry.example[0].strides == (0, 0)


# ---------------------------------------------------------------- effects


class State:
    def __init__(self) -> None:
        self.steps, self.last = 0, 0.0
        self.items = {"a": np.zeros(2)}


def advance(state: State, x: Any) -> Any:
    state.steps += 1
    state.last = np.sum(x)
    state.items["a"] = x * 2.0
    return state.last


def test_effects_are_applied_by_settle() -> None:
    state, x = State(), np.ones(2)
    entry, params = entry_of(advance, state, x)
    results = entry.run("loops", params)
    assert state.steps == 0 and state.last == 0.0
    entry.apply_side_effects((state, x), results)
    assert state.steps == 1 and type(state.steps) is int and state.last == 2.0
    np.testing.assert_array_equal(state.items["a"], [2.0, 2.0])


def test_one_object_by_two_names_is_refused() -> None:
    def both(a: Any, b: Any) -> None:
        a.steps += 1
        b.steps += 2

    state, other = State(), State()
    entry, _ = entry_of(both, state, other)
    entry.reject_aliases((state, other))
    with pytest.raises(S2SValueError, match="a and b are one object, and both writes into objects"):
        entry.reject_aliases((state, state))


def test_written_arrays_must_be_disjoint() -> None:
    def fill(x: Any, y: Any) -> Any:
        x[:] = y
        return x

    x, y = np.zeros(3), np.ones(3)
    entry, params = entry_of(fill, x, y)
    entry.run("loops", params)
    np.testing.assert_array_equal(x, y)
    with pytest.raises(
        S2SValueError, match="x and y overlap in memory, and fill writes into x"
    ) as info:
        entry.check_writes((x, x))
    assert info.value.advice == "pass a copy: y.copy()"
    with pytest.raises(S2SValueError, match="elements of x overlap in memory"):
        entry.check_writes((np.lib.stride_tricks.as_strided(np.zeros(1), (3,), (0,)), y))


# ---------------------------------------------------------------- buffers


def test_buffers_of_the_caller() -> None:
    x = np.array([1.0, 2.0])
    entry, params = entry_of(lambda x: np.sum(x * x), x, mode="vjp")
    position = entry.compiled.grads[0].index  # type: ignore[union-attr]
    for buffer in (np.empty(2), np.empty(4)[::2]):
        results = entry.run("loops", params, {position: buffer})
        assert results[position] is buffer
        np.testing.assert_array_equal(buffer, [2.0, 4.0])


def test_memory_that_kernels_can_write_into() -> None:
    array = np.empty(4)
    assert takes_writes(array.flags) and not takes_writes(array[::2].flags)
    assert not takes_writes(np.empty(17, np.uint8)[1:].view(np.float64).flags)
    array.flags.writeable = False
    assert not takes_writes(array.flags)
