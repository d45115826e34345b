"""Whether arrays that are written overlap with others, asked before a kernel does anything.

Only the ends of each array's memory are compared, which takes a nanosecond a pair; whether arrays
that may overlap do is found out by those who get the error.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numba.np import arrayobj

from ..errors import Overlap
from .buffers import INT, unpack

_TABLE = INT.as_pointer()
NAME = "s2s.apart"


def check(written: int, count: int) -> Any:
    """A function of so many arrays that raises `Overlap` unless the first ones, which are
    written, lie apart from each other and from the rest."""

    def typed(*arrays: Any) -> tuple[Any, Any]:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            emit(context, builder, sig.args, args, written)
            return context.get_dummy_value()

        return signature(types.none, *arrays), code

    names = ", ".join(f"a{i}" for i in range(count))
    made: dict[str, Any] = {"typed": typed}
    exec(f"def apart(context, {names}):\n    return typed({names})\n", made)
    return intrinsic(made["apart"])


def emit(context: Any, builder: Any, kinds: Any, args: Any, written: int) -> None:
    """The same in place: `args` are arrays of types `kinds`, the first of which are written."""
    table = cgutils.alloca_once(builder, INT, size=2 * len(args))
    for i, (type_, value) in enumerate(zip(kinds, args)):
        for end, bound in enumerate(_ends(context, builder, type_, value)):
            builder.store(bound, builder.gep(table, [INT(2 * i + end)]))
    apart = builder.call(function(builder.module), [table, INT(written), INT(len(args))])
    with builder.if_then(builder.not_(apart), likely=False):
        context.call_conv.return_user_exc(builder, Overlap, ())


def _ends(context: Any, builder: Any, type_: Any, value: Any) -> tuple[Any, Any]:
    """The first address of an array and the one after its last, or nothing's."""
    buffer = unpack(context, builder, type_, value)
    item = INT(arrayobj.get_itemsize(context, type_))
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
    boolean = ir.IntType(1)
    function = ir.Function(module, ir.FunctionType(boolean, [_TABLE, INT, INT]), NAME)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    table, written, count = function.args

    def bound(position: Any, end: int) -> Any:
        place = builder.add(builder.mul(position, INT(2)), INT(end))
        return builder.load(builder.gep(table, [place]))

    with cgutils.for_range(builder, written) as outer:
        i = outer.index
        with cgutils.for_range(builder, count, start=builder.add(i, INT(1))) as inner:
            j = inner.index
            before = builder.icmp_unsigned("<", bound(i, 0), bound(j, 1))
            after = builder.icmp_unsigned("<", bound(j, 0), bound(i, 1))
            with builder.if_then(builder.and_(before, after), likely=False):
                builder.ret(boolean(0))
    builder.ret(boolean(1))
    return function
