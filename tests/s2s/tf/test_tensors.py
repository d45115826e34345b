"""Functions whose results are immutable tensors, and when a result is copied."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

import s2s
from s2s.objects.tensor import immutable, is_immutable
from s2s.tf.tensors import export, gives_tensors

Point = namedtuple("Point", "x y")


@gives_tensors
def same(value: Any) -> Any:
    """As it is."""
    return value


def test_results_in_structures() -> None:
    got = gives_tensors(
        lambda: [np.zeros(2), (1, 2.5), Point(np.float64(1.0), True), {"a": np.ones(1)}]
    )()
    assert type(got[2]) is Point and type(got[1]) is tuple
    assert is_immutable(got[0]) and is_immutable(got[2].x) and is_immutable(got[2].y)
    assert is_immutable(got[3]["a"])
    assert got[1] == (1, 2.5)  # Python numbers stay
    assert same("text") == "text" and same(None) is None


def test_a_result_that_shares_memory_with_an_argument_is_copied() -> None:
    array = np.arange(4.0)
    for function in (lambda x: x, lambda x: x[1:], lambda x: x.reshape(2, 2)):
        for argument in (array, [array], {"k": (array,)}):
            got = gives_tensors(lambda x, f=function: f(unpacked(x)))(argument)
            assert is_immutable(got) and not np.may_share_memory(got, array)
    assert array.flags.writeable


def unpacked(value: Any) -> Any:
    while not isinstance(value, np.ndarray):
        value = value["k"] if isinstance(value, dict) else value[0]
    return value


def test_a_new_result_is_not_copied() -> None:
    made = np.zeros(3)
    assert np.may_share_memory(gives_tensors(lambda x: made)(np.ones(3)), made)


def test_tensors_are_not_copied() -> None:
    tensor = immutable(np.arange(3.0))
    got = same(tensor)
    assert got is not tensor and np.may_share_memory(got, tensor)  # tapes compare identities
    assert is_immutable(same([tensor])[0])


def test_variables_become_their_values() -> None:
    variable = s2s.Variable([1.0, 2.0])
    got = same(variable)
    variable.assign([5.0, 5.0])
    assert is_immutable(got)
    np.testing.assert_array_equal(got, [1.0, 2.0])


def test_the_wrapper_keeps_name_and_docstring() -> None:
    assert same.__name__ == "same" and same.__doc__ == "As it is."
    assert same._s2s_instead.__name__ == "same" and same._s2s_tensors


def test_export_wraps_listed_functions_once() -> None:
    def one() -> Any:
        return np.zeros(1)

    def two() -> Any:
        return np.zeros(1)

    space: dict[str, Any] = {
        "one": one,
        "two": two,
        "three": two,
        "four": 4,
        "__all__": ["one", "three", "four"],
    }
    export(space)
    assert is_immutable(space["one"]()) and is_immutable(space["three"]())
    assert space["two"] is two and space["four"] == 4
    wrapped = space["one"]
    export(space)
    assert space["one"] is wrapped
