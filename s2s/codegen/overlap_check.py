"""Run-time alias check at the start of a kernel: written arrays must not overlap with others.

Only the address ranges of the arrays are compared, which takes a nanosecond per pair.  The check is
conservative; the code that handles the error determines whether the arrays really overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .array_values import Buffer, of_values, parts_of_type
from .llvm_utils import BIT, INT, NULL, counted_loop, entry_alloca, new_function
from .value_types import Array

_INT_POINTER = INT.as_pointer()
FUNCTION_NAME = "s2s.apart"


def emit(
    builder: Any, arrays: list[tuple[Buffer, int]], written: int, fail: Callable[[], None]
) -> None:
    """Emit the check that the first `written` arrays are disjoint from each other and from the
    rest.  `arrays` are pairs (buffer, item size).  `fail` emits the code for the other case."""
    table = entry_alloca(builder, INT, 2 * len(arrays))
    for i, (array, item) in enumerate(arrays):
        for end, bound in enumerate(_address_range(builder, array, INT(item))):
            builder.store(bound, builder.gep(table, [INT(2 * i + end)]))
    _emit_test(builder, table, written, len(arrays), fail)


def emit_for_frame(
    builder: Any,
    frame: Any,
    arrays: list[tuple[Array, int]],
    written: int,
    fail: Callable[[], None],
) -> None:
    """As `emit`, for arrays in a frame: pairs (type, index of the first word)."""
    table = entry_alloca(builder, INT, 2 * len(arrays))
    for i, (kind, word) in enumerate(arrays):
        pointers = [builder.gep(p, [INT(k)]) for p, k in ((frame, word), (table, 2 * i))]
        builder.call(_range_function(builder.module, kind), pointers)
    _emit_test(builder, table, written, len(arrays), fail)


def _emit_test(
    builder: Any, table: Any, written: int, count: int, fail: Callable[[], None]
) -> None:
    disjoint = builder.call(disjoint_function(builder.module), [table, INT(written), INT(count)])
    with builder.if_then(builder.not_(disjoint), likely=False):
        fail()


def _range_function(module: Any, kind: Array) -> Any:
    """The function ends(words, goal), which stores the address range of an array in a frame."""
    name = f"s2s.ends.{kind.dtype}.{kind.ndim}.{kind.layout}"
    function = module.globals.get(name)
    if function is None:
        type_ = ir.FunctionType(ir.VoidType(), [_INT_POINTER, _INT_POINTER])
        function = new_function(module, type_, name, "noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        words, goal = function.args
        loaded = []
        for position, part in enumerate(parts_of_type(kind)[:-1]):
            pointer = builder.bitcast(builder.gep(words, [INT(position)]), part.as_pointer())
            loaded.append(builder.load(pointer))
        array = of_values(kind, [*loaded, NULL])
        for end, bound in enumerate(_address_range(builder, array, INT(kind.dtype.bytes))):
            builder.store(bound, builder.gep(goal, [INT(end)]))
        builder.ret_void()
    return function


def _address_range(builder: Any, buffer: Buffer, item: Any) -> tuple[Any, Any]:
    """The address range [start, end) of an array; an empty range (-1, 0) if it has no elements."""
    start = end = builder.ptrtoint(buffer.data, INT)
    empty: Any = ir.IntType(1)(0)
    extent: Any = item
    for axis, size in enumerate(buffer.sizes):
        empty = builder.or_(empty, builder.icmp_signed("==", size, INT(0)))
        if buffer.strides is None:
            extent = builder.mul(extent, size)
            continue
        reach = builder.mul(buffer.strides[axis], builder.sub(size, INT(1)))
        back = builder.icmp_signed("<", reach, INT(0))
        start = builder.add(start, builder.select(back, reach, INT(0)))
        end = builder.add(end, builder.select(back, INT(0), reach))
    end = builder.add(end, extent)
    return builder.select(empty, INT(-1), start), builder.select(empty, INT(0), end)


def disjoint_function(module: Any) -> Any:
    """The function apart(table, written, all), two loops over pairs of address ranges."""
    function = module.globals.get(FUNCTION_NAME)
    if function is not None:
        return function
    type_ = ir.FunctionType(BIT, [_INT_POINTER, INT, INT])
    function = new_function(module, type_, FUNCTION_NAME, "noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    table, written, count = function.args

    def bound(position: Any, end: int) -> Any:
        index = builder.add(builder.mul(position, INT(2)), INT(end))
        return builder.load(builder.gep(table, [index]))

    with counted_loop(builder, written) as i:
        with counted_loop(builder, count, start=builder.add(i, INT(1))) as j:
            before = builder.icmp_unsigned("<", bound(i, 0), bound(j, 1))
            after = builder.icmp_unsigned("<", bound(j, 0), bound(i, 1))
            with builder.if_then(builder.and_(before, after), likely=False):
                builder.ret(BIT(0))
    builder.ret(BIT(1))
    return function
