"""Programs in place of functions of other libraries."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from s2s.transforms.frontend import replacements
from s2s.transforms.frontend.pytree import follow


@pytest.fixture(autouse=True)
def own_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacements, "FUNCTIONS", [])
    monkeypatch.setattr(replacements, "PROGRAMS", [])


def first(x): ...
def second(x): ...  # fmt: skip
def third(x): ...  # fmt: skip


def reached(function: Any) -> Any:
    """What the path of a replacement leads to."""
    found = replacements.replacement(function)
    assert found is not None
    program, ((root, module), *steps) = found
    assert root == "module" and follow(sys.modules[module], tuple(steps)) is program
    return program


def test_none() -> None:
    assert replacements.replacement(first) is None


def test_the_path_leads_to_the_program() -> None:
    replacements.replace_calls(first, second)
    replacements.replace_calls(second, third)
    assert reached(first) is second and reached(second) is third
    assert replacements.replacement(third) is None


def test_a_new_program_takes_the_place_of_the_old() -> None:
    replacements.replace_calls(first, second)
    replacements.replace_calls(second, third)
    path = replacements.replacement(first)
    replacements.replace_calls(first, third)
    assert reached(first) is third and len(replacements.PROGRAMS) == 2
    now = replacements.replacement(first)
    assert path is not None and now is not None and path[1] == now[1]


def test_functions_are_told_apart_by_identity() -> None:
    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    one, other = Equal(), Equal()
    replacements.replace_calls(one, first)
    assert replacements.replacement(other) is None and reached(one) is first
