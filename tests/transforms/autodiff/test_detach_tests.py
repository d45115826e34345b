"""Tests of `while` loops: derivatives flow through the copy in the body, not through the test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.activity import activity
from s2s.transforms.autodiff.detach_tests import detach_tests
from s2s.transforms.ir.builder import NameSupply
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import (
    Draw,
    Function,
    Module,
    While,
    blocks_of,
    targets_of,
    walk,
)
from s2s.transforms.ir.scopes import names_of
from tests.transforms.programs import F8, Program, program, run


def detached(module: Module, *wrt: str) -> tuple[Function, Any]:
    main = module.main
    return detach_tests(main, wrt, main.results[:1], NameSupply(names_of(main)))


def loop_in_test(draw: bool = False) -> Module:
    """while (t := s (s x)^2) < y: s = s + sin(t) / 2 + 0.3, the product computed by a loop."""

    def build(p: Program, x: Any, y: Any) -> Any:
        def test(s: Any) -> Any:
            def product(i: Any, t: Any) -> Any:
                if draw:
                    p.block.append(Draw([p.var(F8, "r")], None, "standard_normal", ()))
                return [t * s * x]

            (t,) = p.loop(2, [s], product)
            return [t < y, t]

        (s,) = p.repeat([x], test, lambda t, s: [s + np.sin(t) * 0.5 + 0.3], names=["s"])
        return s

    return program({"x": F8, "y": F8}, build)


def active_in_nested_tests(function: Function, active: Any) -> list[str]:
    return [
        v.name
        for loop in walk(function.body)
        if isinstance(loop, While)
        for t in loop.test
        for block in blocks_of(t)
        for s in walk(block)
        for v in targets_of(s)
        if v in active
    ]


def test_no_value_nested_in_a_test_is_active_afterwards() -> None:
    module = loop_in_test()
    before = activity(module.main, ("x",), module.main.results)
    assert active_in_nested_tests(module.main, before)
    function, active = detached(module, "x")
    assert not active_in_nested_tests(function, active)
    assert "x" in active.values


@pytest.mark.parametrize("y", [0.1, 0.9, 2.0, 6.0])
def test_the_value_is_the_same(y: float) -> None:
    module = loop_in_test()
    function, _ = detached(module, "x")
    assert run(Module({"f": function}, "f"), 0.7, y) == run(module, 0.7, y)
    names = [n for n in names_of(function) if n]
    assert len(names) == len(set(names))


def test_the_loop_keeps_its_test_and_early_exit() -> None:
    def build(p: Program, x: Any) -> Any:
        def test(s: Any) -> Any:
            (t,) = p.branch(s > 0.0, lambda: [s * x], lambda: [s])
            return [t < 9.0, t]

        def until(s: Any) -> Any:
            return s > 4.0

        return p.repeat([x], test, lambda t, s: [s + t], until)[0]

    module = program({"x": F8}, build)
    function, _ = detached(module, "x")
    (old,), (new,) = (
        [s for s in walk(f.body) if isinstance(s, While)] for f in (module.main, function)
    )
    assert new.test == old.test and new.cond == old.cond
    assert len(new.body) > len(old.body) and len(old.carried) == len(new.carried)
    for x in (0.5, 1.5, 3.0, 20.0):
        assert run(Module({"f": function}, "f"), x) == run(module, x)


def test_straight_tests_stay_as_they_are() -> None:
    """The sweep handles what is not nested."""

    def build(p: Program, x: Any) -> Any:
        return p.repeat([x], lambda s: [np.sin(s) < 0.9, s], lambda t, s: [s + t])[0]

    module = program({"x": F8}, build)
    function, active = detached(module, "x")
    assert function is module.main and "x" in active.values


def test_inactive_tests_stay_as_they_are() -> None:
    module = loop_in_test()
    function, active = detached(module, "y")
    assert function is module.main and not active.values


def test_random_numbers_are_not_drawn_a_second_time() -> None:
    with pytest.raises(UnsupportedError, match="a second time") as error:
        detached(loop_in_test(draw=True), "x")
    assert "draw before" in error.value.advice


def test_one_name_for_each_detached_value() -> None:
    """A loop in a loop, both with such tests."""

    def build(p: Program, x: Any) -> Any:
        def test(s: Any) -> Any:
            (t,) = p.loop(2, [s], lambda i, t: [t * x])
            return [t < 3.0, t]

        def body(t: Any, s: Any) -> Any:
            (u,) = p.repeat([s], test, lambda t, u: [u + t + 0.5])
            return [u + t + 0.5]

        return p.repeat([x], test, body)[0]

    module = program({"x": F8}, build)
    function, active = detached(module, "x")
    assert not active_in_nested_tests(function, active)
    names = [n for n in names_of(function) if n]
    assert len(names) == len(set(names))
    assert run(Module({"f": function}, "f"), 0.9) == run(module, 0.9)
