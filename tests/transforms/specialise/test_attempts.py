"""A failed attempt to specialise leaves nothing behind."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.frontend.derivative_spec import Derived
from s2s.transforms.frontend.source import Source
from s2s.transforms.ir.nodes import Origin
from s2s.transforms.specialise.attempts import KEPT
from s2s.transforms.specialise.specialiser import Specialiser
from s2s.transforms.specialise.values import State
from s2s.transforms.syntax import core

# Attributes of these kinds are replaced as a whole, never changed in place.
FIXED = (
    type(None), bool, int, str, tuple, frozenset, core.Node, Source, Origin, Derived,
    types.FunctionType,
)  # fmt: skip


class Probed(Exception):
    pass


def probe(specialiser: Specialiser) -> None:
    """Changes everything after a checkpoint, and looks at it after the rollback."""
    parts = list(specialiser.attempt_parts())
    before = {}
    for part in parts:
        for name, value in vars(part).items():
            if name not in KEPT:
                content = value.copy() if isinstance(value, (list, dict, set)) else value
                before[id(part), name] = part, value, content
    saved = specialiser.checkpoint()
    names = set(specialiser.state.env)
    specialiser.state.env["junk"] = None
    junk = object()
    for _, value, _ in list(before.values()):
        if isinstance(value, list):
            value.append(junk)
        elif isinstance(value, dict):
            value["junk"] = junk
        elif isinstance(value, set):
            value.add(junk)
    for (_, name), (part, value, _) in before.items():
        if not isinstance(value, (list, dict, set)):
            setattr(part, name, junk)
    specialiser.rollback(saved)
    for (_, name), (part, value, content) in before.items():
        where = f"{type(part).__name__}.{name}"
        now = getattr(part, name)
        if isinstance(value, State):
            assert set(now.env) == names, where
        elif isinstance(value, (list, dict, set)):
            assert now is value and now == content, where
        else:
            assert now is value, where
            known = isinstance(value, FIXED) or any(value is p for p in parts)
            assert known or callable(value), f"{where}: can {type(value)} change in place?"


def test_every_attribute_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    def body(self: Specialiser, frame: Any) -> Any:
        probe(self)
        raise Probed

    monkeypatch.setattr(Specialiser, "_body", body)
    with pytest.raises((Probed, s2s.InternalCompilerError)) as caught:
        s2s.function(lambda x: x * 2.0, backend="loops")(1.0)
    cause = caught.value.__cause__ or caught.value
    assert isinstance(cause, Probed), cause


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
