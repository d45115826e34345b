"""Versions of a variable that are read after it is rebound get a name of their own."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from s2s.transforms.bufferize.name_old_versions import name_old_versions
from s2s.transforms.ir.builder import NameSupply
from s2s.transforms.ir.nodes import Assign, For, Module, walk
from s2s.transforms.ir.scopes import names_of
from tests.transforms.programs import BOOL, F8, Program, program, run, vector


def bind(p: Program, value: Any, user: str) -> Any:
    """`user = value`, on a line of its own."""
    stmt = p.block[-1]
    assert isinstance(stmt, Assign)
    stmt.target = replace(stmt.target, user=user)
    p.line()
    return p.sym(stmt.target)


def values(module: Module, *args: Any) -> list[Any]:
    """What a program computes, with a copy in place of each second name."""
    module = deepcopy(module)
    for s in walk(module.main.body):
        if isinstance(s, Assign) and s.op.name == "alias":
            s.op = replace(s.op, name="positive")
    return run(module, *args)


def second_names(build: Callable[..., Any], *args: Any) -> tuple[list[str], Module]:
    """The names that are added; the program computes what it did."""
    params = {"x": F8, "c": BOOL}
    want = run(program(params, build), *args)
    module = program(params, build)
    name_old_versions(module.main, NameSupply(names_of(module.main)))
    assert values(module, *args) == want
    added = [
        s.target.name
        for s in walk(module.main.body)
        if isinstance(s, Assign) and s.op.name == "alias"
    ]
    assert sorted(added) == sorted(module.main.notes["kept"])
    return added, module


def test_a_version_that_is_read_after_the_next():
    def build(p: Program, x: Any, c: Any) -> Any:
        first = bind(p, x * 2.0, "h")
        second = bind(p, first * 3.0, "h")
        return first + second

    (name,), module = second_names(build, 1.5, True)
    assert name == "h_L1"
    at = next(k for k, s in enumerate(module.main.body) if s.target.name == name)  # type: ignore[union-attr]
    rebinding, sum_ = module.main.body[at + 1 : at + 3]
    assert isinstance(rebinding, Assign) and rebinding.target.user == "h"
    assert isinstance(sum_, Assign) and sum_.op.args[0].name == name  # type: ignore[union-attr]
    # The statement that rebinds still reads the variable itself.
    assert rebinding.op.args[0].name != name  # type: ignore[union-attr]


def test_a_version_that_is_dead_then():
    def build(p: Program, x: Any, c: Any) -> Any:
        first = bind(p, x * 2.0, "h")
        return bind(p, first * 3.0, "h")

    assert second_names(build, 1.5, True)[0] == []


def test_another_variable():
    def build(p: Program, x: Any, c: Any) -> Any:
        first = bind(p, x * 2.0, "h")
        second = bind(p, first * 3.0, "g")
        return first + second

    assert second_names(build, 1.5, True)[0] == []


def test_temporaries_have_no_name_to_keep():
    def build(p: Program, x: Any, c: Any) -> Any:
        first = x * 2.0
        return first * 3.0 + first

    assert second_names(build, 1.5, True)[0] == []


def test_a_parameter():
    def build(p: Program, x: Any, c: Any) -> Any:
        new = bind(p, x * 2.0, "x")
        return new + x

    assert second_names(build, 1.5, True)[0] == ["x_in"]


def test_each_version_has_its_line():
    def build(p: Program, x: Any, c: Any) -> Any:
        versions = [x]
        for _ in range(3):
            versions.append(bind(p, versions[-1] * 2.0, "h"))
        total = versions[1]
        for v in versions[2:]:
            total = total + v
        return total

    assert second_names(build, 1.5, True)[0] == ["h_L1", "h_L2"]


def test_a_variable_rebound_in_a_loop():
    """The name is given before the loop, once."""

    def build(p: Program, x: Any, c: Any) -> Any:
        first = bind(p, x * 2.0, "h")
        (last,) = p.loop(3, [first], lambda i, s: [s * 0.5], names=["h"])
        return first + last

    names, module = second_names(build, 1.5, True)
    assert names == ["h_L1"]
    body = module.main.body
    assert [s.target.name for s in body if isinstance(s, Assign)].index("h_L1") < next(
        k for k, s in enumerate(body) if isinstance(s, For)
    )


def test_a_variable_rebound_in_a_branch():
    """Reads in the other branch, and before the binding, keep the variable."""

    def build(p: Program, x: Any, c: Any) -> Any:
        first = bind(p, x * 2.0, "h")
        (y,) = p.branch(c, lambda: [bind(p, first * 3.0, "h") * 1.0], lambda: [first * 5.0])
        return y

    for c in (True, False):
        assert second_names(build, 1.5, c)[0] == []


def test_a_variable_rebound_in_a_branch_and_read_after_it():
    def build(p: Program, x: Any, c: Any) -> Any:
        first = bind(p, x * 2.0, "h")
        (y,) = p.branch(c, lambda: [bind(p, first * 3.0, "h") * 1.0], lambda: [first * 5.0])
        return y + first

    for c in (True, False):
        assert second_names(build, 1.5, c)[0] == ["h_L1"]


def test_results_are_reads_at_the_end():
    def build(p: Program, x: Any, c: Any) -> Any:
        first = bind(p, x * 2.0, "h")
        return bind(p, first * 3.0, "h"), first

    names, module = second_names(build, 1.5, True)
    assert names == ["h_L1"] and module.main.results[1].name == "h_L1"  # type: ignore[union-attr]


def test_earlier_names_stay_noted():
    def build(p: Program, x: Any, c: Any) -> Any:
        first = bind(p, x * 2.0, "h")
        return bind(p, first * 3.0, "h") + first

    module = program({"x": F8, "c": BOOL}, build)
    module.main.notes["kept"] = ("before",)
    name_old_versions(module.main, NameSupply(names_of(module.main)))
    assert module.main.notes["kept"] == ("before", "h_L1")


def test_arrays():
    """A second name is no copy."""

    def build(p: Program, x: Any) -> Any:
        first = bind(p, x * 2.0, "h")
        second = bind(p, first * 3.0, "h")
        return first + second

    module = program({"x": vector("x")}, build)
    name_old_versions(module.main, NameSupply(names_of(module.main)))
    np.testing.assert_array_equal(values(module, np.arange(3.0))[0], np.arange(3.0) * 8.0)
    assert not any(s.op.name == "copy" for s in module.main.body if isinstance(s, Assign))
