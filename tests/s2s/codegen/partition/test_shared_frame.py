"""The frame of a long kernel: each variable has words of its own, the arguments come first."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from s2s.codegen import value_types as types
from s2s.codegen.llvm_utils import INT, NULL, POINTER
from s2s.codegen.partition.shared_frame import Frame, FrameSlot, array_count
from s2s.codegen.type_lowering import Context
from tests.s2s.aot.programs import lowered_function
from tests.s2s.codegen.machine_code import DOUBLE, MATRIX, VECTOR, emitted

TEXT = """
def f(x, a, n, z):
    y = np.empty((n,), np.float64)
    s = 0.0
    for i in range(n):
        y[i] = x[i]
        s = s + y[i]
    t = s * 2.0
    for i in range(n):
        y[i] = t
    u = y
    n = n + 1
    return (u, t, s, z)
"""


def framed() -> tuple[Frame, Any]:
    kinds = (VECTOR, types.Array(types.float32, 2, "A"), types.int64, types.complex128)
    function, known = lowered_function(TEXT, *kinds)
    body = function.body
    parts: list[Any] = [body[:3], body[3:5], *body[5:]]
    context = Context(lambda: pytest.fail("Numba is not needed"))
    return Frame(context, function, known, parts), known


def words_of(frame: Frame) -> dict[str, list[FrameSlot]]:
    return {n: [w for w in ws if isinstance(w, FrameSlot)] for n, ws in frame.words.items()}


def test_words_do_not_overlap() -> None:
    frame, known = framed()
    used: dict[int, str] = {}
    changed = {
        f"given {name}": [word for word in words if isinstance(word, FrameSlot)]
        for name, words in frame.given.items()
        if frame.words.get(name) != words
    }
    for name, words in {**words_of(frame), **changed}.items():
        for word in words:
            size = 2 if word.type == Context(lambda: None).value_type(types.complex128) else 1
            for position in range(word.position, word.position + size):
                assert position not in used, (name, used.get(position))
                used[position] = name
            assert word.home == words[0].position
    table = range(frame.table, frame.table + array_count(known))
    assert not {*table} & used.keys() and {*table} | used.keys() == {*range(frame.size)}
    assert array_count(known) == 4  # x, a, y and u


def test_arguments_come_first() -> None:
    frame, _ = framed()
    assert [*frame.given] == ["x", "a", "n", "z"]
    assert (
        max(w.position for ws in frame.given.values() for w in ws if isinstance(w, FrameSlot))
        < frame.table
    )
    assert frame.given["x"][-1] is NULL and len(frame.given["a"]) == 1 + 2 + 2 + 1
    assert "n" not in frame.words or frame.words["n"] != frame.given["n"]  # it is bound again


def test_only_what_several_functions_use_is_shared() -> None:
    frame, _ = framed()
    assert {"y", "s", "t"} <= frame.words.keys() and "i" not in frame.words
    assert len(frame.words["y"]) == 3 and frame.memory(2) == FrameSlot(frame.table + 2, POINTER,
                                                                 frame.table + 2)  # fmt: skip


def test_words_are_read_where_they_are_written() -> None:
    def write(builder: Any, base: Any) -> Any:
        words = builder.bitcast(base, INT.as_pointer())
        first, second = FrameSlot(1, INT), FrameSlot(3, DOUBLE)
        builder.store(builder.add(first.load(builder, words), INT(1)), first.place(builder, words))
        return second.load(builder, words)

    block = np.array([7, 8, 9, 0, 11])
    block[3:4].view(np.float64)[0] = 2.5
    assert emitted(DOUBLE, [POINTER], write)(block.ctypes.data) == 2.5
    assert block[[0, 1, 2, 4]].tolist() == [7, 9, 9, 11]
    assert isinstance(ast.parse(TEXT).body[0], ast.FunctionDef) and MATRIX.ndim == 2
