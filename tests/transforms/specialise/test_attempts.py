"""An attempt that fails at any operation leaves every part as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from s2s.transforms.ir.builder import Builder
from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.places import NeedUnroll
from s2s.transforms.specialise.session import KEPT, Session, owned
from tests.corpus import load
from tests.transforms.batches import specialised

PROGRAMS = ("fill_in_loop", "stacks", "while_else")
# How many operations of a program fail in turn.
FAILURES = 8


def attributes(session: Session) -> Iterator[tuple[Any, str, Any]]:
    """All that parts and the session own: (holder, name, value)."""
    for part in session.parts:
        yield from ((part, name, getattr(part, name)) for name in owned(type(part)))
        for holder in part.holders():
            yield from ((holder, name, value) for name, value in vars(holder).items())
    for holder in (session.b, session.b.names, session.b.facts, session.shared):
        yield from ((holder, name, v) for name, v in vars(holder).items() if name not in KEPT)
    yield session, "params", session.params


def picture(session: Session) -> list[tuple[Any, ...]]:
    """What all attributes are, with the content of containers, and the names and the heap."""
    found: list[tuple[Any, ...]] = [
        (name, id(holder), id(value), list(value) if isinstance(value, (list, dict, set)) else None)
        for holder, name, value in attributes(session)
        if name != "memo"
    ]
    state = session.state
    found.append(("names", [dict(env) for env in state.envs]))
    found.append(("heap", dict(state.heap), set(state.pairs)))
    found.append(("block", id(session.b.block), len(session.b.block)))
    return found


class Failing:
    """Raises NeedUnroll at one operation, and compares after every rollback."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.at, self.count, self.rollbacks = at, 0, 0
        pictures: dict[int, tuple[Any, list[tuple[Any, ...]]]] = {}
        emit, checkpoint, rollback = Builder.emit, Session.checkpoint, Session.rollback

        def failing_emit(b: Builder, *args: Any, **kwargs: Any) -> Any:
            self.count += 1
            if self.count == self.at:
                raise NeedUnroll(S2SError("this operation fails"))
            return emit(b, *args, **kwargs)

        def noted_checkpoint(session: Session) -> Any:
            saved = checkpoint(session)
            pictures[id(saved)] = saved, picture(session)
            return saved

        def checked_rollback(session: Session, saved: Any) -> None:
            rollback(session, saved)
            self.rollbacks += 1
            pairs = zip(pictures[id(saved)][1], picture(session), strict=True)
            changed = [old[0] for old, new in pairs if old != new]
            assert not changed

        monkeypatch.setattr(Builder, "emit", failing_emit)
        monkeypatch.setattr(Session, "checkpoint", noted_checkpoint)
        monkeypatch.setattr(Session, "rollback", checked_rollback)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_part_is_as_before(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = load()[name]
    with monkeypatch.context() as patch:
        whole = Failing(patch, 0)
        specialised(case, case.trips[-1])
    rollbacks = whole.rollbacks
    for at in range(1, whole.count + 1, max(1, whole.count // FAILURES)):
        with monkeypatch.context() as patch:
            failing = Failing(patch, at)
            try:
                specialised(case, case.trips[-1])
            except AssertionError:
                raise
            except Exception as error:  # the program is refused, or fails in another way
                assert failing.count >= at, error
            rollbacks += failing.rollbacks
    assert rollbacks > 0


def test_attempts_do_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above sees rollbacks: a loop over a known range is written out."""
    case = load()["fill_in_loop"]
    found = 0
    for at in range(1, 12):
        with monkeypatch.context() as patch:
            failing = Failing(patch, at)
            try:
                specialised(case, case.trips[-1])
            except S2SError:
                pass
            found += failing.rollbacks
    assert found > 0
