"""The state of an object as arrays by name: what is part of it, round trips, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Dense
from s2s.saving.object_state import (
    change_of_generator,
    generator_state,
    load,
    rollback_on_error,
    save,
    set_generator,
)


class Inner:
    def __init__(self) -> None:
        self.scale = 2.0


class State:
    """One attribute of every kind."""

    def __init__(self) -> None:
        self.steps = 3
        self.rate = np.float32(0.5)
        self.means = np.array([1.0, 2.0])
        self.slots = {"m": [s2s.Variable([1.0, 2.0]), 4.0], 7: np.ones(1)}
        self.rng = np.random.default_rng(0)
        self.inner = Inner()
        self.name, self.active, self.nothing = "state", True, None
        self.layer = Dense(2)
        self.function = np.tanh


def pending(owner: Any, arrays: dict[str, Any]) -> None:
    for change in load(owner, "s", set(), arrays):
        change()


def test_names() -> None:
    found = save(State(), "s", set())
    assert list(found) == [
        "s.steps", "s.rate", "s.means", "s.slots['m'][0]:variable", "s.slots['m'][1]",
        "s.slots[7]", "s.rng:generator", "s.inner.scale",
    ]  # fmt: skip
    assert found["s.rate"].dtype == np.float32 and found["s.steps"] == 3


def test_saved_attributes_restrict_the_state() -> None:
    class Chosen(State):
        saved_attributes = ("steps",)

    assert list(save(Chosen(), "s", set())) == ["s.steps"]


def test_weights_are_excluded() -> None:
    state = State()
    apart = {id(state.slots["m"][0])}
    assert not any(":variable" in name for name in save(state, "s", apart))


def test_round_trip() -> None:
    state, other = State(), State()
    state.steps, state.rate, state.means = 9, np.float32(0.25), np.array([[5.0]])
    state.slots["m"][0].assign([8.0, 9.0])
    state.slots["m"][1] = 6.0
    state.slots["m"].append(np.arange(3))
    state.slots["v"] = s2s.Variable(1.5)
    state.inner.scale = -1.0
    state.rng.random(3)
    kept = other.slots["m"][0]
    pending(other, save(state, "s", set()))
    assert (other.steps, other.inner.scale, other.slots["m"][1]) == (9, -1.0, 6.0)
    assert type(other.steps) is int and type(other.rate) is np.float32 and other.rate == 0.25
    np.testing.assert_array_equal(other.means, [[5.0]])
    assert other.slots["m"][0] is kept  # assigned in place
    np.testing.assert_array_equal(kept, [8.0, 9.0])
    np.testing.assert_array_equal(other.slots["m"][2], np.arange(3))
    assert isinstance(other.slots["v"], s2s.Variable) and other.slots["v"].numpy() == 1.5
    assert other.rng.random() == state.rng.random()


def test_arrays_of_other_names_are_left() -> None:
    state = State()
    pending(state, {"t.steps": np.array(5), "sx.steps": np.array(5)})
    assert state.steps == 3


@pytest.mark.parametrize(
    "label, array, message",
    [
        ("s.absent", np.array(1), "has s.absent, and the object has not"),
        ("s.slots['m'][9]", np.array(1), "and the object has not"),
        ("s.steps", np.ones(2), r"s.steps is of dtype float64 and shape \(2,\).* int in the obj"),
        ("s.means", np.array(["a"]), "ndarray in the object"),
        ("s.slots['m'][0]", np.ones(3), "Variable in the object"),
        ("s.slots['m'][0]:variable", np.ones(2, complex), "Variable in the object"),
        ("s.rng:generator", np.ones(3), "not the state of a random generator"),
        ("s.steps:generator", np.array(1), "int in the object"),
        ("s.a\nb", np.array(1), "no name of a part of a state"),
        ("s.slots['\\x']", np.array(1), "no name of a part of a state"),
    ],
)
def test_what_does_not_fit_is_refused(label: str, array: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(State(), "s", set(), {label: array})


def test_keys_that_mean_nothing_in_another_run() -> None:
    state = State()
    state.slots = {id(state) + 2**40: 1.0}
    with pytest.raises(ValueError, match="a dict with the key .*use names or positions"):
        save(state, "s", set())


def test_everything_is_restored_after_an_error() -> None:
    state = State()
    slots, moments = state.slots, state.slots["m"]
    with pytest.raises(RuntimeError), rollback_on_error([state], set()):
        state.steps = 99
        state.extra = 1  # type: ignore[attr-defined]
        state.inner.scale = 0.0
        slots["new"] = 1.0
        moments.append(5.0)
        raise RuntimeError
    assert state.steps == 3 and not hasattr(state, "extra") and state.inner.scale == 2.0
    assert list(slots) == ["m", 7] and len(moments) == 2
    with rollback_on_error([state], set()):
        state.steps = 4
    assert state.steps == 4


# ---------------------------------------------------------------- generators


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators(kind: str) -> None:
    generator, other = (np.random.Generator(getattr(np.random, kind)(s)) for s in (1, 2))
    generator.integers(0, 9, 5, dtype=np.int32)
    state = generator_state(generator)
    want = generator.normal(size=4)
    set_generator(other, state)
    np.testing.assert_array_equal(other.normal(size=4), want)


def test_a_state_of_another_kind_changes_nothing() -> None:
    generator, other = np.random.default_rng(1), np.random.Generator(np.random.MT19937(1))
    before = generator.bit_generator.state
    with pytest.raises(ValueError, match="of a MT19937 was saved, and this generator is a PCG64"):
        change_of_generator(generator, generator_state(other))
    for key, value in (("state", {"state": -1, "inc": 1}), ("has_uint32", 2), ("uinteger", "1")):
        damaged = json.dumps({**before, key: value}).encode()
        with pytest.raises(ValueError, match="is malformed"):
            change_of_generator(generator, np.frombuffer(damaged, "u1"))
    state = json.loads(generator_state(other).tobytes())
    for key in ([1, 2, 3], [-1] * 624, [2**32] * 624, [0.5] * 624, "key"):
        damaged = json.dumps({**state, "state": {"key": key, "pos": 1}}).encode()
        with pytest.raises(ValueError, match="is malformed"):
            change_of_generator(other, np.frombuffer(damaged, "u1"))
    change_of_generator(generator, generator_state(np.random.default_rng(2)))  # not applied yet
    assert generator.bit_generator.state == before
