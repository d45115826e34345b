"""How far a thread's stack reaches, for functions that call themselves.

Machine code that runs out of stack ends the process.  `rt.stack_limit`, called once where a kernel
begins, gives the address below which no function may begin; `rt.stack_is_low` compares the stack
pointer with it.  Stacks grow downwards on every machine that is supported.
"""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir

from .llvm_utils import INT, POINTER, declared, new_function, room

LIMIT = "s2s.stack_limit"
STATUS = ir.IntType(32)
RLIMIT_STACK = 3  # Linux's number
# Of the thread that the process begins with, whose stack grows while it is used.
LARGEST = 64 << 20
# Where nothing is known of the stack, and in libraries, which call nothing of the system.
UNKNOWN, ALLOWED = 512 << 10, 4 << 20


def stack_limit(builder: Any, reserve: Any) -> Any:
    """The lowest address for the frame of a function; `reserve` bytes, or a quarter of a small
    stack, are left for what such a function calls."""
    module = builder.module
    return builder.call(module.globals.get(LIMIT) or _define(module, sys.platform), [reserve])


def stack_is_low(builder: Any, limit: Any) -> Any:
    return builder.icmp_unsigned("<", _here(builder), limit)


def define_for_library(module: Any) -> None:
    """A limit that asks nobody: so many bytes below the caller's frame."""
    _define(module, "library")


def _here(builder: Any) -> Any:
    return builder.ptrtoint(room(builder, ir.IntType(8)), INT)


def _define(module: Any, platform: str) -> Any:
    made = new_function(module, ir.FunctionType(INT, [INT]), LIMIT, "noinline")
    builder = ir.IRBuilder(made.append_basic_block())
    if platform == "linux":
        lowest, size = _on_linux(builder)
    elif platform == "darwin":
        lowest, size = _on_darwin(builder)
    else:
        size = INT(ALLOWED if platform == "library" else UNKNOWN)
        lowest = builder.sub(_here(builder), size)
    quarter = builder.lshr(size, INT(2))
    small = builder.icmp_unsigned("<", quarter, made.args[0])
    builder.ret(builder.add(lowest, builder.select(small, quarter, made.args[0])))
    return made


def _call(builder: Any, result: Any, name: str, *args: Any) -> Any:
    type_ = ir.FunctionType(result, [a.type for a in args])
    return builder.call(declared(builder.module, type_, name), args)


def _on_linux(builder: Any) -> tuple[Any, Any]:
    """The first thread's stack has the size that the process may ask for; finding its end would
    mean to read a file.  The other threads' stacks are known to the C library."""
    pair = ir.ArrayType(INT, 2)
    found = room(builder, pair)
    first, second = (builder.gep(found, [INT(0), INT(i)]) for i in range(2))
    attributes = builder.bitcast(room(builder, INT, 32), POINTER)
    is_first = builder.icmp_signed(
        "==", _call(builder, STATUS, "getpid"), _call(builder, STATUS, "gettid")
    )
    with builder.if_else(is_first) as (then, orelse):
        with then:
            failed = _call(builder, STATUS, "getrlimit", STATUS(RLIMIT_STACK), first)
            given = builder.load(first)
            fits = builder.icmp_unsigned("<", given, INT(LARGEST))
            whole = builder.select(fits, given, INT(LARGEST))
            unknown = builder.icmp_signed("!=", failed, STATUS(0))
            whole = builder.select(unknown, INT(UNKNOWN), whole)
            # A part is in use already.
            first_size = builder.sub(whole, builder.lshr(whole, INT(2)))
            first_lowest = builder.sub(_here(builder), first_size)
            first_block = builder.block
        with orelse:
            thread = _call(builder, INT, "pthread_self")
            failed = _call(builder, STATUS, "pthread_getattr_np", thread, attributes)
            known = builder.icmp_signed("==", failed, STATUS(0))
            builder.store(builder.sub(_here(builder), INT(UNKNOWN)), first)
            builder.store(INT(UNKNOWN), second)
            with builder.if_then(known):
                _call(builder, STATUS, "pthread_attr_getstack", attributes, first, second)
                _call(builder, STATUS, "pthread_attr_destroy", attributes)
            other_lowest, other_size = builder.load(first), builder.load(second)
            other_block = builder.block
    lowest, size = builder.phi(INT), builder.phi(INT)
    for value, here, there in (
        (lowest, first_lowest, other_lowest),
        (size, first_size, other_size),
    ):
        value.add_incoming(here, first_block)
        value.add_incoming(there, other_block)
    return lowest, size


def _on_darwin(builder: Any) -> tuple[Any, Any]:
    thread = _call(builder, INT, "pthread_self")
    top = _call(builder, INT, "pthread_get_stackaddr_np", thread)
    size = _call(builder, INT, "pthread_get_stacksize_np", thread)
    return builder.sub(top, size), size
