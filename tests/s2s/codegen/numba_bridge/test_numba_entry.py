"""The Python functions around a kernel: their text, and the order of arguments and results."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from s2s.codegen.numba_bridge.numba_entry import (
    ARRAY,
    BODY,
    CALL,
    CALL_LOWERED,
    CHECK,
    TABLE,
    Entry,
    empty_text,
    entry_text,
    scalar_text,
)

LOWERED = "import numpy as np\n\n\ndef f_vjp(x, n, out_bar, x_bar):\n    return (n, x)\n"


def entry(**changes: Any) -> Entry:
    plain = {
        "parameters": 2, "results": 3, "arrays": {0: (2, "float32")}, "tabled": {},
        "seed": np.float64(0.5), "buffers": ((1, 0),), "written": (), "relations": (),
    }  # fmt: skip
    return Entry(**{**plain, **changes})


def executed(made: Entry, lowered: str = LOWERED, name: str = "f_vjp") -> tuple[Any, list[Any]]:
    """The module, and the calls of the intrinsics."""
    seen: list[Any] = []
    space: dict[str, Any] = {}
    exec(lowered + entry_text(lowered, name, made), space)
    space[CHECK] = lambda *args: seen.append((CHECK, args))
    space[BODY] = lambda *args: seen.append((BODY, args)) or ("first", "last")
    for i in made.tabled:
        space[f"{ARRAY}_{i}"] = lambda *args, i=i: np.full((2, 3), i, np.float32)
    return space, seen


def test_results_and_buffers_are_in_order() -> None:
    made = entry()
    assert made.with_buffers(["a", "c"], ["b"]) == ["a", "b", "c"]
    two = entry(buffers=((0, 0), (2, 0)), results=4)
    assert two.with_buffers(["x", "y"], ["first", "third"]) == ["first", "x", "third", "y"]
    assert made.direct == [0, 1] and made.arguments(["x", "n"]) == ["x", "n"]


def test_buffers_are_allocated_and_the_seed_is_a_constant() -> None:
    space, seen = executed(entry())
    x = np.zeros((2, 3), np.float32)
    first, buffer, last = space[CALL_LOWERED](x, 7)
    assert (first, last) == ("first", "last")
    assert buffer.shape == (2, 3) and buffer.dtype == np.float32
    ((name, args),) = seen
    assert name == BODY and args[0] is x and args[1] == 7 and args[3] is buffer
    assert args[2] == np.float64(0.5) and type(args[2]) is np.float64


def test_buffers_of_the_caller() -> None:
    made = entry(into=True)
    assert made.arguments(["x", "n", "out_bar", "x_bar"]) == ["x", "n", "x_bar"]
    assert made.with_buffers(["a", "c"], ["b"]) == ["a", "c"]
    space, seen = executed(made)
    buffer = np.zeros((2, 3), np.float32)
    assert space[CALL]("x", "n", buffer) == ("first", "last")
    assert space[CALL_LOWERED]("x", 7, buffer) == ("first", "last")
    assert seen[0][1] == ("x", "n", buffer) and seen[1][1][3] is buffer
    both = entry(into=True, tabled={0: "spec"})
    assert both.arguments(["x", "n", "out_bar", "x_bar"]) == ["n", "x_bar", TABLE]


def test_the_short_function_hands_its_arguments_on() -> None:
    space, seen = executed(entry())
    assert space[CALL]("x", "n") == ("first", "last") and seen == [(BODY, ("x", "n"))]


@pytest.mark.parametrize("changes", [{"written": (0,)}, {"relations": (("==", (0, ()), (0, ())),)}])
def test_arguments_are_checked_first(changes) -> None:
    space, seen = executed(entry(**changes))
    for call in (CALL, CALL_LOWERED):
        seen.clear()
        space[call](np.zeros((1, 1)), 3)
        assert [name for name, _ in seen] == [CHECK, BODY]


def test_arrays_of_a_table() -> None:
    made = entry(tabled={0: "spec"})
    assert made.direct == [1] and made.arguments(["x", "n"]) == ["n", TABLE]
    space, seen = executed(made)
    space[CALL_LOWERED](7, "table")
    assert seen[0] == (CHECK, (7, "table"))
    args = seen[1][1]
    assert args[0].shape == (2, 3) and args[1] == 7


def test_texts() -> None:
    assert empty_text("x", 0, "int8") == "np.empty((), np.int8)"
    assert eval(empty_text("x", 2, "int8"), {"np": np, "x": np.zeros((4, 5))}).shape == (4, 5)
    for value in (np.float32(0.1), np.int8(-3), np.complex64(1 - 2j), np.float64(1e-300)):
        found = eval(scalar_text(value), {"np": np})
        assert found == value and type(found) is type(value)


def test_functions_without_parameters() -> None:
    lowered = "def g():\n    return ()\n"
    made = entry(parameters=0, results=0, seed=None, buffers=(), arrays={})
    text = entry_text(lowered, "g", made)
    assert {f.name for f in ast.parse(text).body} == {CALL, CALL_LOWERED}  # type: ignore[attr-defined]
    with pytest.raises(ValueError):
        entry_text(lowered, "missing", made)
