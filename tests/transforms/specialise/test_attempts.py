"""An attempt that fails at any operation leaves every part as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.builder import Builder
from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise import specialise
from s2s.transforms.specialise.places import NeedUnroll
from s2s.transforms.specialise.session import KEPT, Session, owned

FUNCTIONS = (lambda v: np.sum(v * v), lambda v: np.sum(v * 3.0))


def lists_in_a_loop(x):
    a = x.copy()
    s = 0.0
    for i in range(2):
        t = [x, x]
        if i == 0:
            t.append(a)
        s += len(t) * FUNCTIONS[i](x)
    a[0] = 1.0
    return s + np.sum(a)


def dict_in_a_loop(x):
    held = {"s": 0.0}
    for i in range(3):
        held["s"] += x[i]
        held[i] = x[i] * 2.0
    return held["s"] * held[1]


def iterator_left_by_a_loop(x):
    rest = iter(x)
    s = 0.0
    for v in rest:
        if v > 1.0:
            break
        s += v
    for a, b in zip(rest, (2.0, 3.0)):
        s += a * b
    return s + next(rest, 4.0)


def while_with_effects(x):
    seen = [x[0]]
    k = 0
    while k < 2 and (k := k + 1) and 0.0 < x[k] < 9.0:
        seen.append(x[k])
    scale = lambda v: v * seen[-1]  # noqa: E731
    return scale(sum(seen)) if len(seen) > 1 else x[0]


PROGRAMS = (lists_in_a_loop, dict_in_a_loop, iterator_left_by_a_loop, while_with_effects)


def run(function: Any) -> None:
    x = np.array([0.5, 2.0, 3.0])
    specialise(function, {"x": describe(x)}, {"x": x})


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
        (
            name,
            id(holder),
            id(value),
            value.copy() if isinstance(value, (list, dict, set)) else None,
        )
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
            if changed:
                raise RuntimeError(f"not as before: {changed}")

        monkeypatch.setattr(Builder, "emit", failing_emit)
        monkeypatch.setattr(Session, "checkpoint", noted_checkpoint)
        monkeypatch.setattr(Session, "rollback", checked_rollback)


@pytest.mark.parametrize("function", PROGRAMS)
def test_every_part_is_as_before(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        whole = Failing(patch, 0)
        run(function)
    rollbacks = whole.rollbacks
    for at in range(1, whole.count + 1):
        with monkeypatch.context() as patch:
            failing = Failing(patch, at)
            try:
                run(function)
            except S2SError:
                pass  # it is refused, for it has no other way
            except NeedUnroll as error:
                raise AssertionError("not caught") from error
            rollbacks += failing.rollbacks
    assert rollbacks > whole.count // 2
