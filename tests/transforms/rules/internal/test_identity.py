"""Identities: `same` passes derivatives on, `stop_gradient` ends them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.forward import forward
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.ir.nodes import Type
from s2s.transforms.ir.precedence import ADD
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.rules import RULES
from tests.transforms.programs import F8, program, run, vector
from tests.transforms.rules.numeric import call

XY: dict[str, Type] = {"x": F8, "y": F8}


@pytest.mark.parametrize("name", ["same", "stop_gradient"])
@pytest.mark.parametrize("value", [2.5, np.float32(2.5), np.arange(3), np.empty((0, 2))])
def test_value_type_and_text(name: str, value: Any) -> None:
    rule = RULES[name]
    assert rule.evaluate is not None and rule.text is not None
    assert rule.evaluate(value) is value
    assert rule.infer(None, [vector("x")], {}, ()) == vector("x")
    text, _ = rule.text([("a + b", ADD)], {}, ())
    space = {"a": 1, "b": 2, "stop_gradient": lambda x: x}
    assert eval(text, space) == 3


def derivatives(build: Any) -> tuple[list[Any], list[Any]]:
    module = program(XY, build)
    vjp = reverse(module, ("x", "y"), 0, Facts())
    jvp = forward(module, ("x",), Facts())
    return run(vjp, 2.0, 3.0, 1.0)[1:], run(jvp, 2.0, 3.0, 1.0)[1:]


def test_same_passes_the_derivative_on() -> None:
    bars, dots = derivatives(lambda p, x, y: p.emit("same", x) * y)
    assert bars == [3.0, 2.0] and dots == [3.0]


def test_stop_gradient_is_a_constant_to_both_modes() -> None:
    bars, dots = derivatives(lambda p, x, y: p.emit("stop_gradient", x) * y + x)
    assert bars == [1.0, 2.0] and dots == [1.0]
    bars, dots = derivatives(lambda p, x, y: p.emit("stop_gradient", x * y) * 2.0)
    assert bars == [0.0, 0.0] and dots == [0.0]


def test_stop_gradient_takes_numbers_and_sequences() -> None:
    assert call("s2s.stop_gradient", 2.0) == 2.0
    np.testing.assert_array_equal(call("s2s.stop_gradient", [1.0, 2.0]), [1.0, 2.0])
