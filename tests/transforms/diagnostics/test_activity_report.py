"""Reports on activity: places in the user's source, active variables, reasons for inactivity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from s2s.transforms import rules
from s2s.transforms.diagnostics.activity_report import (
    DependenceGraph,
    SourceLocation,
    active_variables,
    in_library,
    in_user_code,
    location_of,
    span_text,
    text_of,
)
from s2s.transforms.ir.nodes import Function, Origin, Span, Type, Var
from tests.transforms.batches import case_of, specialised
from tests.transforms.programs import F8, Program, int_scalar, program, vector

LIBRARY_FILE = str(Path(rules.__file__).parent / "library" / "statistics.py")


def helper(z):
    inner = np.sin(z)
    return inner * 2.0


def model(x, y, n):
    h = x * y
    h = h + 1.0
    lost = np.cos(h)
    k = n + 1
    return helper(h).sum() + lost.size * k


def function_of(f: Callable[..., Any], *args: Any) -> Function:
    return specialised(case_of(f, args), 0)[0].module.main


def span_in(text: str) -> Span:
    """The span of the first occurrence of a text in this file."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(i for i, s in enumerate(lines) if text in s)
    col = lines[line].index(text)
    return Span(__file__, line + 1, col, line + 1, col + len(text))


# ---------------------------------------------------------------- places


def test_the_text_of_a_span() -> None:
    assert span_text(span_in("np.sin(z)")) == "np.sin(z)"
    first = span_in("inner = np.sin(z)")
    two = Span(__file__, first.line, first.col, first.line + 1, 10)
    assert span_text(two) == "inner = np.sin(z) return"
    assert span_text(Span("no such file", 3, 0, 4, 2)) == ""


def test_places_are_shown_by_line_or_by_the_function_they_are_in() -> None:
    span = span_in("inner = np.sin(z)")
    own = location_of(Origin(span, span))
    assert own == SourceLocation(__file__, span.line, "inner = np.sin(z)")
    assert str(own) == f"L{span.line}"
    framed = location_of(Origin(span, span, frame=("a.py:1 f", "b.py:2 g")))
    assert framed is not None and framed.inside == str(framed) == "b.py:2 g"
    assert location_of(None) is None


def test_library_programs_are_reported_as_the_users_call() -> None:
    call, inside = span_in("np.sin(z)"), Span(LIBRARY_FILE, 3, 0, 3, 4)
    helper_call = span_in("helper(h).sum()")
    origin = Origin(
        inside, inside, frame=("f", "median", "inner"), calls=(helper_call, call, inside)
    )
    assert in_library(origin) and not in_library(Origin(call, call))
    user = in_user_code(origin)
    assert (user.span, user.stmt, user.frame, user.calls) == (call, call, ("f",), (helper_call,))
    assert text_of(origin) == "np.sin(z)"
    lonely = Origin(inside, inside)
    assert in_user_code(lonely) is lonely


# ---------------------------------------------------------------- active variables


def test_active_variables_in_order_with_their_assignments() -> None:
    main = function_of(model, np.ones(2), 2.0, 3)
    found = active_variables(main, ["x"], main.results)
    assert [v.name for v in found if not v.inside] == ["h"]
    (h,) = (v for v in found if v.name == "h")
    assert [p.text for p in h.places] == ["h = x * y", "h = h + 1.0"]
    (inner,) = (v for v in found if v.name == "inner")
    assert "helper" in inner.inside
    assert not active_variables(main, [], main.results)


def test_a_library_programs_variables_are_not_the_users() -> None:
    def f(x):
        m = np.median(x)
        return m * m

    main = function_of(f, np.array([3.0, 1.0, 2.0]))
    assert [v.name for v in active_variables(main, ["x"], main.results)] == ["m"]


# ---------------------------------------------------------------- reasons

PARAMS: dict[str, Type] = {"x": vector("x"), "z": F8, "n": int_scalar("n")}


def reason(build: Callable[..., Any], params: dict[str, Type] = PARAMS, name: str = "z") -> str:
    main = program(params, build).main
    param = next(p for p in main.params if p.name == name)
    return DependenceGraph(main, main.results).why_inactive(param)


def as_bound(p: Program, x: Any, z: Any, n: Any) -> Any:
    count = p.emit("cast", z, dtype="int64")
    return p.loop(count, [x], lambda i, s: [s * 2.0])[0]


def as_index(p: Program, x: Any, z: Any, n: Any) -> Any:
    return p.get(x, p.emit("cast", z, dtype="int64") + 1)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda p, x, z, n: x * 2.0, "is never read"),
        (lambda p, x, z, n: [np.sin(z), x][1:], "does not reach the result (what L1 computes"),
        (lambda p, x, z, n: x * np.floor(z), "through np.floor, whose derivative is 0 (L1)"),
        (lambda p, x, z, n: np.where(x > z, x, 0.0), "in a comparison (L1)"),
        (
            lambda p, x, z, n: p.branch(z > 0.0, lambda: [x], lambda: [x * 2.0])[0],
            "in a comparison (L1)",
        ),
        (lambda p, x, z, n: x * p.emit("stop_gradient", z), "through s2s.stop_gradient"),
        (lambda p, x, z, n: x * p.zeros_like(z), "by its shape"),
        (as_index, "as an index"),
        (as_bound, "converted to int"),
    ],
)
def test_why_there_is_no_derivative(build: Any, text: str) -> None:
    assert text in reason(build)


def test_several_uses_are_listed_once_each() -> None:
    def build(p: Program, x: Any, z: Any, n: Any) -> Any:
        y = x * np.floor(z)
        p.line()
        return np.where(y > z, y * np.floor(z), 0.0)

    assert reason(build) == (
        "reaches the result only through np.floor, whose derivative is 0 (L1, L2) "
        "and in a comparison (L2)"
    )


def test_what_carries_derivatives_elsewhere_is_followed() -> None:
    """z -> sin(z), which is active, and only then rounded."""
    text = reason(lambda p, x, z, n: x * np.floor(np.sin(z)))
    assert text == "reaches the result only through np.floor, whose derivative is 0 (L1)"


def test_conditions_and_bounds_that_floats_reach_directly() -> None:
    def build(p: Program, x: Any, c: Any) -> Any:
        return p.branch(c, lambda: [x], lambda: [x * 2.0])[0]

    main = program({"x": F8, "c": F8}, build).main
    graph = DependenceGraph(main, main.results)
    assert graph.why_inactive(main.params[1]) == "reaches the result only as a condition (L2)"
    assert graph.why_inactive(Var("absent", F8)) == "is never read"
