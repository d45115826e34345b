"""Arrays in LLVM IR: data pointer, sizes, strides, and the meminfo that owns the memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..runtime.block_pool import ALLOCATE
from ..transforms.ir.record import record
from .llvm_utils import INT, NULL, POINTER, declare_function, entry_alloca, member, new_function
from .type_lowering import Context, memory_type, to_numba

ALIGN = 32  # bytes, alignment of the first element of an array


@record
class Buffer:
    """The IR values that describe an array.  `strides`, in bytes, are None for C order; `memory` is
    the meminfo, the reference-counted object of Numba's runtime."""

    type: Any
    data: Any
    sizes: list[Any]
    strides: list[Any] | None = None
    memory: Any = NULL

    def parts(self) -> list[Any]:
        """The components: data, sizes, strides unless in C order, meminfo."""
        return [self.data, *self.sizes, *(self.strides or ()), self.memory]

    def of_parts(self, parts: list[Any]) -> Buffer:
        """An array of the same type with other components."""
        n = len(self.sizes)
        strides = parts[n + 1 : -1] if self.strides is not None else None
        return Buffer(self.type, parts[0], parts[1 : n + 1], strides, parts[-1])

    def place(self, builder: Any, index: list[Any]) -> Any:
        """The address of an element, or of the subarray with these leading indices."""
        if not index:
            return self.data
        if self.strides is not None:
            offset: Any = None
            for i, stride in zip(index, self.strides):
                term = builder.mul(i, stride, flags=["nsw"])
                offset = term if offset is None else builder.add(offset, term, flags=["nsw"])
            raw = builder.bitcast(self.data, POINTER)
            return builder.bitcast(builder.gep(raw, [offset]), self.data.type)
        # One GEP per index, so that the offset of an outer index is loop-invariant in inner loops.
        steps: list[Any] = [None]
        for size in reversed(self.sizes[1:]):
            inner = steps[0]
            steps.insert(0, size if inner is None else builder.mul(size, inner, flags=["nsw"]))
        address = self.data
        for i, step in zip(index, steps):
            offset = i if step is None else builder.mul(i, step, flags=["nsw"])
            address = builder.gep(address, [offset], inbounds=True)
        return address

    def part(self, builder: Any, type_: Any, index: list[Any]) -> Buffer:
        """The subarray x[i, …] for fewer indices than x has axes."""
        n = len(index)
        strides = self.strides[n:] if self.strides is not None else None
        return Buffer(type_, self.place(builder, index), self.sizes[n:], strides, self.memory)


def parts_of_type(type_: Any) -> list[Any]:
    """The LLVM types of the components of an array (`Buffer.parts`)."""
    strides = type_.ndim if type_.layout != "C" else 0
    return [memory_type(type_.dtype).as_pointer(), *[INT] * (type_.ndim + strides), POINTER]


def of_values(type_: Any, values: list[Any]) -> Buffer:
    """The array of a type with these components."""
    n = type_.ndim
    strides = values[n + 1 : -1] if type_.layout != "C" else None
    return Buffer(type_, values[0], values[1 : n + 1], strides, values[-1])


def unpack(context: Context, builder: Any, type_: Any, value: Any) -> Buffer:
    """The `Buffer` of an array in Numba's data model."""
    model = context.numba.data_model_manager[to_numba(type_)]

    def field(name: str) -> Any:
        return builder.extract_value(value, model.get_field_position(name))

    def axes(name: str) -> list[Any]:
        whole = field(name)
        return [builder.extract_value(whole, axis) for axis in range(type_.ndim)]

    strides = axes("strides") if type_.layout != "C" else None
    return Buffer(type_, field("data"), axes("shape"), strides, field("meminfo"))


def pack(context: Context, builder: Any, buffer: Buffer) -> Any:
    """An array in Numba's data model."""
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
        position = model.get_field_position(name)
        if isinstance(content, list):
            whole = ir.Constant(value.type.elements[position], ir.Undefined)
            for axis, size in enumerate(content):
                whole = builder.insert_value(whole, size, axis)
            content = whole
        value = builder.insert_value(value, content, position)
    return value


# ---------------------------------------------------------------- memory


# Numba's NRT_MemInfo: reference count, destructor, its argument, data pointer, size.
HEADER = ir.LiteralStructType([INT, POINTER, POINTER, POINTER, INT])


def allocate(builder: Any, type_: Any, sizes: list[Any], fail: Callable[[], None]) -> Buffer:
    """Allocate an array; `fail` emits the code for an allocation failure."""
    make = _allocation_function(builder.module, len(sizes))
    memory = builder.call(make, [INT(type_.dtype.bytes), *sizes])
    with builder.if_then(builder.icmp_unsigned("==", memory, NULL), likely=False):
        fail()
    header = builder.bitcast(memory, HEADER.as_pointer())
    raw = builder.load(member(builder, header, 3))
    data = builder.bitcast(raw, memory_type(type_.dtype).as_pointer())
    return Buffer(type_, data, sizes, None, memory)


def on_stack(builder: Any, type_: Any, sizes: list[Any]) -> Buffer:
    """Allocate an array of constant size on the stack, without a meminfo."""
    count = math.prod(n.constant for n in sizes)
    element = memory_type(type_.dtype)
    place = entry_alloca(builder, ir.ArrayType(element, max(count, 1)))
    return Buffer(type_, builder.bitcast(place, element.as_pointer()), sizes, None, NULL)


def _allocation_function(module: Any, rank: int) -> Any:
    """The function alloc(itemsize, size, …); null if a size is negative or the total overflows."""
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
    pool_allocate = declare_function(module, kind, ALLOCATE)
    pool_allocate.return_value.add_attribute("noalias")
    builder.ret(builder.call(pool_allocate, [total, small(ALIGN)]))
    return function


def retain(builder: Any, memory: Any) -> None:
    builder.call(_refcount_function(builder.module, "NRT_incref"), [memory])


def release(builder: Any, place: Any) -> None:
    """Release the meminfo stored at an address, if any, and clear it."""
    builder.call(_release_function(builder.module), [place])


def _refcount_function(module: Any, name: str) -> Any:
    return declare_function(module, ir.FunctionType(ir.VoidType(), [POINTER]), name)


def _release_function(module: Any) -> Any:
    """The function release(place).  It is not inlined, so that the slot stays in memory and SSA
    construction does not promote it."""
    function = module.globals.get("s2s.release")
    if function is None:
        type_ = ir.FunctionType(ir.VoidType(), [POINTER.as_pointer()])
        function = new_function(module, type_, "s2s.release", "noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        (place,) = function.args
        builder.call(_refcount_function(module, "NRT_decref"), [builder.load(place)])
        builder.store(NULL, place)
        builder.ret_void()
    return function
