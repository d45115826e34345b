"""Helpers for LLVM IR: where memory is reserved, how loops count, what is declared once."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from llvmlite import ir

from s2s.codegen.llvm_utils import (
    INT,
    NULL,
    POINTER,
    alloca_of,
    counted_loop,
    declare_function,
    entry_alloca,
    member,
    new_function,
    struct,
)
from tests.s2s.codegen.machine_code import BIT, DOUBLE, address, emitted, verified


def test_memory_in_a_loop_is_reserved_once() -> None:
    """An alloca inside a loop would take more of the stack in each iteration: a million of them
    would overflow it."""

    def write(builder, n):
        total = entry_alloca(builder, INT, zero=True)
        with counted_loop(builder, n) as i:
            place = entry_alloca(builder, ir.ArrayType(INT, 32), zero=True)
            first = builder.gep(place, [INT(0), INT(5)])
            builder.store(builder.add(builder.load(first), i), first)
            builder.store(builder.add(builder.load(total), builder.load(first)), total)
        # All iterations share the memory, which is cleared at the entry of the function only.
        return builder.load(total)

    run = emitted(INT, [INT], write)
    assert run(0) == 0 and run(4) == 0 + 1 + 3 + 6
    n = 1_000_000
    assert run(n) == (n - 1) * n * (n + 1) // 6


@pytest.mark.parametrize("bounds", [(0, 5), (3, 5), (5, 5), (7, 5), (-2, 1), (0, -1)])
def test_loops_exclude_the_end(bounds) -> None:
    def write(builder, start, stop, goal):
        place = builder.bitcast(goal, INT.as_pointer())
        with counted_loop(builder, stop, start=start) as i:
            builder.store(builder.add(i, INT(1)), builder.gep(place, [builder.add(i, INT(8))]))

    start, stop = bounds
    goal = np.zeros(32, np.int64)
    emitted(ir.VoidType(), [INT, INT, POINTER], write)(start, stop, address(goal))
    expected = np.zeros(32, np.int64)
    for i in range(start, stop):
        expected[i + 8] = i + 1
    np.testing.assert_array_equal(goal, expected)


def test_loops_nest_and_end_where_the_body_ends() -> None:
    def write(builder, n):
        total = entry_alloca(builder, INT, zero=True)
        with counted_loop(builder, n) as i:
            with counted_loop(builder, i) as j:
                with builder.if_then(builder.icmp_signed("!=", j, INT(1))):
                    builder.store(builder.add(builder.load(total), j), total)
        return builder.load(total)

    assert emitted(INT, [INT], write)(5) == sum(j for i in range(5) for j in range(i) if j != 1)


def test_a_value_in_memory() -> None:
    def write(builder, x):
        return builder.load(alloca_of(builder, builder.fadd(x, DOUBLE(1.0))))

    assert emitted(DOUBLE, [DOUBLE], write)(2.5) == 3.5


def test_rooms_of_several_elements_do_not_overlap() -> None:
    def write(builder, goal):
        words = builder.bitcast(goal, INT.as_pointer())
        rooms = [entry_alloca(builder, INT, 7), entry_alloca(builder, INT, 7)]
        for k, place in enumerate(rooms):
            with counted_loop(builder, INT(7)) as i:
                builder.store(builder.add(i, INT(100 * k)), builder.gep(place, [i]))
        for k, place in enumerate(rooms):
            with counted_loop(builder, INT(7)) as i:
                there = builder.gep(words, [builder.add(i, INT(7 * k))])
                builder.store(builder.load(builder.gep(place, [i])), there)

    goal = np.zeros(14, np.int64)
    emitted(ir.VoidType(), [POINTER], write)(address(goal))
    assert goal.tolist() == [*range(7), *range(100, 107)]


def test_functions_are_declared_once() -> None:
    module = ir.Module()
    kind = ir.FunctionType(INT, [INT])
    first = declare_function(module, kind, "f")
    assert declare_function(module, kind, "f") is first
    made = new_function(module, kind, "g", "noinline", "nounwind")
    ir.IRBuilder(made.append_basic_block()).ret(INT(0))
    assert declare_function(module, kind, "g") is made and made.linkage == "internal"
    text = str(verified(module).get_function("g"))
    assert "internal" in text
    with pytest.raises(Exception, match="g"):
        new_function(module, kind, "g")


def test_members_of_structs() -> None:
    """At the offsets of the same struct in C."""

    class Struct(ctypes.Structure):
        _fields_ = [("a", ctypes.c_bool), ("b", ctypes.c_double), ("c", ctypes.c_int64)]

    kind = ir.LiteralStructType([BIT, DOUBLE, INT])

    def write(builder, goal):
        whole = struct(builder, [BIT(1), DOUBLE(0.5), INT(7)])
        place = builder.bitcast(goal, kind.as_pointer())
        builder.store(whole, place)
        c = member(builder, place, 2)
        builder.store(builder.add(builder.load(c), INT(1)), c)

    made = Struct()
    emitted(ir.VoidType(), [POINTER], write)(ctypes.addressof(made))
    assert (made.a, made.b, made.c) == (True, 0.5, 8)


def test_null_is_no_address() -> None:
    run = emitted(BIT, [POINTER], lambda b, p: b.icmp_unsigned("==", p, NULL))
    assert run(None) and not run(8)
