"""The stack limit: below the current frame, above the end of the stack, in every thread."""

from __future__ import annotations

import ctypes
import resource
import sys
import threading
from typing import Any

import pytest
from llvmlite import ir

from s2s.codegen import stack_limit
from s2s.codegen.llvm_utils import INT
from tests.s2s.codegen.machine_code import BIT, emitted, linked


def limits(platform: str) -> Any:
    """(address of a frame, limit) for a reserve, each a function."""

    def limit(builder: Any, reserve: Any) -> Any:
        if platform == "library":
            stack_limit.define_for_library(builder.module)
        elif platform != sys.platform:
            stack_limit._define(builder.module, platform)
        found = stack_limit.stack_limit(builder, reserve)
        assert stack_limit.FUNCTION_NAME in builder.module.globals
        return found

    return emitted(INT, [INT], limit)


frame = emitted(INT, [], stack_limit._stack_pointer)


def own_stack() -> tuple[int, int]:
    """The lowest address and the size of this thread's stack, as the C library has them."""
    library = ctypes.CDLL(None)
    library.pthread_self.restype = ctypes.c_ulong
    attributes, start, size = (ctypes.c_char * 256)(), ctypes.c_void_p(), ctypes.c_size_t()
    assert library.pthread_getattr_np(ctypes.c_ulong(library.pthread_self()), attributes) == 0
    library.pthread_attr_getstack(attributes, ctypes.byref(start), ctypes.byref(size))
    library.pthread_attr_destroy(attributes)
    return start.value or 0, size.value


def in_thread(size: int, work: Any) -> Any:
    found: list[Any] = []
    before = threading.stack_size(size)
    try:
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    return found[0]


def test_the_limit_lies_below_the_frame() -> None:
    run = limits(sys.platform)
    for reserve in (0, 4096, 1 << 16):
        assert 0 < run(reserve) < frame()
    assert run(1 << 16) - run(0) == pytest.approx(1 << 16, abs=4096)


def test_no_more_than_a_quarter_is_reserved() -> None:
    """On a small stack, all of it would be."""
    run = limits(sys.platform)
    assert run(1 << 40) < frame()
    low, high, here = in_thread(1 << 20, lambda: (run(0), run(1 << 40), frame()))
    assert low < high < here and high - low >= (1 << 20) / 5


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the size")
def test_threads_have_limits_of_their_own() -> None:
    run = limits("linux")
    for size in (1 << 20, 4 << 20):
        low, here, (start, whole) = in_thread(size, lambda: (run(0), frame(), own_stack()))
        assert low == start < here <= start + whole and whole >= size
        quarter = in_thread(size, lambda: run(1 << 40) - own_stack()[0])
        assert quarter >= size // 4
    most = min(resource.getrlimit(resource.RLIMIT_STACK)[0] % 2**64, stack_limit.MAX_MAIN_STACK)
    assert frame() - run(0) <= most


@pytest.mark.parametrize(
    "platform, size",
    [("library", stack_limit.LIBRARY_STACK), ("win32", stack_limit.DEFAULT_STACK)],
)
def test_a_constant_distance_where_nothing_is_known(platform, size) -> None:
    assert frame() - limits(platform)(0) == pytest.approx(size, abs=1 << 16)


def test_libraries_make_no_system_calls() -> None:
    module = ir.Module()
    stack_limit.define_for_library(module)
    assert [*module.globals] == [stack_limit.FUNCTION_NAME]


def test_darwin() -> None:
    """The address and the size come from the C library."""
    module = ir.Module()
    made = stack_limit._define(module, "darwin")
    names = {"pthread_self", "pthread_get_stackaddr_np", "pthread_get_stacksize_np"}
    assert names < set(module.globals) and made.name == stack_limit.FUNCTION_NAME


def test_comparison() -> None:
    run = emitted(BIT, [INT], stack_limit.stack_is_low)
    assert not run(0) and not run(frame() - (1 << 20)) and run(frame() + (1 << 20)) and run(-1)


RECURSION = """
define i64 @depth(i64 %limit, i64 %n) noinline optnone {
  %room = alloca [512 x i8]
  %low = call i1 @is_low(i64 %limit)
  br i1 %low, label %end, label %more
end:
  ret i64 %n
more:
  %next = add i64 %n, 1
  %found = call i64 @depth(i64 %limit, i64 %next)
  ret i64 %found
}
"""


def test_recursion_ends_at_the_limit() -> None:
    module = ir.Module()
    made = ir.Function(module, ir.FunctionType(BIT, [INT]), "is_low")
    builder = ir.IRBuilder(made.append_basic_block())
    builder.ret(stack_limit.stack_is_low(builder, made.args[0]))
    depth = linked(str(module) + RECURSION)("depth", INT, INT, INT)
    run = limits(sys.platform)
    found = in_thread(1 << 20, lambda: depth(run(1 << 14), 0))
    assert found > 200
