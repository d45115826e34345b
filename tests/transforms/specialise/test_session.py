"""A failed attempt to specialise leaves nothing behind."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.frontend.derivative_spec import Derived
from s2s.transforms.frontend.source import Source
from s2s.transforms.ir.nodes import Origin
from s2s.transforms.specialise.driver import Specialiser
from s2s.transforms.specialise.frames import Frames
from s2s.transforms.specialise.session import KEPT, Part, Session, owned
from s2s.transforms.syntax import core

# Attributes of these kinds are replaced as a whole, never changed in place.
FIXED = (
    type(None), bool, int, str, tuple, frozenset, core.Node, Source, Origin, Derived,
    types.FunctionType, types.MethodType, Part, Specialiser,
)  # fmt: skip


class Probed(Exception):
    pass


def attributes(session: Session) -> Iterator[tuple[Any, str]]:
    """Everything that changes while a program is specialised, but for the names and the heap."""
    b = session.b
    for holder in (b, b.names, b.facts, session.shared):
        yield from ((holder, name) for name in vars(holder) if name not in KEPT)
    yield session, "params"
    yield session, "given_ints"
    for part in session.parts:
        yield from ((part, name) for name in owned(type(part)))
        for holder in part.holders():
            yield from ((holder, name) for name in vars(holder))


def probe(session: Session) -> None:
    """Changes everything after a checkpoint, and looks at it after the rollback."""
    before = []
    for holder, name in attributes(session):
        value = getattr(holder, name)
        content = value.copy() if isinstance(value, (list, dict, set)) else value
        before.append((holder, name, value, content))
    saved = session.checkpoint()
    names = set(session.state.env)
    session.state.env["junk"] = None
    junk = object()
    for holder, name, value, _ in before:
        if isinstance(value, list):
            value.append(junk)
        elif isinstance(value, dict):
            value["junk"] = junk
        elif isinstance(value, set):
            value.add(junk)
        else:
            setattr(holder, name, junk)
    session.rollback(saved)
    assert set(session.state.env) == names
    for holder, name, value, content in before:
        where = f"{type(holder).__name__}.{name}"
        now = getattr(holder, name)
        if isinstance(value, (list, dict, set)):
            assert now is value and now == content, where
        else:
            assert now is value, where
            parts = (session.b, session.b.names, session.b.facts)
            known = isinstance(value, FIXED) or any(value is p for p in parts)
            assert known, f"{where}: can {type(value)} change in place?"


def test_every_attribute_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_body(self: Frames, frame: Any) -> Any:
        probe(self.session)
        raise Probed

    monkeypatch.setattr(Frames, "run_body", run_body)
    with pytest.raises((Probed, s2s.InternalCompilerError)) as caught:
        s2s.function(lambda x: x * 2.0, backend="loops")(1.0)
    cause = caught.value.__cause__ or caught.value
    assert isinstance(cause, Probed), cause


def test_parts_have_no_undeclared_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Specialiser] = []
    original = Specialiser.run_main

    def run_main(self: Specialiser, args: Any) -> Any:
        made.append(self)
        return original(self, args)

    monkeypatch.setattr(Specialiser, "run_main", run_main)
    s2s.grad(written_after_a_loop, backend="loops")(np.ones(3))
    parts = [p for e in made for p in e.parts.made.values()]
    assert len(parts) > 40
    for part in parts:
        assert set(vars(part)) <= {f.name for f in fields(type(part))}, type(part)


FUNCTIONS = (lambda v: np.sum(v * v), lambda v: np.sum(v * 3.0))


def written_after_a_loop(x):
    """As a loop at run time, the list has one of two lengths, and `a` is an element of it; then
    the loop is written out, for it takes one function after the other."""
    a = x.copy()
    s = 0.0
    for i in range(2):
        t = [x, x]
        if i == 0:
            t.append(a)
        s += len(t) * FUNCTIONS[i](x)
    a[0] = 1.0
    return s + np.sum(a)


def test_a_legal_program_is_not_refused_for_what_was_tried() -> None:
    x = np.array([0.5, 2.0, 3.0])
    f = s2s.function(written_after_a_loop, backend="loops")
    assert f(x) == written_after_a_loop(x)
    expected = 6.0 * x + 6.0 + np.array([0.0, 1.0, 1.0])
    np.testing.assert_allclose(s2s.grad(written_after_a_loop, backend="loops")(x), expected)
