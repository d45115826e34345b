"""The garbage collector is paused while the compiler runs, and its state is restored."""

from __future__ import annotations

import gc
import sys
import types

import pytest

from s2s.runtime import gc_pause


class Ring:
    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def collecting():
    gc.enable()
    yield
    gc.unfreeze()
    gc.enable()


def test_what_is_left_behind_is_collected_at_the_end() -> None:
    gone: list[int] = []
    with gc_pause.paused():
        assert not gc.isenabled()
        with gc_pause.paused():
            for _ in range(2000):
                Ring()
        assert not gc.isenabled()
        gc.callbacks.append(lambda phase, info: gone.append(info["collected"]))
    gc.callbacks.pop()
    assert gc.isenabled() and max(gone) >= 2000


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    with gc_pause.paused():
        pass
    assert not gc.isenabled()


@pytest.mark.parametrize("frozen", [False, True])
def test_modules_that_are_imported_count_as_old(monkeypatch, frozen: bool) -> None:
    gc.disable()
    if frozen:
        gc.freeze()
    before = gc.get_freeze_count()
    with gc_pause.promote_imported():
        monkeypatch.setitem(sys.modules, "s2s_old", types.ModuleType("s2s_old"))
        kept = [[] for _ in range(1000)]
    # Other threads may have freed frozen objects; none was added.
    assert gc.get_freeze_count() <= before
    assert (gc.get_count()[0] >= 500) == frozen and len(kept) == 1000


def test_nothing_is_moved_if_nothing_is_imported() -> None:
    gc.disable()
    gc.collect()
    with gc_pause.promote_imported():
        kept = [[] for _ in range(1000)]
    assert gc.get_count()[0] >= 500 and len(kept) == 1000
