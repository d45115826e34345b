"""Instructions of call bytecode: each is defined, and reads the words that its comment lists."""

from __future__ import annotations

import re

import pytest

from s2s.backends.native import call_vm_ops
from s2s.backends.native.call_vm_ops import LLVM_IR, OPERATIONS, RUNS_PYTHON


def test_each_operation_is_defined_once() -> None:
    defined = re.findall(r"define internal i16\* @op\.(\w+)\(", LLVM_IR)
    assert sorted(defined) == sorted(OPERATIONS) and len({*defined}) == len(defined)
    assert OPERATIONS[0] == "return" and set(RUNS_PYTHON) <= set(OPERATIONS)


def body(name: str) -> str:
    found = re.search(rf"; {name} ([^\n]*(?:\n;[^\n]*)*)\ndefine internal i16\* @op\.{name}\("
                      r"[^)]*\) \{(.*?)\n\}", LLVM_IR, re.DOTALL)  # fmt: skip
    assert found is not None, name
    return found[2]


@pytest.mark.parametrize(
    "name, length",
    [
        ("kept", 3), ("attribute", 4), ("item", 4), ("is", 4), ("differ", 4), ("watch", 4),
        ("same", 4), ("empty", 3), ("absent", 4), ("type_is", 4), ("length", 4), ("keys", 4),
        ("entry", 5), ("seen", 3), ("set_item", 5), ("set_entry", 5), ("equal", 4),
    ],
)  # fmt: skip
def test_an_instruction_goes_on_behind_its_words(name, length) -> None:
    text = body(name)
    steps = re.findall(r"@(?:put|put_borrowed|go_if)\([^)]*i64 (\d+)\)", text)
    steps += re.findall(r"getelementptr i16, i16\* %at, i64 (\d+)", text)
    assert steps and {*map(int, steps)} == {length}
    read = re.findall(r"@(?:operand|word)\([^)]*i64 (\d+)\)", text)
    assert all(int(word) < length for word in read)


@pytest.mark.parametrize("name, first", [("tuple", 3), ("list", 3), ("dict", 4), ("enter", 4)])
def test_instructions_of_several_values(name, first) -> None:
    text = body(name)
    assert f"add i64 %count, {first}" in text and f"add i64 %i, {first}" in text


def test_new_tuples_and_lists_own_their_items() -> None:
    for kind in ("Tuple", "List"):
        text = body(kind.lower())
        assert f"Py{kind}_New" in text and text.index("@hold") < text.index(f"Py{kind}_SetItem")
    assert "KIND" not in LLVM_IR and "CLASS" not in call_vm_ops.LLVM_IR
