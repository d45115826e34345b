"""What a function is in C: its arguments, sizes, outputs, state and conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.aot.export_spec import Item, describe
from s2s.aot.library_state import Slot, State
from s2s.aot.type_signature import parse_signature
from s2s.errors import UnsupportedError
from tests.s2s.aot.programs import Counter, mixed


def described(function: Any, signature: Any, state: State | None = None) -> Any:
    return describe("f", function, parse_signature(signature), State() if state is None else state)


def told(items: list[Item]) -> list[tuple]:
    return [(i.name, i.dtype, i.axes, i.written) for i in items]


def test_arguments_and_outputs() -> None:
    export = described(s2s.value_and_grad(mixed, wrt=("W", "b")),
                       "float32[d,h], float32[h], float32[n,d], float64[n]")  # fmt: skip
    assert export.sizes == ["d", "h", "n"]
    assert told(export.arguments) == [
        ("W", "float32", ("d", "h"), False), ("b", "float32", ("h",), False),
        ("x", "float32", ("n", "d"), False), ("y", "float64", ("n",), False),
    ]  # fmt: skip
    assert told(export.outputs) == [
        ("value", "float64", None, True), ("W_bar", "float32", ("d", "h"), True),
        ("b_bar", "float32", ("h",), True),
    ]  # fmt: skip
    assert export.parameters_text == "W, b, x, y" and not export.uses_state


def test_axes_that_must_be_equal_share_a_size() -> None:
    def inner(x, y):
        return np.sum(x * y)

    export = described(s2s.grad(inner), (np.ones(3), np.ones(3)))
    assert len(export.sizes) == 1
    assert export.arguments[0].axes == export.arguments[1].axes
    fixed = described(s2s.grad(inner), "float64[4], float64[4]")
    assert fixed.sizes == [] and fixed.arguments[1].axes == (4,)


def test_names_do_not_clash() -> None:
    def f(n, x, value, out):
        return np.sum(x) * n + value + out

    export = described(s2s.value_and_grad(f, wrt="x"), "float64, float64[n], float64, float64")
    names = [i.name for i in (*export.arguments, *export.outputs)] + export.sizes
    assert len(names) == len(set(names))
    keyword = described(s2s.function(lambda_), "float64[n], float64")
    assert [i.name for i in keyword.arguments] == ["int_", "float_"]


def lambda_(int, float):
    return int * float


def test_state_comes_from_objects() -> None:
    state = State()
    export = described(s2s.function(Counter().step), "float64[3]", state)
    assert export.uses_state and [s.name for s in state.slots] == [
        "self/count", "self/last", "self/rng",
    ]  # fmt: skip
    assert [type(p.source) for p in export.parameters].count(Slot) == 3
    assert told(export.arguments) == [("x", "float64", (3,), False)]
    room = [
        n
        for places, n in zip(export.destinations, export.result_capacities())
        if n is not None and places
    ]
    assert room


def test_defaults_and_fixed_arguments_are_those_of_the_function() -> None:
    def f(x, power=2, *, scale=1.5):
        return np.sum(x**power) * scale

    function = s2s.function(f, static_argnames=("power",))
    export = described(function, ("float64[n]", 3))
    assert export.parameters_text.startswith("x, power=2")
    assert export.guards == [("power", 3)]


def test_sizes_of_results_follow_from_arguments() -> None:
    def f(x, k):
        return np.concatenate([x, x]), x[1:], np.outer(x, x)

    export = described(s2s.function(f), "float64[n], int64")
    n = {"n": 7}
    shapes = [tuple(eval(str(a), dict(n)) for a in i.axes) for i in export.outputs]
    assert shapes == [(14,), (6,), (7, 7)]


@pytest.mark.parametrize(
    "function, signature, text",
    [
        (lambda x: x[x > 0], "float64[n]", "known only after it has been computed"),
        (lambda z: np.abs(z), "complex128", "a complex number"),
        (lambda x, r: r.normal() + x, ("float64", np.random.default_rng(0)), "neither a number"),
    ],
)
def test_what_c_cannot_pass_is_refused(function, signature, text) -> None:
    with pytest.raises(UnsupportedError, match=text):
        described(s2s.function(function), signature)
