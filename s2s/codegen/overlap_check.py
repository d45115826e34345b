"""Whether arrays that are written overlap with others, asked before a kernel does anything.

Only the ends of each array's memory are compared, which takes a nanosecond a pair; whether arrays
that may overlap do is found out by those who get the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from .array_values import Buffer, of_values, parts_of_type
from .llvm_utils import BIT, INT, NULL, counting, new_function, room
from .value_types import Array

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
    _ask(builder, table, written, len(arrays), fail)


def emit_in(
    builder: Any,
    frame: Any,
    arrays: list[tuple[Array, int]],
    written: int,
    fail: Callable[[], None],
) -> None:
    """The same for arrays that lie in a frame, from the given words on."""
    table = room(builder, INT, 2 * len(arrays))
    for i, (kind, word) in enumerate(arrays):
        places = [builder.gep(p, [INT(k)]) for p, k in ((frame, word), (table, 2 * i))]
        builder.call(_ends_of(builder.module, kind), places)
    _ask(builder, table, written, len(arrays), fail)


def _ask(builder: Any, table: Any, written: int, count: int, fail: Callable[[], None]) -> None:
    apart = builder.call(function(builder.module), [table, INT(written), INT(count)])
    with builder.if_then(builder.not_(apart), likely=False):
        fail()


def _ends_of(module: Any, kind: Array) -> Any:
    """ends(words, goal): those of an array in a frame."""
    name = f"s2s.ends.{kind.dtype}.{kind.ndim}.{kind.layout}"
    function = module.globals.get(name)
    if function is None:
        type_ = ir.FunctionType(ir.VoidType(), [_TABLE, _TABLE])
        function = new_function(module, type_, name, "noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        words, goal = function.args
        loaded = []
        for position, part in enumerate(parts_of_type(kind)[:-1]):
            place = builder.bitcast(builder.gep(words, [INT(position)]), part.as_pointer())
            loaded.append(builder.load(place))
        array = of_values(kind, [*loaded, NULL])
        for end, bound in enumerate(_ends(builder, array, INT(kind.dtype.bytes))):
            builder.store(bound, builder.gep(goal, [INT(end)]))
        builder.ret_void()
    return function


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
