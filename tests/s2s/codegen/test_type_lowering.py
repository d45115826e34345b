"""Types in LLVM and in Numba: sizes as in memory, booleans of one bit in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.codegen import llvm_passes
from s2s.codegen import value_types as types
from s2s.codegen.llvm_utils import BIT, INT, POINTER
from s2s.codegen.type_lowering import Context, memory_type, of_numba, to_numba
from s2s.codegen.value_types import NUMBERS, Array, Literal, Opaque, Tuple
from tests.s2s.codegen.machine_code import VOID, emitted


def no_numba() -> Any:
    raise AssertionError("Numba is not needed")


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_in_memory(name) -> None:
    kind = memory_type(NUMBERS[name])
    assert kind.get_abi_size(llvm_passes.target_machine().target_data) == np.dtype(name).itemsize
    value = Context(no_numba).value_type(NUMBERS[name])
    assert value == (BIT if name == "bool" else kind)


def test_booleans_are_bytes_in_memory() -> None:
    context = Context(no_numba)

    def write(builder: Any, place: Any) -> None:
        from s2s.codegen.value_types import boolean

        for k in range(4):
            there = builder.gep(place, [INT(k)])
            truth = context.load(builder, boolean, there)
            context.store(builder, boolean, builder.not_(truth), there)

    data = np.array([0, 1, 255, 2, 7], np.uint8)
    emitted(VOID, [POINTER], write)(data.ctypes.data)
    assert data.tolist() == [1, 0, 0, 0, 7]


def test_numba_is_made_once_and_only_if_needed() -> None:
    made: list[int] = []
    context = Context(lambda: made.append(1) or made)
    assert context.value_type(types.float64) and made == []
    assert context.numba is context.numba and made == [1]


KINDS = [
    *NUMBERS.values(), Array(types.float64, 2, "C"), Array(types.float32, 1, "A", readonly=True),
    Literal(3), types.none, types.string, Tuple((types.float64, Array(types.int64, 1, "C"))),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_numba_has_the_same_types(kind) -> None:
    pytest.importorskip("numba")
    assert of_numba(to_numba(kind)) == kind


def test_types_that_only_numba_has() -> None:
    numba = pytest.importorskip("numba")
    unaligned = numba.types.Array(numba.types.float64, 1, "C", aligned=False)
    generator = numba.typeof(np.random.default_rng(0))
    for type_ in (numba.types.List(numba.types.int64), unaligned, numba.types.NPDatetime("s")):
        found = of_numba(type_)
        assert isinstance(found, Opaque) and to_numba(found) is type_
    assert of_numba(generator) == types.generator and to_numba(of_numba(generator)) == generator
    assert of_numba(numba.types.literal("text")) == types.string
    fortran = of_numba(numba.types.Array(numba.types.float64, 2, "F"))
    assert fortran.layout == "F" and fortran.dtype == types.float64
