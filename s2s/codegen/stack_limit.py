"""Stack overflow checks for recursive functions.

Compiled code that overflows the stack crashes the process.  `rt.stack_limit`, called once at kernel
entry, returns the lowest address at which a function's frame may start; `rt.stack_is_low` compares
the stack pointer with it.  The stack grows downwards on all supported targets.
"""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir

from .llvm_utils import INT, POINTER, declare_function, entry_alloca, new_function

FUNCTION_NAME = "s2s.stack_limit"
STATUS = ir.IntType(32)
RLIMIT_STACK = 3  # the value on Linux
# Upper bound in bytes for the main thread, whose stack grows on demand.
MAX_MAIN_STACK = 64 << 20
# Stack sizes in bytes assumed if the real one is not available, and in ahead-of-time libraries,
# which make no system calls.
DEFAULT_STACK, LIBRARY_STACK = 512 << 10, 4 << 20


def stack_limit(builder: Any, reserve: Any) -> Any:
    """Emit the lowest address at which a frame may start.  `reserve` bytes, or a quarter of a small
    stack, are left for callees."""
    module = builder.module
    return builder.call(
        module.globals.get(FUNCTION_NAME) or _define(module, sys.platform), [reserve]
    )


def stack_is_low(builder: Any, limit: Any) -> Any:
    """Emit the test whether the stack pointer is below the limit."""
    return builder.icmp_unsigned("<", _stack_pointer(builder), limit)


def define_for_library(module: Any) -> None:
    """Define the limit without system calls: a constant distance below the caller's frame."""
    _define(module, "library")


def _stack_pointer(builder: Any) -> Any:
    """The address of an alloca, which approximates the stack pointer."""
    return builder.ptrtoint(entry_alloca(builder, ir.IntType(8)), INT)


def _define(module: Any, platform: str) -> Any:
    made = new_function(module, ir.FunctionType(INT, [INT]), FUNCTION_NAME, "noinline")
    builder = ir.IRBuilder(made.append_basic_block())
    if platform == "linux":
        lowest, size = _on_linux(builder)
    elif platform == "darwin":
        lowest, size = _on_darwin(builder)
    else:
        size = INT(LIBRARY_STACK if platform == "library" else DEFAULT_STACK)
        lowest = builder.sub(_stack_pointer(builder), size)
    quarter = builder.lshr(size, INT(2))
    small = builder.icmp_unsigned("<", quarter, made.args[0])
    builder.ret(builder.add(lowest, builder.select(small, quarter, made.args[0])))
    return made


def _call(builder: Any, result: Any, name: str, *args: Any) -> Any:
    type_ = ir.FunctionType(result, [a.type for a in args])
    return builder.call(declare_function(builder.module, type_, name), args)


def _on_linux(builder: Any) -> tuple[Any, Any]:
    """(lowest address, size) of the stack.  The main thread's size is its resource limit; finding
    its end would mean to read a file.  For other threads the C library has both."""
    pair = ir.ArrayType(INT, 2)
    found = entry_alloca(builder, pair)
    first, second = (builder.gep(found, [INT(0), INT(i)]) for i in range(2))
    attributes = builder.bitcast(entry_alloca(builder, INT, 32), POINTER)
    is_main = builder.icmp_signed(
        "==", _call(builder, STATUS, "getpid"), _call(builder, STATUS, "gettid")
    )
    with builder.if_else(is_main) as (then, orelse):
        with then:
            failed = _call(builder, STATUS, "getrlimit", STATUS(RLIMIT_STACK), first)
            given = builder.load(first)
            fits = builder.icmp_unsigned("<", given, INT(MAX_MAIN_STACK))
            whole = builder.select(fits, given, INT(MAX_MAIN_STACK))
            unknown = builder.icmp_signed("!=", failed, STATUS(0))
            whole = builder.select(unknown, INT(DEFAULT_STACK), whole)
            # A quarter is assumed to be in use already.
            main_size = builder.sub(whole, builder.lshr(whole, INT(2)))
            main_lowest = builder.sub(_stack_pointer(builder), main_size)
            main_block = builder.block
        with orelse:
            thread = _call(builder, INT, "pthread_self")
            failed = _call(builder, STATUS, "pthread_getattr_np", thread, attributes)
            known = builder.icmp_signed("==", failed, STATUS(0))
            builder.store(builder.sub(_stack_pointer(builder), INT(DEFAULT_STACK)), first)
            builder.store(INT(DEFAULT_STACK), second)
            with builder.if_then(known):
                _call(builder, STATUS, "pthread_attr_getstack", attributes, first, second)
                _call(builder, STATUS, "pthread_attr_destroy", attributes)
            other_lowest, other_size = builder.load(first), builder.load(second)
            other_block = builder.block
    lowest, size = builder.phi(INT), builder.phi(INT)
    for value, here, there in (
        (lowest, main_lowest, other_lowest),
        (size, main_size, other_size),
    ):
        value.add_incoming(here, main_block)
        value.add_incoming(there, other_block)
    return lowest, size


def _on_darwin(builder: Any) -> tuple[Any, Any]:
    thread = _call(builder, INT, "pthread_self")
    top = _call(builder, INT, "pthread_get_stackaddr_np", thread)
    size = _call(builder, INT, "pthread_get_stacksize_np", thread)
    return builder.sub(top, size), size
