"""The first iteration of a loop before the others."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.nodes import If
from s2s.transforms.specialise.control.peel import Peel
from s2s.transforms.specialise.places import NeedUnroll
from s2s.transforms.specialise.values import Conflict, Num, constant
from tests.transforms.specialise.bench import Bench


def loop(n):
    for _ in range(n):
        s = 1.0
    return s


def test_a_loop_that_surely_runs_needs_no_test() -> None:
    here, steps = Bench(loop), []
    peel = here[Peel]

    def step(name):
        return lambda: bool(steps.append(name))

    assert not peel.first_and_rest(constant(True), step("first"), step("rest"), None, here.node)
    assert steps == ["first", "rest"] and not here.block
    assert not peel.first_and_rest(constant(False), step("a"), step("b"), None, here.node)
    assert steps == ["first", "rest"] and peel.peeled == []


def test_the_flag_of_a_break_ends_the_rest() -> None:
    here, steps = Bench(loop), []
    here.env["done"] = constant(True)
    assert not here[Peel].unless("done", lambda: bool(steps.append(1)), here.node)
    here.env["done"] = Num(here.session.b.emit("less", here.number().operand, 0.0).operand)
    here[Peel].unless("done", lambda: bool(steps.append(2)), here.node)
    assert steps == [2] and isinstance(here.block[-1], If)


def test_a_name_in_conflict_that_is_read_after_the_loop() -> None:
    here = Bench(loop)
    peel = here[Peel]
    with pytest.raises(NeedUnroll) as caught:
        peel.request_peeling({("env", "s"): Conflict("two things")}, here.node)
    assert caught.value.peel
    peel.request_peeling({("env", "other"): Conflict("two things")}, here.node)
    assert peel.read_after("s", here.node) is not None and peel.read_after("n", here.node) is None
