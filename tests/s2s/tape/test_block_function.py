"""The block of a tape as a function: the names it reads and assigns, its prefix, its reuse."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.errors import UnsupportedError
from s2s.tape import block_function
from s2s.tape.block_function import Block, Names, find, is_program
from s2s.transforms.frontend.source import parsed
from s2s.transforms.syntax import core

EXTRA = ("unconnected",)  # a parameter that every query has


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


class Asks:
    """A context manager that reads its block on entry, and its outcome when asked."""

    def __enter__(self) -> Asks:
        self.frame = sys._getframe(1)
        self.block = find(self.frame)
        self.world = self.block.take_snapshot(self.frame)
        return self

    def __exit__(self, *error: Any) -> None:
        self.outcome = self.block.outcome(self, self.frame)
        del self.frame


def block_of(text: str) -> Block:
    lines = "".join(f"    {line}\n" for line in text.split("\n"))
    (node,) = parsed(f"with manager as tape:\n{lines}")
    assert isinstance(node, core.With)
    reads = block_function._names_read(node)
    return Block(node, None, reads, tuple(block_function._names_assigned(node)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, reads, binds",
    [
        ("y = x * 2", "manager x", "tape y"),
        ("y = x\nz = y + w", "manager x w", "tape y z"),
        ("x = x + 1", "manager x", "tape x"),
        ("x += 1", "manager x", "tape x"),
        ("x[0] = y", "manager x y", "tape"),
        ("if a:\n    y = 1\nz = y", "manager a y", "tape y z"),
        ("for i in n:\n    s = s + i", "manager i n s", "tape i s"),
        ("def f(v):\n    return v * k\ny = f(x)", "manager v k x", "tape y f"),
        ("g = tape.gradient(y, x)", "manager y x", "tape g"),
    ],
)
def test_names(text: str, reads: str, binds: str) -> None:
    block = block_of(text)
    assert set(block.reads) == set(reads.split()) and set(block.binds) == set(binds.split())


def test_given_names_aliases_and_programs() -> None:
    array = np.ones(2)
    names = Names.of({"x": array, "again": array, "k": 2.0, "np": np, "f": test_names, "l": 2.0})
    assert names == Names(("x", "k", "l"), (("again", "x"),))
    assert is_program(np) and is_program(len) and is_program(Names) and not is_program(array)


def test_a_block_is_read_once() -> None:
    found = []
    for k in range(2):
        with Asks() as asks:
            y = k * 2.0
        found.append(asks.block)
    assert found[0] is found[1] and y == 2.0


def test_outcome() -> None:
    data = {"w": np.ones(2), "deep": [3.0]}
    with Asks() as asks:
        y = data["w"] * 2.0
        pair = (y, 5.0)
    outcome = asks.outcome
    assert outcome.tape == "asks" and outcome.names["y"] is y and outcome.names["pair"] is pair
    texts = dict(outcome.parts)
    assert texts["data['w']"] is data["w"] and texts["data['deep'][0]"] == 3.0
    assert texts["pair[0]"] is y


def test_cyclic_containers_have_an_outcome() -> None:
    cycle: list[Any] = [1.5]
    cycle.append(cycle)
    with Asks() as asks:
        y = cycle[0]
    assert ("cycle[0]", 1.5) in asks.outcome.parts and y == 1.5


def test_questions_are_functions_of_the_inputs() -> None:
    x, k = np.array([1.0, 2.0]), 3.0
    with s2s.GradientTape() as tape:
        y = x * k
    function, names = tape._block.query_function(tape._world.names, EXTRA, "return y + 1.0", None)
    assert names.given == ("x", "k") and y[0] == 3.0
    got = function(np.array([4.0]), 2.0, "none")
    np.testing.assert_array_equal(got, [9.0])
    again, _ = tape._block.query_function(tape._world.names, EXTRA, "return y + 1.0", None)
    assert again is function
    other, _ = tape._block.query_function(tape._world.names, EXTRA, "return y", None)
    assert other is not function


def test_a_question_inside_the_block_has_its_executed_statements() -> None:
    x = 2.0
    with s2s.GradientTape() as tape:
        y = x * 2.0
        if x > 1.0:
            y = y + 1.0
            y = y * 10.0
        y = y + 100.0
    first = tape._block.source.first

    def after(line: int) -> Any:
        function, _ = tape._block.query_function(tape._world.names, EXTRA, "return y", first + line)
        return function(2.0, "none")

    assert [after(line) for line in (2, 3, 4, 5)] == [4.0, 4.0, 5.0, 50.0] and y == 150.0


def test_a_question_inside_a_loop_is_refused() -> None:
    x = 2.0
    with Asks() as asks:
        for _ in range(3):
            x = x * 2.0
            x = x + 0.0
    with pytest.raises(UnsupportedError, match="requested in a loop of the tape.s block"):
        asks.block.query_function(asks.world.names, EXTRA, "return x", asks.block.source.first + 3)


def test_values_are_not_kept_alive() -> None:
    class Thing:
        pass

    import gc
    import weakref

    def run() -> Any:
        thing, x = Thing(), 1.0
        with Asks() as asks:
            y = x * 2.0
        assert y == 2.0
        del asks.world, asks.outcome
        return weakref.ref(thing)

    reference = run()
    gc.collect()
    assert reference() is None
