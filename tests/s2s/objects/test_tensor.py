"""Arrays with `numpy()`, and immutable tensors: operators, copies, structures.
`tests/attack/test_tf_values.py` writes programs for every operator and place."""

from __future__ import annotations

import copy
import operator
import pickle
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.objects.tensor import Immutable, Tensor, frozen, immutable, is_immutable, snapshot, tensor

Pair = namedtuple("Pair", "a b")


# ---------------------------------------------------------------- Tensor


def test_numpy_returns_a_plain_copy() -> None:
    array = np.arange(3.0)
    made = tensor(array)
    assert isinstance(made, Tensor) and np.shares_memory(made, array)
    plain = made.numpy()
    assert type(plain) is np.ndarray and not np.shares_memory(plain, array)
    assert type(tensor(np.float32(2.0)).numpy()) is np.float32


def test_results_of_rank_0_keep_the_method() -> None:
    made = tensor(np.arange(3.0))
    scalar = tensor(np.float64(2.0))
    for value in (scalar * 3.0, 3.0 * scalar, np.exp(scalar), scalar + scalar, -scalar):
        assert isinstance(value.numpy(), np.floating)
    assert f"{tensor(np.float64(1.25)):.1f}" == "1.2" and f"{made}" == str(np.arange(3.0))


@pytest.mark.parametrize(
    "step", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow]
)
def test_augmented_operators_write_into_arrays_only(step: Any) -> None:
    array, scalar = tensor(np.array([1.0, 2.0])), tensor(np.float64(3.0))
    old_array, old_scalar = array, scalar
    array, scalar = step(array, 2.0), step(scalar, 2.0)
    assert np.shares_memory(array, old_array) and array.tolist() == old_array.tolist()
    assert not np.shares_memory(scalar, old_scalar) and old_scalar == 3.0


def test_tensors_of_structures() -> None:
    got = tensor({"a": (np.ones(2), 3), "b": Pair(np.float64(1.0), "text"), "c": [np.int32(1)]})
    assert isinstance(got["a"][0], Tensor) and got["a"][1] == 3 and type(got["a"]) is tuple
    assert isinstance(got["b"].a, Tensor) and got["b"].b == "text" and type(got["b"]) is Pair
    assert isinstance(got["c"][0], Tensor)
    made = tensor(np.ones(1))
    assert tensor(made) is made
    assert not isinstance(tensor(np.str_("a")), Tensor)


# ---------------------------------------------------------------- immutable tensors


def test_immutable_shares_memory_and_is_read_only() -> None:
    array = np.arange(3.0)
    made = immutable(array)
    assert is_immutable(made) and np.shares_memory(made, array) and array.flags.writeable
    assert immutable(made) is made
    with pytest.raises(
        TypeError, match=r"use tf.tensor_scatter_nd_update, or .*np.array\(tensor\)"
    ):
        made[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        made.sort()
    for value in (2, 2.5, True, np.float32(1.0), 1j):
        assert is_immutable(immutable(value)) and immutable(value) == value
    assert immutable("text") == "text" and immutable(None) is None


BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.eq, operator.lt, operator.ge,
]  # fmt: skip


@pytest.mark.parametrize("apply", BINARY)
def test_operators(apply: Any) -> None:
    x = immutable(np.array([3.0, 4.0]))
    for other in (2.0, np.float64(2.0), np.array([2.0, 5.0]), immutable(np.array([2.0, 5.0]))):
        plain = np.asarray(other)
        for got, want in (
            (apply(x, other), apply(np.array([3.0, 4.0]), plain)),
            (apply(other, x), apply(plain, np.array([3.0, 4.0]))),
        ):
            np.testing.assert_array_equal(got, want)
            assert is_immutable(got)


def test_augmented_assignment_binds_the_name_anew() -> None:
    x = y = immutable(np.array([1.0, 2.0]))
    x += 1.0
    x *= 2.0
    np.testing.assert_array_equal(y, [1.0, 2.0])
    np.testing.assert_array_equal(x, [4.0, 6.0])
    assert is_immutable(x)


def test_parts_and_unary_operators() -> None:
    x = immutable(np.arange(6.0).reshape(2, 3))
    for got in (x[0], x[1, 2], x[:, None], x[x > 1], -x, abs(x), *x, x @ x.T):
        assert is_immutable(got), got


def test_numpy_functions_give_arrays_that_can_be_written_to() -> None:
    x = immutable(np.arange(3.0))
    for got in (np.exp(x), np.zeros_like(x), x.copy(), np.where(x > 1, x, 0.0), np.array(x)):
        got[0] = 5.0
        assert not is_immutable(got)
    copied = x.copy()
    copied += 1.0
    assert copied.tolist() == [1.0, 2.0, 3.0]


def test_copies_and_pickles() -> None:
    x = immutable(np.arange(3.0))
    assert copy.copy(x) is x and copy.deepcopy([x])[0] is x
    again = pickle.loads(pickle.dumps(x))
    assert is_immutable(again) and again.tolist() == [0.0, 1.0, 2.0]
    assert type(pickle.loads(pickle.dumps(x.copy()))) is np.ndarray
    assert Immutable.__name__ == "Tensor" and repr(x).startswith("Tensor(")


# ---------------------------------------------------------------- structures


@pytest.mark.parametrize("change, copies", [(snapshot, True), (frozen, False)])
def test_values_in_structures(change: Any, copies: bool) -> None:
    array, variable = np.arange(3.0), s2s.Variable([1.0])
    text = np.array(["a"])
    given = {"a": (array, [variable]), "b": Pair(2, True), "c": text, "d": None, "e": "text"}
    got = change(given)
    assert is_immutable(got["a"][0]) and np.shares_memory(got["a"][0], array) is not copies
    assert is_immutable(got["a"][1][0]) and type(got["b"]) is Pair and is_immutable(got["b"].a)
    assert got["c"] is text and got["d"] is None and got["e"] == "text"
    variable.assign([9.0])
    assert got["a"][1][0].tolist() == [1.0]
    kept = immutable(array)
    assert change(kept) is kept


def test_in_compiled_code_they_are_values() -> None:
    run = s2s.function(lambda x: tensor(x * 2.0) + frozen(x), backend="loops")
    np.testing.assert_array_equal(run(np.ones(2)), [3.0, 3.0])
