"""The tables of operations and functions: one entry per name, and entries that are complete."""

from __future__ import annotations

import inspect

import pytest

from s2s.transforms.ir.op_registry import NeedStatic, Rule, register, surface
from s2s.transforms.rules import RULES, SURFACES

KINDS = {
    "elementwise", "reduce", "scan", "contract", "view", "index", "update", "create", "join",
    "list", "query", "opaque",
}  # fmt: skip


def test_a_name_is_registered_once() -> None:
    with pytest.raises(AssertionError, match="sin"):
        register(Rule("sin", "elementwise", lambda *args: None))  # type: ignore[arg-type]
    before = SURFACES["numpy.sum"]
    with pytest.raises(AssertionError, match=r"numpy\.sum"):
        surface("numpy.sum")(lambda b: None)
    assert SURFACES["numpy.sum"] is before


def test_one_function_may_serve_several_paths() -> None:
    def both(b):  # type: ignore[no-untyped-def]
        return b

    try:
        assert surface("test.one", "test.two")(both) is both
        assert SURFACES["test.one"] is SURFACES["test.two"] is both
    finally:
        del SURFACES["test.one"], SURFACES["test.two"]


@pytest.mark.parametrize("name", sorted(RULES))
def test_rules_are_what_their_fields_say(name: str) -> None:
    """An operation is found under its name; its kind selects a lowering; one with a derivative
    has both modes."""
    rule = RULES[name]
    assert rule.name == name and rule.kind in KINDS
    assert callable(rule.infer)
    assert rule.partials is None or rule.kind == "elementwise"
    assert (rule.pullback is None) == (rule.pushforward is None)
    if rule.differentiable is not None:
        assert list(rule.differentiable) == sorted(set(rule.differentiable))


def test_functions_take_the_builder_first() -> None:
    for path, f in SURFACES.items():
        parameters = list(inspect.signature(f).parameters.values())
        assert parameters, path
        assert parameters[0].kind in (
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.VAR_POSITIONAL,
        ), path


def test_a_value_that_must_be_static_is_named() -> None:
    error = NeedStatic("x", "the axis of a sum")
    assert (error.sym, error.what, str(error)) == ("x", "the axis of a sum", "the axis of a sum")
