"""Why a specialisation was compiled: readable types, the innermost difference, the failed guard."""

from __future__ import annotations

import types
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.dispatch.recompile_reason import FIRST_CALL_REASON, spec_text, type_change, why_compiled
from s2s.transforms.frontend.pytree import describe

Pair = namedtuple("Pair", "a b")


@dataclass
class Data:
    w: Any


class Thing:
    pass


def readonly() -> Any:
    made = np.ones(2)
    made.flags.writeable = False
    return made


@pytest.mark.parametrize(
    "value, text",
    [
        (np.ones(2), "float64[:]"), (np.ones((2, 2), np.float32), "float32[:, :]"),
        (np.ones(()), "float64[]"), (np.ones(4)[::2], "float64[:] (not contiguous)"),
        (readonly(), "float64[:] (read-only)"),
        (readonly().repeat(2), "float64[:]"), (1.5, "float"), (2, "int"), (True, "bool"),
        (np.float32(1.0), "float32"), (np.float64(1.0), "float64"), ((1.0, 2), "a tuple of 2"),
        ([], "a list of 0"), (Pair(1, 2), "a Pair of 2"), (Data(1.0), "a Data of 1"),
        ("a", "'a'"), (None, "None"), (Thing(), "another Thing"),
        (np.random.default_rng(0), "a Generator"),
        (np.zeros(2, [("x", "f8")]), "a structured array of 1 dimensions"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)  # fmt: skip
def test_texts(value: Any, text: str) -> None:
    assert spec_text(describe(value)) == text


def change(before: Any, now: Any) -> str:
    return type_change({"x": describe(before)}, {"x": describe(now)})


@pytest.mark.parametrize(
    "before, now, text",
    [
        (1.0, 2.0, ""),
        (1.0, 2, "x is int, and was float before"),
        (np.ones(2), np.ones((2, 2)), "x is float64[:, :], and was float64[:] before"),
        ((1.0, [np.ones(2), 2]), (1.0, [np.ones(2), 2.5]), "x[1][1] is float, and was int before"),
        ({"w": 1.0}, {"w": np.float32(1)}, "x['w'] is float32, and was float before"),
        (Pair(1.0, 2), Pair(1.0, 2.0), "x.b is float, and was int before"),
        (Data(1.0), Data(None), "x.w is None, and was float before"),
        ((1.0,), (1.0, 2.0), "x is a tuple of 2, and was a tuple of 1 before"),
        ([1.0], (1.0,), "x is a tuple of 1, and was a list of 1 before"),
    ],
)
def test_differences(before: Any, now: Any, text: str) -> None:
    assert change(before, now) == text


def test_the_first_argument_that_differs() -> None:
    before = {"x": describe(1.0), "y": describe(1.0), "gone": describe(1)}
    now = {"new": describe(1), "x": describe(1.0), "y": describe(2)}
    assert type_change(before, now) == "y is int, and was float before"


def test_reasons() -> None:
    def entry(value: Any) -> Any:
        guard = lambda args: f"the guard on {args}"  # noqa: E731
        return types.SimpleNamespace(specs={"x": describe(value)}, broken_guard=guard)

    assert why_compiled([], None, entry(1.0), ()) == FIRST_CALL_REASON
    assert why_compiled([], entry(1.0), entry(2), ()) == "x is int, and was float before"
    assert why_compiled([], entry(1.0), entry(2.0), ()) == "an argument is of a new type"
    known = [entry(1.0), entry(1.0)]
    assert why_compiled(known, entry(2), entry(1.0), (5,)) == "what changed is the guard on (5,)"


def test_reasons_of_a_function() -> None:
    f = s2s.function(lambda x: x * 2.0, backend="loops")
    f(1.0), f(2.0), f(np.ones(2)), f(np.ones(3)), f(np.ones(2, np.float32))
    assert list(f._specialiser("primal").reasons) == [
        FIRST_CALL_REASON,
        "x is float64[:], and was float before",
        "x is float32[:], and was float64[:] before",
    ]
