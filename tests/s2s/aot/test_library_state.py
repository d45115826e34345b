"""The state of a library: where each value lies, and what has no place."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from s2s.aot.library_state import HEADER, MAGIC, VERSION, State
from s2s.errors import UnsupportedError
from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.nodes import Array, Scalar
from s2s.transforms.ir.symbolic_dims import Dim


def path(name: str) -> Any:
    return (("arg", "self"), (".", name))


def holder(**values: Any) -> Any:
    return SimpleNamespace(**values)


def added(state: State, owner: Any, name: str) -> Any:
    value = getattr(owner, name)
    return state.slot(owner, path(name), describe(value), value)


def test_slots_lie_apart_and_are_aligned() -> None:
    state = State()
    own = holder(count=3, w=np.ones((5, 7), np.float32), empty=np.zeros((0, 4)), rate=0.5,
                 rng=np.random.default_rng(0))  # fmt: skip
    slots = [added(state, own, n) for n in ("count", "w", "empty", "rate", "rng")]
    ends = [HEADER]
    for slot in slots:
        assert slot.offset % 64 == 0 and slot.offset >= ends[-1]
        ends.append(slot.offset + max(slot.bytes, 1))
    assert state.bytes % 64 == 0 and state.bytes >= ends[-1]
    assert [s.bytes for s in slots] == [8, 140, 0, 8, 48]
    assert slots[0].shape is None and slots[2].shape == (0, 4)


def test_an_object_has_one_slot() -> None:
    state, shared = State(), np.zeros(3)
    a, b = holder(x=shared, k=1), holder(x=shared, k=1)
    assert added(state, a, "x") is added(state, b, "x")
    assert (
        added(state, a, "k") is not added(state, b, "k") and added(state, a, "k").name == "self/k"
    )
    assert [s.name for s in state.slots] == ["self/x", "self/k", "self/k_2"]


def test_objects_stay_alive_so_that_identities_stay_unique() -> None:
    state = State()
    for k in range(50):
        added(state, holder(x=np.full(2, k)), "x")
    assert len(state.slots) == 50


def test_the_image_is_the_header_and_the_values() -> None:
    state = State()
    own = holder(w=np.arange(6.0).reshape(2, 3), flag=True, big=np.arange(3, dtype=">i4"))
    w, flag = added(state, own, "w"), added(state, own, "flag")
    image = state.image()
    assert len(image) == state.bytes
    assert image[:8] == MAGIC
    assert struct.unpack("<3q", image[8:32]) == (VERSION, state.layout, state.bytes)
    assert image[w.offset : w.offset + 48] == own.w.tobytes()
    assert image[flag.offset] == 1
    own.w[...] = 9.0  # the image keeps the value of when the slot was made
    assert state.image() == image


def test_layouts_differ_by_names_types_shapes_and_places() -> None:
    layouts = set()
    for own in (
        holder(x=np.zeros(3)), holder(y=np.zeros(3)), holder(x=np.zeros(3, np.float32)),
        holder(x=np.zeros((3, 1))), holder(x=np.zeros(4)), holder(x=1.0), holder(x=np.float64(1)),
    ):  # fmt: skip
        state = State()
        added(state, own, next(iter(vars(own))))
        layouts.add(state.layout)
        assert -(2**63) <= state.layout < 2**63
    assert len(layouts) == 6  # a number of Python and one of NumPy are laid out alike


def test_what_has_no_place_is_refused() -> None:
    state = State()
    own = holder(f=np.asfortranarray(np.zeros((3, 4))), s="text", rng=np.random.Generator(
        np.random.Philox(0)))  # fmt: skip
    for name, text in (("f", "not contiguous"), ("s", "is a str"), ("rng", "draws from Philox")):
        with pytest.raises(UnsupportedError, match=text):
            added(state, own, name)
    assert state.slots == [] and state.bytes == HEADER


def test_values_that_a_function_sets() -> None:
    state = State()
    own = holder(k=1, loss=None, w=np.zeros(3))
    slot = added(state, own, "k")
    assert state.slot_of_store(own, path("k"), Scalar("int64")) is slot
    assert state.slot_of_store(own, path("loss"), Scalar("float64")).initial == 0.0
    assert state.slot_of_store(own, path("new"), Scalar("bool")).dtype == "bool"
    with pytest.raises(UnsupportedError, match="is int64 at first and float64 later"):
        state.slot_of_store(own, path("k"), Scalar("float64"))
    three = (Dim.of(3),)
    with pytest.raises(UnsupportedError, match="set to another array"):
        state.slot_of_store(own, path("w"), Array("float64", three))
    w = added(state, own, "w")
    assert state.slot_of_store(own, path("w"), Array("float64", three)) is w
    with pytest.raises(UnsupportedError, match="set to another array"):
        state.slot_of_store(own, path("w"), Array("float32", three))
