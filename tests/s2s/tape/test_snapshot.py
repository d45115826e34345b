"""The snapshot of a block's inputs: what is recorded, what is restored, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.errors import UnsupportedError
from s2s.tape.snapshot import InputSnapshot

NUMBER = 2.0


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


class Thing:
    factor = 3.0

    def __init__(self) -> None:
        self.scale = 2.0
        self.rows = [1.0, 2.0]


# ---------------------------------------------------------------- restored


def recorded(*values: Any) -> InputSnapshot:
    world = InputSnapshot({f"v{k}": v for k, v in enumerate(values)})
    for value in values:
        world._record_contents(value, set())
    return world


def test_containers_and_objects_are_restored_and_put_back() -> None:
    thing, items, table = Thing(), [1.0, [2.0]], {"a": 1.0}
    world = recorded(thing, items, table)
    inner = items[1]
    thing.scale, thing.extra = 9.0, 1.0  # type: ignore[attr-defined]
    items.append(3.0), inner.append(4.0)  # type: ignore[union-attr]
    table["b"] = table.pop("a")
    with world.restored():
        assert thing.scale == 2.0 and not hasattr(thing, "extra")
        assert items == [1.0, [2.0]] and items[1] is inner and table == {"a": 1.0}
    assert thing.scale == 9.0 and thing.extra == 1.0  # type: ignore[attr-defined]
    assert items == [1.0, [2.0, 4.0], 3.0] and table == {"b": 1.0}


def test_put_back_after_an_error() -> None:
    items = [1.0]
    world = recorded(items)
    items.append(2.0)
    with pytest.raises(RuntimeError), world.restored():
        assert items == [1.0]
        raise RuntimeError
    assert items == [1.0, 2.0]


def test_globals_and_class_attributes() -> None:
    world = InputSnapshot({})
    world.items.append((globals(), "NUMBER", NUMBER))
    world._record_location(Thing(), (".", "factor"), Thing.factor)
    globals()["NUMBER"] = 5.0
    Thing.factor = 7.0
    try:
        with world.restored():
            assert NUMBER == 2.0 and Thing.factor == 3.0
        assert NUMBER == 5.0 and Thing.factor == 7.0
    finally:
        globals()["NUMBER"], Thing.factor = 2.0, 3.0


def test_names_that_were_unset() -> None:
    table: dict[str, Any] = {}
    world = InputSnapshot({})
    world.items.append((table, "a", 1.0))
    with world.restored():
        assert table == {"a": 1.0}
    assert table == {}


def test_the_global_random_generator() -> None:
    world = InputSnapshot({})
    np.random.seed(0)
    world.legacy = np.random.get_state()
    first, second = np.random.rand(), np.random.rand()
    with world.restored():
        assert np.random.rand() == first
    assert np.random.rand() not in (first, second)


def test_variables_are_copied_before_their_first_change_only() -> None:
    variable, other = s2s.Variable([1.0]), s2s.Variable([1.0])
    world = InputSnapshot({})
    world.variables[id(variable._array)] = variable._array
    for value in (2.0, 3.0):
        world.before_change(variable._array)
        world.before_change(other._array)
        variable._array[:] = value
    ((array, then),) = world.kept.values()
    assert array is variable._array and then.tolist() == [1.0]


# ---------------------------------------------------------------- by tapes


def test_arrays_that_are_written_to_afterwards() -> None:
    x = np.array([1.0, 2.0])
    with s2s.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x**3)
    x[:] = 10.0
    np.testing.assert_array_equal(tape.gradient(y, x), [3.0, 12.0])
    np.testing.assert_array_equal(x, [10.0, 10.0])


def test_generators_draw_again_what_the_block_drew() -> None:
    rng, x = np.random.default_rng(0), s2s.Variable([1.0, 1.0])
    with s2s.GradientTape() as tape:
        kept = rng.random(2)
        y = np.sum(x * kept)
    state = rng.bit_generator.state
    np.testing.assert_allclose(tape.gradient(y, x), kept, rtol=1e-6)
    assert rng.bit_generator.state == state


def test_lists_that_change_afterwards() -> None:
    x, powers = s2s.Variable(2.0), [1, 2]
    with s2s.GradientTape() as tape:
        y = sum(x**p for p in powers) * 1.0
    powers.append(5)
    assert tape.gradient(y, x) == 5.0 and powers == [1, 2, 5]


def test_what_cannot_be_read_is_refused_when_a_gradient_is_asked_for() -> None:
    x = s2s.Variable(2.0)
    with s2s.GradientTape() as tape:
        y = x * float(open(__file__).read(3) == '"""')
    assert y == 2.0
    with pytest.raises(UnsupportedError) as info:
        tape.gradient(y, x)
    assert "move this line out of the tape's block" in str(info.value)
