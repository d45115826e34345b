"""A reference-counted first-fit heap inside the caller's workspace.

A block begins with a header of eight words, of which two are used: its size in words and its
reference count.  The heap is a contiguous sequence of blocks.  Allocation takes the first free
block that is large enough, after merging it with free blocks that follow it.  The allocator is
written as lowered source, which CPython can run as well.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..codegen import value_types as types
from ..codegen.llvm_utils import INT, NULL, POINTER
from . import scalar_functions

WORDS = INT.as_pointer()

ALLOCATE = """
def take(heap, total, need):
    at = 0
    found = -1
    while True:
        if at >= total:
            break
        if heap[at + 1] == 0:
            while True:
                after = at + heap[at]
                if after >= total:
                    break
                if heap[after + 1] != 0:
                    break
                heap[at] = heap[at] + heap[after]
            if heap[at] >= need:
                found = at
                break
        at = at + heap[at]
    if found >= 0:
        left = heap[found] - need
        if left >= 8:
            heap[found + need] = left
            heap[found + need + 1] = 0
            heap[found] = need
        heap[found + 1] = 1
    return (found,)
"""

# A pool is an array of blocks of one size.
ALLOCATE_FROM_POOL = """
def draw(pool, stride, count):
    found = -1
    for i in range(count):
        if pool[i * stride + 1] == 0:
            found = i * stride
            pool[found + 1] = 1
            break
    return (found,)
"""

CLEAR_POOL = """
def clear(pool, stride, count):
    for i in range(count):
        pool[i * stride + 1] = 0
    return (count,)
"""


def call(context: Any, builder: Any, text: str, place: Any, *scalars: Any) -> Any:
    """Emit a call of one of the functions above on the words at `place`."""
    kinds = [scalar_functions.INT64_VECTOR, *[types.int64] * len(scalars)]
    function = scalar_functions.function(context, builder.module, text, kinds)
    return builder.call(function, [builder.bitcast(place, WORDS), *scalars])


def block_at(builder: Any, start: Any, word: Any) -> tuple[Any, Any]:
    """The addresses of the header and of the data of a block, given its word offset."""
    head = builder.gep(start, [builder.mul(word, INT(8))])
    return head, builder.gep(head, [INT(64)])


def retain(builder: Any, memory: Any) -> None:
    """Increment the reference count of a block."""
    _add_to_count(builder, memory, 1)


def release(builder: Any, place: Any) -> None:
    """Decrement the reference count of the block whose address is stored at `place`, and store
    null there.  A null address is ignored."""
    _add_to_count(builder, builder.load(place), -1)
    builder.store(NULL, place)


def _add_to_count(builder: Any, memory: Any, by: int) -> None:
    """Emit a call that adds `by` to the reference count of a block, if it is not null."""
    if memory is NULL:
        return
    function = builder.module.globals.get("s2s.count")
    if function is None:
        kind = ir.FunctionType(ir.VoidType(), [POINTER, INT])
        function = ir.Function(builder.module, kind, "s2s.count")
        function.linkage = "internal"
        function.attributes.add("noinline")
        inner = ir.IRBuilder(function.append_basic_block())
        block, change = function.args
        with inner.if_then(inner.icmp_unsigned("!=", block, NULL)):
            words = inner.bitcast(block, WORDS)
            place = inner.gep(words, [INT(1)])
            inner.store(inner.add(inner.load(place), change), place)
        inner.ret_void()
    builder.call(function, [memory, INT(by)])
