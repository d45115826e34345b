"""Arrays in machine code: a pointer, sizes, and who owns the memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..runtime.block_pool import ALLOCATE
from ..transforms.ir.record import record
from .llvm_utils import INT, NULL, POINTER, declared, member, new_function, room
from .type_lowering import Context, memory_type, to_numba

ALIGN = 32  # of the first element of an array


@record
class Buffer:
    """Values that describe an array: `strides`, in bytes, only where it is
    not laid out in C order; `memory` is what Numba's runtime counts references to."""

    type: Any
    data: Any
    sizes: list[Any]
    strides: list[Any] | None = None
    memory: Any = NULL

    def parts(self) -> list[Any]:
        return [self.data, *self.sizes, *(self.strides or ()), self.memory]

    def of_parts(self, parts: list[Any]) -> Buffer:
        """An array of the same type with other values."""
        n = len(self.sizes)
        strides = parts[n + 1 : -1] if self.strides is not None else None
        return Buffer(self.type, parts[0], parts[1 : n + 1], strides, parts[-1])

    def place(self, builder: Any, index: list[Any]) -> Any:
        """The address of an element, or of the first of those with these leading indices."""
        if not index:
            return self.data
        if self.strides is not None:
            offset: Any = None
            for i, stride in zip(index, self.strides):
                term = builder.mul(i, stride, flags=["nsw"])
                offset = term if offset is None else builder.add(offset, term, flags=["nsw"])
            raw = builder.bitcast(self.data, POINTER)
            return builder.bitcast(builder.gep(raw, [offset]), self.data.type)
        # Step by step, so that what an outer loop counts is added there.
        steps: list[Any] = [None]
        for size in reversed(self.sizes[1:]):
            inner = steps[0]
            steps.insert(0, size if inner is None else builder.mul(size, inner, flags=["nsw"]))
        made = self.data
        for i, step in zip(index, steps):
            offset = i if step is None else builder.mul(i, step, flags=["nsw"])
            made = builder.gep(made, [offset], inbounds=True)
        return made

    def part(self, builder: Any, type_: Any, index: list[Any]) -> Buffer:
        """x[i, …] with fewer indices than x has axes."""
        n = len(index)
        strides = self.strides[n:] if self.strides is not None else None
        return Buffer(type_, self.place(builder, index), self.sizes[n:], strides, self.memory)


def parts_of_type(type_: Any) -> list[Any]:
    """The types of what describes an array of a type."""
    strides = type_.ndim if type_.layout != "C" else 0
    return [memory_type(type_.dtype).as_pointer(), *[INT] * (type_.ndim + strides), POINTER]


def of_values(type_: Any, values: list[Any]) -> Buffer:
    """An array of a type, of such values."""
    n = type_.ndim
    strides = values[n + 1 : -1] if type_.layout != "C" else None
    return Buffer(type_, values[0], values[1 : n + 1], strides, values[-1])


def unpack(context: Context, builder: Any, type_: Any, value: Any) -> Buffer:
    """From Numba's own representation."""
    model = context.numba.data_model_manager[to_numba(type_)]

    def field(name: str) -> Any:
        return builder.extract_value(value, model.get_field_position(name))

    def axes(name: str) -> list[Any]:
        whole = field(name)
        return [builder.extract_value(whole, axis) for axis in range(type_.ndim)]

    strides = axes("strides") if type_.layout != "C" else None
    return Buffer(type_, field("data"), axes("shape"), strides, field("meminfo"))


def pack(context: Context, builder: Any, buffer: Buffer) -> Any:
    """To Numba's own representation."""
    type_ = buffer.type
    item = INT(type_.dtype.bytes)
    strides = buffer.strides
    if strides is None:
        strides = [item][: type_.ndim]
        for size in reversed(buffer.sizes[1:]):
            strides.insert(0, builder.mul(strides[0], size))
    count: Any = INT(1)
    for size in buffer.sizes:
        count = builder.mul(count, size)
    model = context.numba.data_model_manager[to_numba(type_)]
    value: Any = ir.Constant(model.get_value_type(), ir.Undefined)
    fields = {
        "meminfo": buffer.memory, "parent": NULL, "nitems": count, "itemsize": item,
        "data": buffer.data, "shape": buffer.sizes, "strides": strides,
    }  # fmt: skip
    for name, content in fields.items():
        place = model.get_field_position(name)
        if isinstance(content, list):
            whole = ir.Constant(value.type.elements[place], ir.Undefined)
            for axis, size in enumerate(content):
                whole = builder.insert_value(whole, size, axis)
            content = whole
        value = builder.insert_value(value, content, place)
    return value


# ---------------------------------------------------------------- memory


# What is counted: the references, two things of Numba's, the data and its size.
HEADER = ir.LiteralStructType([INT, POINTER, POINTER, POINTER, INT])


def allocate(builder: Any, type_: Any, sizes: list[Any], fail: Callable[[], None]) -> Buffer:
    """A new array; `fail` is written for the case that there is no memory for it."""
    make = _allocator(builder.module, len(sizes))
    memory = builder.call(make, [INT(type_.dtype.bytes), *sizes])
    with builder.if_then(builder.icmp_unsigned("==", memory, NULL), likely=False):
        fail()
    header = builder.bitcast(memory, HEADER.as_pointer())
    raw = builder.load(member(builder, header, 3))
    data = builder.bitcast(raw, memory_type(type_.dtype).as_pointer())
    return Buffer(type_, data, sizes, None, memory)


def on_stack(builder: Any, type_: Any, sizes: list[Any]) -> Buffer:
    """A small array of fixed size that nothing counts references to."""
    count = math.prod(n.constant for n in sizes)
    element = memory_type(type_.dtype)
    place = room(builder, ir.ArrayType(element, max(count, 1)))
    return Buffer(type_, builder.bitcast(place, element.as_pointer()), sizes, None, NULL)


def _allocator(module: Any, rank: int) -> Any:
    """alloc(itemsize, size, …): null for sizes that are negative or too large."""
    name = f"s2s.alloc.{rank}"
    function = module.globals.get(name)
    if function is not None:
        return function
    type_ = ir.FunctionType(POINTER, [INT] * (rank + 1))
    function = new_function(module, type_, name, "noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    bad: Any = ir.IntType(1)(0)
    total, *sizes = function.args
    for size in sizes:
        both = builder.smul_with_overflow(total, size)
        total = builder.extract_value(both, 0)
        bad = builder.or_(bad, builder.extract_value(both, 1))
        bad = builder.or_(bad, builder.icmp_signed("<", size, INT(0)))
    with builder.if_then(bad, likely=False):
        builder.ret(NULL)
    small = ir.IntType(32)
    kind = ir.FunctionType(POINTER, [INT, small])
    give = declared(module, kind, ALLOCATE)
    give.return_value.add_attribute("noalias")
    builder.ret(builder.call(give, [total, small(ALIGN)]))
    return function


def retain(builder: Any, memory: Any) -> None:
    builder.call(_counter(builder.module, "NRT_incref"), [memory])


def release(builder: Any, place: Any) -> None:
    """Lets go of the memory noted at a place, if any is."""
    builder.call(_release(builder.module), [place])


def _counter(module: Any, name: str) -> Any:
    return declared(module, ir.FunctionType(ir.VoidType(), [POINTER]), name)


def _release(module: Any) -> Any:
    """A function, so that the place stays in memory and out of the optimiser's way."""
    function = module.globals.get("s2s.release")
    if function is None:
        type_ = ir.FunctionType(ir.VoidType(), [POINTER.as_pointer()])
        function = new_function(module, type_, "s2s.release", "noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        (place,) = function.args
        builder.call(_counter(module, "NRT_decref"), [builder.load(place)])
        builder.store(NULL, place)
        builder.ret_void()
    return function
