"""Copies of containers with changed leaves; the originals keep theirs."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from s2s.call.tree_copy import (
    copy_leaves,
    floats_of,
    has_floats,
    in_float64,
    map_leaves,
    perturb_element,
    shape_only,
    step_along,
)
from s2s.transforms.frontend.pytree import describe

Pair = namedtuple("Pair", "a b")


@dataclass(frozen=True)
class Frozen:
    w: Any
    b: Any


class Thing:
    pass


def tree() -> Any:
    return {
        "list": [1.0, np.array([1.0, 2.0], np.float32)],
        "pair": Pair(np.float64(3.0), (4, True)),
        "data": Frozen(np.ones((1, 2)), 2j),
        "text": "kept",
    }


def test_leaves_are_mapped_in_the_same_structure() -> None:
    original, seen = tree(), []
    got = map_leaves(original, lambda leaf: seen.append(leaf) or 0)
    assert got == {
        "list": [0, 0], "pair": Pair(0, (0, 0)), "data": Frozen(0, 0), "text": "kept",
    }  # fmt: skip
    assert type(got["pair"]) is Pair and type(got["data"]) is Frozen and len(seen) == 7
    assert original["list"][0] == 1.0 and original["data"].b == 2j


def test_containers_are_copied_even_if_empty() -> None:
    for empty in ([], {}):
        got = map_leaves(empty, lambda leaf: leaf)
        assert got == empty and got is not empty
    thing = Thing()
    assert map_leaves([thing], lambda leaf: 0)[0] is thing


def test_copies_share_no_mutable_leaf() -> None:
    original = {**tree(), "rng": np.random.default_rng(0)}
    copy = copy_leaves(original)
    assert not np.shares_memory(copy["list"][1], original["list"][1])
    copy["list"][1][:] = 9.0
    np.testing.assert_array_equal(original["list"][1], [1.0, 2.0])
    assert copy["rng"] is not original["rng"]
    assert copy["rng"].random() == original["rng"].random()


def test_hollow_arguments_take_no_memory() -> None:
    args = (np.ones((300, 200), np.float32), [np.ones(5), 2.0], "text")
    specs = {name: describe(a) for name, a in zip("abc", args)}
    big, (small, number), text = shape_only(specs, args)
    assert big.shape == (300, 200) and big.dtype == np.float32 and big.strides == (0, 0)
    assert small.shape == (5,) and number == 2.0 and text == "text"


def test_float64() -> None:
    got = in_float64(
        [np.ones(2, np.float32), np.float32(1.5), np.complex64(1j), np.ones(1, "c8"), 3]
    )
    assert [getattr(v, "dtype", type(v)) for v in got] == [
        np.float64, float, complex, np.complex128, int,
    ]  # fmt: skip
    whole = np.arange(3)
    assert in_float64(whole) is whole


@pytest.mark.parametrize(
    "path, index, get",
    [
        ((("[]", "list"), ("[]", 1)), (1,), lambda t: t["list"][1][1]),
        ((("[]", "list"), ("[]", 0)), (), lambda t: t["list"][0]),
        ((("[]", "pair"), (".", "a")), (), lambda t: t["pair"].a),
        ((("[]", "data"), (".", "w")), (0, 1), lambda t: t["data"].w[0, 1]),
    ],
)
def test_one_element_is_moved(path: Any, index: tuple[int, ...], get: Any) -> None:
    original = tree()
    got = perturb_element(original, path, index, 0.5)
    assert get(got) == get(original) + 0.5
    everywhere = zip(floats_of(got), floats_of(original))
    changed = sum(int(np.sum(np.asarray(a) != np.asarray(b))) for a, b in everywhere)
    assert changed == 1 and get(original) == get(tree())


def test_moving_by_an_imaginary_step() -> None:
    got = perturb_element(np.ones(2), (), (1,), 1e-20j)
    assert got.dtype == np.complex128 and got[1] == 1 + 1e-20j


def test_floats() -> None:
    assert has_floats(tree()) and has_floats(1j) and not has_floats([1, "a", np.arange(2)])
    assert not has_floats(Thing())
    values = floats_of(tree())
    assert len(values) == 5 and values[0] == 1.0 and values[-1] == 2j


def test_steps_along_a_direction() -> None:
    x, direction = [1.0, np.array([1.0, 2.0], np.float32), 7], [2.0, np.array([1.0, 0.0]), 0]
    got = step_along(x[:2], direction[:2], 0.5)
    assert got[0] == 2.0 and got[1].dtype == np.float32
    np.testing.assert_array_equal(got[1], [1.5, 2.0])
