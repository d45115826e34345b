"""The call VM: plans run, miss, keep references balanced, and leave errors as they are."""

from __future__ import annotations

import struct
import sys
from typing import Any

import numpy as np
import pytest

from s2s.backends.native import call_vm
from s2s.backends.native.call_vm import FIRST_CONSTANT_OPERAND, HEADER_WORDS, runner
from s2s.backends.native.call_vm_ops import OPERATIONS
from s2s.errors import MISS

if not call_vm.is_vm_layout_known():
    pytest.skip("objects are laid out in another way", allow_module_level=True)

OPCODE = {name: k for k, name in enumerate(OPERATIONS)}


def plan(
    arity: int, registers: int, steps: list[list[Any]], *constants: Any, kept: Any = None
) -> Any:
    """A plan without a kernel.  In `steps`, "c0" is a constant; the first word is an operation."""
    words: list[int] = []
    for name, *rest in steps:
        words.append(OPCODE[name])
        words += [
            FIRST_CONSTANT_OPERAND + 4 + int(w[1:]) if isinstance(w, str) else w for w in rest
        ]
    code = struct.pack(
        f"<{HEADER_WORDS + len(words)}H", arity, registers, HEADER_WORDS + len(words), *words
    )
    return (code, [] if kept is None else kept, None, None, *constants)


def test_arguments_and_constants() -> None:
    thing = object()
    identity = runner(plan(1, 1, [["return", 0]]))
    assert identity(thing) is thing
    constant = runner(plan(0, 0, [["return", "c0"]], thing))
    assert constant() is thing
    assert identity() is MISS and identity(1, 2) is MISS and constant(1) is MISS


class Point:
    def __init__(self) -> None:
        self.x = [1, 2]


def test_attributes_and_items() -> None:
    run = runner(plan(2, 5, [
        ["attribute", 2, 0, "c0"], ["item", 3, 2, 1], ["tuple", 4, 2, 2, 3], ["return", 4],
    ], "x"))  # fmt: skip
    point = Point()
    found = run(point, 1)
    assert found == ([1, 2], 2) and found[0] is point.x
    assert run(point, 5) is MISS and run(3, 0) is MISS and run(point, "k") is MISS
    table = runner(plan(2, 3, [["item", 2, 0, 1], ["return", 2]]))
    assert table({"k": 7}, "k") == 7 and table({}, "k") is MISS and table([4], 0) == 4


@pytest.mark.parametrize(
    "step, arguments, holds",
    [
        (["is", 0, 0, 1], (None, None), True), (["is", 0, 0, 1], ([], []), False),
        (["differ", 0, 0, 1], ([], []), True), (["differ", 0, 0, 1], (1, 1), False),
        (["equal", 0, 0, 1], (2.5, 2.5), True), (["equal", 0, 0, 1], (2, 2.0), False),
        (["equal", 0, 0, 1], (2, 3), False), (["equal", 0, 0, 1], (True, 1), False),
        (["type_is", 0, 0, 1], (2.5, float), True), (["type_is", 0, 0, 1], (True, int), False),
        (["length", 0, 0, 2], ([1, 2], None), True), (["length", 0, 0, 2], ((1,), None), False),
        (["length", 0, 0, 65535], (3, None), False), (["empty", 0, 0], ({}, None), True),
        (["empty", 0, 0], ([0], None), False), (["empty", 0, 0], (3, None), False),
        (["absent", 0, 0, 1], ({"a": 1}, "b"), True), (["absent", 0, 0, 1], ({"a": 1}, "a"), False),
        (["absent", 0, 0, 1], ({}, []), False),
        (["keys", 0, 0, 1], ({"a": 1, "b": 2}, ("a", "b")), True),
        (["keys", 0, 0, 1], ({"b": 1, "a": 2}, ("a", "b")), False),
        (["keys", 0, 0, 1], ({"a": 1}, ("a", "b")), False),
        (["keys", 0, 0, 1], ({1: 1}, (1.0,)), False), (["keys", 0, 0, 1], ([1], ("a",)), False),
        (["same", 0, 0, 1], ([], []), True), (["same", 0, 0, 1], ([1], (1,)), False),
        (["same", 0, 0, 1], ([None, 1], [None, 1]), True), (["same", 0, 0, 1], ([1], [2]), False),
    ],
)  # fmt: skip
def test_checks(step, arguments, holds) -> None:
    run = runner(plan(2, 2, [step, ["return", "c0"]], "fits"))
    for _ in range(3):
        assert run(*arguments) == ("fits" if holds else MISS)


def test_references_stay_balanced() -> None:
    run = runner(plan(2, 5, [
        ["attribute", 2, 0, "c0"], ["item", 3, 2, 1], ["tuple", 4, 2, 2, 3], ["return", 4],
    ], "x"))  # fmt: skip
    point, own = Point(), object()
    point.x = [own, own]
    before = [sys.getrefcount(t) for t in (point, point.x, own, MISS, run)]
    for k in range(500):
        run(point, k % 3)  # the last of which misses
        run(point)
    assert [sys.getrefcount(t) for t in (point, point.x, own, MISS, run)] == before


def test_containers_are_built() -> None:
    run = runner(plan(2, 5, [
        ["list", 2, 2, 0, 1], ["dict", 3, 1, "c0", 2], ["set_entry", 0, 3, "c1", 1],
        ["set_item", 0, 2, "c2", "c1"], ["return", 3],
    ], ("k",), "other", 0))  # fmt: skip
    assert run(5, 6) == {"k": ["other", 6], "other": 6}


def test_entries_of_dicts() -> None:
    run = runner(plan(2, 3, [["entry", 2, 0, 1, 1], ["return", 2]]))
    table = {"a": 1, "b": [2], "c": 3}
    assert [run(table, k) for k in ("a", "b", "c")] == [1, [2], 3]
    assert run(table, "d") is MISS and run({}, "a") is MISS


def test_what_is_kept() -> None:
    kept = [7, "value"]
    run = runner(plan(1, 2, [["seen", 0, 0], ["kept", 1, 1], ["return", 1]], kept=kept))
    assert run([7]) == "value" and run([8]) is MISS
    kept[0] = 8
    assert run([8]) == "value"


class Rebuilt:
    before = 1


def test_tags_of_classes_change_with_them() -> None:
    first = call_vm.version_tag(Rebuilt)
    assert first and call_vm.version_tag(Rebuilt) == first
    Rebuilt.before = 2
    assert call_vm.version_tag(Rebuilt) != first


def test_places_of_entries() -> None:
    table = {"a": np.zeros(2), "b": object()}
    place = call_vm.dict_entry_addresses(table, "b")
    assert place is not None
    assert call_vm.read_word(place[1]) == id("b") or call_vm.read_word(place[1] + 8) == id(
        table["b"]
    )
    assert (
        call_vm.dict_entry_addresses(table, "c") is None
        and call_vm.dict_entry_addresses({}, "a") is None
    )
    assert all(call_vm.function_field_offset(name) for name in call_vm.FUNCTION_FIELDS)
