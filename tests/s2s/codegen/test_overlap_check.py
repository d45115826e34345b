"""The alias check: written arrays lie apart from all others, by their address ranges."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.codegen import overlap_check
from s2s.codegen import value_types as types
from s2s.codegen.array_values import of_values, parts_of_type
from s2s.codegen.llvm_utils import INT, NULL, POINTER
from tests.s2s.codegen.machine_code import BIT, address, emitted


def parts(array: Any, layout: str) -> list[Any]:
    return [array.ctypes.data, *array.shape, *(array.strides if layout == "A" else ())]


def checker(kinds: list[types.Array], written: int, framed: bool) -> Any:
    """The check for arrays of these types, as arguments or in a frame."""
    taken = [parts_of_type(k)[:-1] for k in kinds]

    def write(builder: Any, *args: Any) -> Any:
        def fail() -> None:
            builder.ret(BIT(0))

        if framed:
            words = builder.bitcast(args[0], INT.as_pointer())
            starts = [sum(map(len, taken[:i])) for i in range(len(taken))]
            overlap_check.emit_for_frame(builder, words, [*zip(kinds, starts)], written, fail)
        else:
            buffers, rest = [], list(args)
            for kind, own in zip(kinds, taken):
                buffers.append((of_values(kind, [*rest[: len(own)], NULL]), kind.dtype.bytes))
                rest = rest[len(own) :]
            overlap_check.emit(builder, buffers, written, fail)
        return BIT(1)

    flat = [POINTER] if framed else [p for own in taken for p in own]
    run = emitted(BIT, flat, write)

    def call(*arrays: Any) -> bool:
        values = [p for a, k in zip(arrays, kinds, strict=True) for p in parts(a, k.layout)]
        if not framed:
            return run(*values)
        words = (ctypes.c_int64 * len(values))(*values)
        return run(ctypes.addressof(words))

    return call


@pytest.mark.parametrize("framed", [False, True])
def test_ranges_of_strided_arrays(framed) -> None:
    """As NumPy tells them, for every slice of a block."""
    strided = types.Array(types.float64, 1, "A")
    apart = checker([strided, strided], 1, framed)
    block = np.zeros(12)
    slices = [
        block[i:j:s] for s in (1, 2, 3) for i, j in itertools.combinations(range(0, 13, 2), 2)
    ]
    slices += [s[::-1] for s in slices]
    for a, b in itertools.product(slices[::3], slices[::2]):
        disjoint = not np.may_share_memory(a, b, max_work=0)
        assert apart(a, b) == disjoint


@pytest.mark.parametrize("framed", [False, True])
def test_matrices_that_touch_are_apart(framed) -> None:
    matrix = types.Array(types.float32, 2, "C")
    apart = checker([matrix, matrix], 1, framed)
    block = np.zeros((6, 5), np.float32)
    assert apart(block[:3], block[3:]) and apart(block[3:], block[:3])
    assert not apart(block[:4], block[3:]) and not apart(block[2:], block[:3])
    assert not apart(block, block)


@pytest.mark.parametrize("framed", [False, True])
def test_arrays_without_elements_overlap_with_none(framed) -> None:
    strided = types.Array(types.float64, 2, "A")
    apart = checker([strided, strided, strided], 2, framed)
    block = np.zeros((4, 5))
    empty = [block[2:2], block[:, 3:3], block[1:1, 1:1], block[::-1][:0]]
    for none in empty:
        assert apart(block, none, none) and apart(none, block, none) and apart(none, none, block)
        assert not apart(block, none, block) and not apart(none, block, block)


def test_arrays_that_are_only_read_may_overlap() -> None:
    vector = types.Array(types.float64, 1, "C")
    block, other, third = np.zeros(8), np.zeros(8), np.zeros(8)
    one = checker([vector] * 3, 1, False)
    assert one(block, other, other) and one(block, other, other[2:])
    assert not one(block, other, block[3:4]) and not one(block, block[7:], other)
    all_ = checker([vector] * 3, 3, False)
    assert all_(block, other, third)
    assert not all_(block, other, other) and not all_(block, other, other[7:])
    none = checker([vector] * 3, 0, False)
    assert none(block, block, block)


def test_the_check_is_written_once() -> None:
    module = ir.Module()
    first = overlap_check.disjoint_function(module)
    assert overlap_check.disjoint_function(module) is first
    made = ir.Function(module, ir.FunctionType(ir.VoidType(), []), "f")
    assert first.name == overlap_check.FUNCTION_NAME and made.name == "f"


def test_addresses_are_unsigned() -> None:
    """In the upper half of the address space, too."""

    def write(builder: Any, table: Any) -> Any:
        check = overlap_check.disjoint_function(builder.module)
        return builder.call(check, [builder.bitcast(table, INT.as_pointer()), INT(1), INT(2)])

    run = emitted(BIT, [POINTER], write)
    high = 2**63 - 32
    for a, b, disjoint in (
        ((high, high + 64), (high + 64, high + 96), True),
        ((high, high + 64), (high + 63, high + 96), False),
        ((high + 40, high + 64), (8, 16), True),
        ((high + 40, high + 64), (2**64 - 1, 0), True),
    ):
        table = np.array([*a, *b], np.uint64)
        assert run(address(table)) == disjoint
