"""Draws: evaluated as NumPy does, written as text that does the same, refused where unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import Array, Call, Draw, Function, Origin, Rng, Scalar, Span, Var
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.rules.random_draws import (
    DTYPE_METHODS,
    GENERATOR_METHODS,
    INTEGER_METHODS,
    LEGACY_METHODS,
    draw_text,
    evaluate_draw,
    refuse_active_draw,
    refuse_second_draw,
)

SPAN = Span("f.py", 3, 4, 3, 9)
# Arguments with which a method draws; others take as many 0.5 as they have parameters.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "triangular": (0.0, 0.5, 1.0), "poisson": (3.0,), "binomial": (5, 0.5),
    "negative_binomial": (3, 0.5), "zipf": (2.0,), "hypergeometric": (5, 4, 3),
    "integers": (0, 9), "randint": (0, 9), "permutation": (6,), "choice": (9, True),
}  # fmt: skip


def arguments(method: str, count: int) -> tuple[Any, ...]:
    return ARGUMENTS.get(method, (0.5,) * count)


def drawn(stmt: Draw, text: str, generator: bool) -> Any:
    rng = np.random.default_rng(7)
    np.random.seed(7)
    return eval(text, {"np": np, "rng": rng if generator else None})


METHODS = [(True, m, n) for m, n in GENERATOR_METHODS.items()]
METHODS += [(False, m, n) for m, n in LEGACY_METHODS.items()]


@pytest.mark.parametrize("size", [None, (), (4,), (2, 3)])
@pytest.mark.parametrize(("generator", "method", "count"), METHODS)
def test_text_and_evaluation_draw_the_same_numbers(
    generator: bool, method: str, count: int, size: Any
) -> None:
    if method == "permutation" and size is not None:
        size = (6,)
    args = arguments(method, count)
    dtype = "int64" if method in INTEGER_METHODS else "float64"
    type_: Any = Scalar(dtype) if size is None else Array(dtype, tuple(map(Dim.of, size)))
    stmt = Draw([Var("r", type_)], Var("rng", Rng()) if generator else None, method, ())
    rng = np.random.default_rng(7) if generator else None
    np.random.seed(7)
    got = evaluate_draw(rng, method, args, size, dtype)
    texts = [*(["rng"] if generator else []), *map(repr, args)]
    text = draw_text(stmt, texts, None if size is None else [*map(str, size)])
    np.testing.assert_array_equal(got, drawn(stmt, text, generator))
    if method != "permutation":
        assert np.shape(got) == (size or ())
    assert (np.asarray(got).dtype.kind in "iu") == (method in INTEGER_METHODS)


@pytest.mark.parametrize("method", [m for m in DTYPE_METHODS if m != "integers"])
def test_single_precision_is_drawn_in_single_precision(method: str) -> None:
    args = arguments(method, GENERATOR_METHODS[method])
    rng = np.random.default_rng(7)
    got = evaluate_draw(rng, method, args, (3,), "float32")
    stmt = Draw([Var("r", Array("float32", (Dim.of(3),)))], Var("rng", Rng()), method, ())
    text = draw_text(stmt, ["rng", *map(repr, args)], ["3"])
    assert got.dtype == np.float32 and text.endswith("dtype=np.float32)")
    np.testing.assert_array_equal(got, drawn(stmt, text, True))


def test_weights_of_a_choice_come_last() -> None:
    stmt = Draw([Var("r", Scalar("int64"))], None, "choice", ())
    assert draw_text(stmt, ["9", "False", "p"], ["2", "3"]) == (
        "np.random.choice(9, (2, 3), False, p)"
    )


def test_generators_are_made_and_seeded() -> None:
    made = evaluate_draw(None, "default_rng", (7,), None, "")
    assert made.random() == np.random.default_rng(7).random()
    assert evaluate_draw(None, "seed", (7,), None, "") is None
    first = np.random.random()
    np.random.seed(7)
    assert np.random.random() == first


class Source:
    """What messages quote."""

    file = "f.py"

    def line(self, number: int) -> str:
        return f"line {number}"


def test_a_derivative_by_the_parameters_is_refused_at_the_users_line() -> None:
    a, r = Var("a", Scalar("float64")), Var("r", Scalar("float64"))
    stmt = Draw([r], None, "standard_gamma", (a,), origin=Origin(SPAN, SPAN))
    function = Function("f", [a], [stmt], [r], source=Source())
    for active in ((), (a,), (r,)):
        refuse_active_draw(stmt, active, function)
    with pytest.raises(UnsupportedError, match="standard_gamma draw") as error:
        refuse_active_draw(stmt, (a, r), function)
    assert error.value.span == SPAN and error.value.source_line == "line 3"
    assert "mu + sigma" in error.value.advice
    refuse_active_draw(Draw([], None, "seed", (a,)), (a,), function)


def test_a_second_draw_is_refused() -> None:
    for stmt in (Draw([], None, "random", ()), Call([], "g", (), origin=Origin(SPAN, SPAN))):
        with pytest.raises(UnsupportedError, match="a second time") as error:
            refuse_second_draw(stmt)
        assert error.value.source_line == ""
