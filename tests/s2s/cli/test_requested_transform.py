"""The transformation of a command: the decorator, --mode and --wrt; random directions."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.cli.argument_syntax import ExampleMaker
from s2s.cli.exit_codes import CommandError
from s2s.cli.requested_transform import MODES, compiled, with_direction
from s2s.errors import S2SError


def f(x: Any, n: Any, y: Any = 2.0) -> Any:
    return np.sum(x * y) * n


ARGS = (np.ones(3), 2)


def chosen(
    value: Any, mode: str | None = None, wrt: str | None = None, default: str = "first"
) -> Any:
    options = argparse.Namespace(mode=mode, wrt=wrt)
    return compiled(value, options, ARGS, {}, default)


def wrt_of(made: Any) -> Any:
    return made._specialiser("vjp").wrt


def test_the_gradient_of_floating_arguments_by_default() -> None:
    assert wrt_of(chosen(f)) == ("x",)
    assert wrt_of(chosen(f, default="all")) == ("x", "y")  # n is an integer
    made = compiled(f, argparse.Namespace(mode=None, wrt=None), (1, 2), {"y": 3}, "all")
    assert made._s2s_mode == "function"  # nothing can be differentiated


def test_wrt() -> None:
    assert wrt_of(chosen(f, wrt="y")) == ("y",)
    assert wrt_of(chosen(f, wrt=" y , x")) == ("y", "x")
    assert wrt_of(chosen(f, wrt="0,-1")) == ("x", "y")
    with pytest.raises(CommandError, match="--wrt is empty"):
        chosen(f, wrt=" , ")
    with pytest.raises(S2SError, match="no parameter of that name"):
        chosen(f, wrt="z")


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str) -> None:
    assert chosen(f, mode)._s2s_mode == mode


def test_a_decorated_function_is_itself() -> None:
    made = s2s.grad(f, wrt="y")
    assert chosen(made) is made


def test_a_decorated_function_keeps_its_options() -> None:
    made = s2s.grad(f, wrt="y", static_argnames=("n",), boundscheck=False)
    other = chosen(made, "value_and_grad")
    assert other._s2s_mode == "value_and_grad" and wrt_of(other) == ("y",)
    options = other._shared.options
    assert options.static == ("n",) and options.boundscheck is False
    assert wrt_of(chosen(made, wrt="x")) == ("x",)


def test_auxiliary_results() -> None:
    made = s2s.grad(lambda x, n: (np.sum(x) * n, x), has_aux=True)
    assert chosen(made, "value_and_grad")._shared.options.has_aux


def test_steps_with_a_tape_are_functions() -> None:
    w = s2s.Variable([1.0])

    def step(x: Any, n: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.sum(w * x)
        return tape.gradient(loss, w)

    made = s2s.function(step)
    assert chosen(made) is made


# ---------------------------------------------------------------- directions


def test_directions() -> None:
    x = np.ones((2, 3), np.float32)
    for mode, like in (("jvp", x), ("hvp", x)):
        made = MODES[mode](lambda x: np.sum(x * x))
        args = with_direction(made, (x,), {}, ExampleMaker())
        assert args[0] is x and args[1].shape == like.shape and args[1].dtype == like.dtype
    made = MODES["vjp"](lambda x: (x[0], np.sum(x)))
    row, total = with_direction(made, (x,), {}, ExampleMaker())[1]
    assert row.shape == (3,) and row.dtype == np.float32 and np.shape(total) == ()


def test_directions_of_several_arguments() -> None:
    made = MODES["jvp"](f, wrt=("x", "y"))
    first, (x_dot, y_dot), *rest = with_direction(made, ARGS, {"y": 4.0}, ExampleMaker())
    assert first is ARGS[0] and rest == [2] and x_dot.shape == (3,) and type(y_dot) is float


def test_directions_do_not_change_the_arguments() -> None:
    def writes(x: Any) -> Any:
        x *= 2.0
        return x

    x = np.ones(2)
    with_direction(MODES["vjp"](writes), (x,), {}, ExampleMaker())
    np.testing.assert_array_equal(x, [1.0, 1.0])
