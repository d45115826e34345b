"""Tapes are notified of reads while they are open, and of changes while they are alive."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.objects import variable_versions


class Listener:
    def __init__(self) -> None:
        self.read: list[str] = []
        self.old: list[Any] = []

    def accessed(self, variable: Any) -> None:
        self.read.append(variable.name)

    def before_change(self, array: Any) -> None:
        self.old.append(array.copy())


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    variable_versions.follow(made)
    yield made
    if made in variable_versions._open:
        variable_versions.close(made)


def test_reads(listener: Listener) -> None:
    v = s2s.Variable([1.0, 2.0], name="v")
    for read in (
        lambda: v + 1.0, lambda: np.sum(v), lambda: v[0], lambda: v.numpy(), lambda: v.sum(),
        lambda: np.asarray(v), lambda: float(s2s.Variable(1.0, name="v")), lambda: v.assign([1, 2]),
    ):  # fmt: skip
        listener.read.clear()
        read()
        assert set(listener.read) == {"v"}
    listener.read.clear()
    assert v.shape == (2,) and v.dtype == np.float32 and v.trainable and listener.read == []


def test_no_reads_after_close(listener: Listener) -> None:
    variable_versions.close(listener)
    _ = s2s.Variable([1.0]) + 1.0
    assert listener.read == []


def test_changes_until_the_tape_is_gone(listener: Listener) -> None:
    v = s2s.Variable([1.0, 2.0])
    variable_versions.close(listener)
    v.assign([3.0, 4.0])
    v[0] = 5.0
    v.assign_add([1.0, 1.0])
    v.sort()
    assert [old.tolist() for old in listener.old] == [
        [1.0, 2.0], [3.0, 4.0], [5.0, 4.0], [6.0, 5.0],
    ]  # fmt: skip


def test_tapes_are_not_kept_alive() -> None:
    gc.collect()
    before = len(variable_versions.tapes)
    made = Listener()
    variable_versions.follow(made)
    variable_versions.close(made)
    assert len(variable_versions.tapes) == before + 1
    del made
    gc.collect()
    assert len(variable_versions.tapes) == before
    variable_versions.before_change(np.ones(1))


def test_a_refused_change_notifies_nobody(listener: Listener) -> None:
    v = s2s.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="the new value"):
        v.assign([1.0])
    assert listener.old == []
