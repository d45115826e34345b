"""The registry of routines: the compiled version by rank, and nothing for other functions."""

from __future__ import annotations

import pytest

from s2s.kernels import registry


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_COMPILED", {})


def routine(a, b):
    return a + b


def test_a_routine_of_one_form() -> None:
    registry.register(routine, "compiled")
    assert (
        registry.compiled_form(routine, (1, 2)) == registry.compiled_form(routine, ()) == "compiled"
    )


def test_forms_by_rank() -> None:
    registry.register_by_rank(routine, 1, "vector", "matrix")
    assert registry.compiled_form(routine, (2, 1)) == "vector"
    assert (
        registry.compiled_form(routine, (1, 2))
        == registry.compiled_form(routine, (1, 0))
        == "matrix"
    )


def test_others_have_none() -> None:
    for thing in (len, routine, 3, "text", None, [1], {}):
        assert registry.compiled_form(thing, (1,)) is None
