"""Names of Variables without a gradient, for messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.objects.unconnected import missing_text, remember

A, B, C = (s2s.Variable(0.0, name=name) for name in "abc")


@pytest.mark.parametrize(
    "sources, gradients, text",
    [
        ([A, B, C], [None, 1.0, None], ": the target does not depend on a, c"),
        ({"x": A, "y": [B]}, {"x": None, "y": [None]}, ": the target does not depend on a, b"),
        (A, None, ": the target does not depend on a"),
        ([A, np.ones(1)], [1.0, None], ""),
        ([A, (B,)], [None, None], ": the target does not depend on a"),
        ({"x": A}, [None], ""),
    ],
)
def test_names(sources: Any, gradients: Any, text: str) -> None:
    remember(sources, gradients)
    assert missing_text() == text


def test_the_last_record_replaces_the_one_before() -> None:
    remember([A], [None])
    remember([A], [1.0])
    assert missing_text() == ""


def test_names_of_a_compiled_step_and_their_number() -> None:
    remember([A], [None])
    assert missing_text(["u", "v"]) == ": the target does not depend on u, v"
    assert missing_text(list("uvwxyz")).endswith(" on u, v, w, x") and missing_text([]) == ""
