"""Reference counting with Numba's meminfo layout, so that kernels and Numba can exchange arrays."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from .llvm_utils import INT, NULL, POINTER, declare_function

RETAIN, RELEASE = "NRT_incref", "NRT_decref"


def define_refcount_functions(module: Any) -> None:
    """Define incref and decref in a module that calls them.  They must not be inlined: Numba's
    refprune pass finds redundant incref/decref pairs by name."""
    for name in (RETAIN, RELEASE):
        function = module.globals.get(name)
        if function is None:
            continue
        function.linkage = "linkonce_odr"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        (memory,) = function.args
        with builder.if_then(builder.icmp_unsigned("==", memory, NULL), likely=False):
            builder.ret_void()
        count = builder.bitcast(memory, INT.as_pointer())
        if name == RETAIN:
            builder.atomic_rmw("add", count, INT(1), "monotonic")
        else:
            builder.fence("release")
            before = builder.atomic_rmw("sub", count, INT(1), "monotonic")
            with builder.if_then(builder.icmp_unsigned("==", before, INT(1)), likely=False):
                builder.fence("acquire")
                type_ = ir.FunctionType(ir.VoidType(), [POINTER])
                builder.call(declare_function(module, type_, "NRT_MemInfo_call_dtor"), [memory])
        builder.ret_void()
