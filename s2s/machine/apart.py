"""Whether arrays that are written overlap with others, asked before a kernel does anything.

Only the ends of each array's memory are compared, which takes a nanosecond a pair; whether arrays
that may overlap do is found out by those who get the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .buffers import Buffer
from .writing import BIT, INT, counting, new_function, room

_TABLE = INT.as_pointer()
NAME = "s2s.apart"


def emit(
    builder: Any, arrays: list[tuple[Buffer, int]], written: int, fail: Callable[[], None]
) -> None:
    """The question whether the first arrays, which are written, lie apart from each other and
    from the rest; with each stands how long an element is.  `fail` is written for the case that
    they do not."""
    table = room(builder, INT, 2 * len(arrays))
    for i, (array, item) in enumerate(arrays):
        for end, bound in enumerate(_ends(builder, array, INT(item))):
            builder.store(bound, builder.gep(table, [INT(2 * i + end)]))
    apart = builder.call(function(builder.module), [table, INT(written), INT(len(arrays))])
    with builder.if_then(builder.not_(apart), likely=False):
        fail()


def _ends(builder: Any, buffer: Buffer, item: Any) -> tuple[Any, Any]:
    """The first address of an array and the one after its last, or nothing's."""
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


def function(module: Any) -> Any:
    """apart(table, written, all): two loops over pairs of ends."""
    function = module.globals.get(NAME)
    if function is not None:
        return function
    type_ = ir.FunctionType(BIT, [_TABLE, INT, INT])
    function = new_function(module, type_, NAME, "noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    table, written, count = function.args

    def bound(position: Any, end: int) -> Any:
        place = builder.add(builder.mul(position, INT(2)), INT(end))
        return builder.load(builder.gep(table, [place]))

    with counting(builder, written) as i:
        with counting(builder, count, start=builder.add(i, INT(1))) as j:
            before = builder.icmp_unsigned("<", bound(i, 0), bound(j, 1))
            after = builder.icmp_unsigned("<", bound(j, 0), bound(i, 1))
            with builder.if_then(builder.and_(before, after), likely=False):
                builder.ret(BIT(0))
    builder.ret(BIT(1))
    return function
