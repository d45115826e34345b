"""Arrays in LLVM IR: addresses, allocation, and Numba's representation."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest

from s2s.codegen import array_values
from s2s.codegen import value_types as types
from s2s.codegen.array_values import Buffer, allocate, of_values, on_stack, parts_of_type
from s2s.codegen.llvm_utils import INT, NULL, POINTER
from s2s.runtime import block_pool
from tests.s2s.codegen.machine_code import DOUBLE, VECTOR, VOID, emitted, release_block


def test_components_and_back() -> None:
    for kind in (VECTOR, types.Array(types.float32, 3, "A"), types.Array(types.float64, 0, "C")):
        count = len(parts_of_type(kind))
        assert count == 1 + kind.ndim * (1 if kind.layout == "C" else 2) + 1
        values = [f"v{k}" for k in range(count)]
        buffer = of_values(kind, values)
        assert buffer.parts() == values and len(buffer.sizes) == kind.ndim
        assert (buffer.strides is None) == (kind.layout == "C")
        assert buffer.of_parts(values[::-1]).parts() == values[::-1]


@pytest.mark.parametrize("layout", ["C", "A"])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)])
def test_addresses_of_elements_and_parts(layout, shape) -> None:
    kind = types.Array(types.float64, len(shape), layout)
    taken = [*parts_of_type(kind)[1:-1]]

    def write(builder: Any, data: Any, *rest: Any) -> Any:
        sizes, index = list(rest[: len(taken)]), list(rest[len(taken) :])
        buffer = of_values(kind, [builder.bitcast(data, DOUBLE.as_pointer()), *sizes, NULL])
        first = buffer.part(builder, kind.with_rank(len(shape) - 1), index[:1])
        one, other = buffer.place(builder, index), first.place(builder, index[1:])
        same = builder.icmp_unsigned("==", one, other)
        found = builder.sub(builder.ptrtoint(one, INT), builder.ptrtoint(data, INT))
        return builder.select(same, found, INT(-1))

    run = emitted(INT, [POINTER, *taken, *[INT] * len(shape)], write)
    x = np.zeros(shape) if layout == "C" else np.zeros([2 * n for n in shape])[
        tuple(slice(None, None, -2) for _ in shape)]  # fmt: skip
    for index in itertools.product(*map(range, shape)):
        place = x[tuple(slice(i, i + 1) for i in index)].ctypes.data
        strides = x.strides if layout == "A" else ()
        assert run(x.ctypes.data, *shape, *strides, *index) == place - x.ctypes.data


def allocator(item: types.Number, rank: int) -> Any:
    """The meminfo of a new array, or 0."""

    def write(builder: Any, *sizes: Any) -> Any:
        kind = types.Array(item, rank, "C")
        buffer = allocate(builder, kind, list(sizes), lambda: builder.ret(INT(0)))
        return builder.ptrtoint(buffer.memory, INT)

    given = {array_values.ALLOCATE: block_pool.library()[array_values.ALLOCATE]}
    return emitted(INT, [INT] * rank, write, **given)


def test_memory_is_as_large_as_the_array_and_aligned() -> None:
    make = allocator(types.float64, 2)
    for sizes in ((0, 0), (0, 5), (3, 5), (1000, 7), (1, 1)):
        memory = make(*sizes)
        count, _, _, data, size = (ctypes.c_int64 * 5).from_address(memory)
        assert count == 1 and data % array_values.ALIGN == 0 and size >= 8 * sizes[0] * sizes[1]
        release_block(memory)


@pytest.mark.parametrize("item", [types.NUMBERS["int8"], types.float64, types.complex128])
def test_sizes_that_are_negative_or_overflow_are_refused(item) -> None:
    make = allocator(item, 3)
    before = block_pool.usage()["in_use"]
    for sizes in ((-1, 1, 1), (1, -1, 1), (-1, -1, 1), (-(2**63), 1, 0), (0, -1, 5),
                  (2**32, 2**32, 1), (2**62, 4, 1), (2**21, 2**21, 2**21), (2**63 - 1, 1, 1),
                  (2**61, 1, 1), (2**63 - 1, 2, 1), (2**47, 1, 1), (2**33, 2**31, 0)):  # fmt: skip
        assert make(*sizes) == 0 or sizes[2] == 0 and sizes[0] == 2**33
    assert block_pool.usage()["in_use"] == before


def test_arrays_on_the_stack_are_apart() -> None:
    def write(builder: Any, goal: Any) -> None:
        words = builder.bitcast(goal, INT.as_pointer())
        for k, sizes in enumerate(([INT(3), INT(2)], [INT(0)], [INT(64)])):
            kind = types.Array(types.float64, len(sizes), "C")
            buffer = on_stack(builder, kind, sizes)
            assert buffer.memory is NULL and buffer.sizes == sizes
            builder.store(builder.ptrtoint(buffer.data, INT), builder.gep(words, [INT(k)]))

    goal = np.zeros(3, np.int64)
    emitted(VOID, [POINTER], write)(goal.ctypes.data)
    ranges = sorted(zip(goal.tolist(), (48, 8, 512)))
    assert all(a + size <= b for (a, size), (b, _) in zip(ranges, ranges[1:]))
    assert all(start % 8 == 0 for start, _ in ranges)


def test_release_clears_the_place() -> None:
    released: list[int] = []
    decref = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda p: released.append(p or 0))

    def write(builder: Any, place: Any) -> None:
        for _ in range(2):
            array_values.release(builder, builder.bitcast(place, POINTER.as_pointer()))

    run = emitted(VOID, [POINTER], write, NRT_decref=ctypes.cast(decref, ctypes.c_void_p).value)
    place = np.array([4096])
    run(place.ctypes.data)
    assert released == [4096, 0] and place[0] == 0


def test_a_part_shares_the_memory() -> None:
    kind = types.Array(types.float64, 2, "C")
    buffer = Buffer(kind, "data", ["n", "m"], None, "memory")
    assert buffer.place(None, []) == "data" and buffer.parts()[-1] == "memory"
