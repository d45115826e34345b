"""Reference counts of blocks: the last release calls the destructor, once."""

from __future__ import annotations

import ctypes
import threading

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from s2s.codegen import array_values, llvm_passes, refcount
from s2s.codegen.llvm_utils import POINTER
from tests.s2s.codegen.machine_code import VOID, address, linked

gone: list[int] = []
DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(gone.append)


def functions():
    module = ir.Module()
    for name in (refcount.RETAIN, refcount.RELEASE):
        ir.Function(module, ir.FunctionType(VOID, [POINTER]), name)
    refcount.define_refcount_functions(module)
    given = {"NRT_MemInfo_call_dtor": ctypes.cast(DESTRUCTOR, ctypes.c_void_p).value}
    made = linked(module, **given)
    return (made(name, VOID, POINTER) for name in (refcount.RETAIN, refcount.RELEASE))


def test_the_last_release_destroys() -> None:
    retain, release = functions()
    block = np.array([1, 0, 0, 0, 0])
    gone.clear()
    retain(address(block))
    retain(address(block))
    assert block[0] == 3
    release(address(block))
    release(address(block))
    assert block[0] == 1 and gone == []
    release(address(block))
    assert block[0] == 0 and gone == [address(block)]


def test_null_is_ignored() -> None:
    retain, release = functions()
    retain(None)
    release(None)


def test_threads_may_count_at_once() -> None:
    retain, release = functions()
    block = np.array([1, 0, 0, 0, 0])

    def work() -> None:
        for _ in range(20_000):
            retain(address(block))
            release(address(block))

    gone.clear()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert block[0] == 1 and gone == []


def test_only_modules_that_count_get_the_functions() -> None:
    module = ir.Module()
    refcount.define_refcount_functions(module)
    assert not module.globals


def test_pairs_are_pruned_by_their_names() -> None:
    """Numba's pass removes a retain that a release follows; so they must not be inlined before."""
    module = ir.Module()
    made = ir.Function(module, ir.FunctionType(VOID, [POINTER]), "f")
    builder = ir.IRBuilder(made.append_basic_block())
    place = builder.alloca(POINTER)
    builder.store(made.args[0], place)
    array_values.retain(builder, made.args[0])
    builder.call(
        ir.Function(module, ir.FunctionType(VOID, [POINTER]), "NRT_decref"), [made.args[0]]
    )
    builder.ret_void()
    refcount.define_refcount_functions(module)
    parsed = llvm_passes.parse_module(str(module))
    llvm_passes.run(parsed)
    text = str(parsed.get_function("f"))
    assert "atomicrmw" not in text and "call" not in text
    assert isinstance(parsed, llvm.ModuleRef)


def test_a_block_has_the_layout_of_numba() -> None:
    """The count at 0, the destructor, its argument, the data at 24, the size at 32."""
    kind = array_values.HEADER
    target = llvm_passes.target_machine().target_data
    assert kind.get_abi_size(target) == 40
    assert [kind.get_element_offset(target, k) for k in range(5)] == [0, 8, 16, 24, 32]
