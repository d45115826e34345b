"""Memory inside the caller's workspace, handed out and taken back by count of references.

A block begins with a header of eight words: its size in words, and how many refer to it.  The
heap is a row of blocks without gaps; the first that is free and large enough is taken, together
with free ones behind it.  All of it is written in the language of lowered text, which CPython
can run as well.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..codegen import value_types as types
from ..codegen.llvm_utils import INT, NULL, POINTER
from . import scalar_functions

WORDS = INT.as_pointer()

TAKE = """
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

# A pool is a heap of blocks of one size.
DRAW = """
def draw(pool, stride, count):
    found = -1
    for i in range(count):
        if pool[i * stride + 1] == 0:
            found = i * stride
            pool[found + 1] = 1
            break
    return (found,)
"""

CLEAR = """
def clear(pool, stride, count):
    for i in range(count):
        pool[i * stride + 1] = 0
    return (count,)
"""


def call(context: Any, builder: Any, text: str, place: Any, *numbers: Any) -> Any:
    kinds = [scalar_functions.VECTOR, *[types.int64] * len(numbers)]
    function = scalar_functions.function(context, builder.module, text, kinds)
    return builder.call(function, [builder.bitcast(place, WORDS), *numbers])


def block_at(builder: Any, start: Any, word: Any) -> tuple[Any, Any]:
    """The header of a block and its data, given where it begins in the heap."""
    head = builder.gep(start, [builder.mul(word, INT(8))])
    return head, builder.gep(head, [INT(64)])


def retain(builder: Any, memory: Any) -> None:
    _count(builder, memory, 1)


def release(builder: Any, place: Any) -> None:
    """Lets go of the block noted at a place, if any is."""
    _count(builder, builder.load(place), -1)
    builder.store(NULL, place)


def _count(builder: Any, memory: Any, by: int) -> None:
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
