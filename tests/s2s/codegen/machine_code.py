"""Runs what the emitters of the code generator write: a function, or a kernel."""

from __future__ import annotations

import ctypes
import pickle
import textwrap
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from s2s.backends.build_kernel import source
from s2s.codegen import llvm_passes
from s2s.codegen import value_types as types
from s2s.codegen.kernel_module import KERNEL, Source, optimised_module
from s2s.codegen.llvm_utils import INT, POINTER
from s2s.runtime import block_pool, jit_link

DOUBLE, FLOAT, BIT, VOID = ir.DoubleType(), ir.FloatType(), ir.IntType(1), ir.VoidType()
VECTOR = types.Array(types.float64, 1, "C")
MATRIX = types.Array(types.float64, 2, "C")

_SCALARS: list[tuple[Any, Any]] = [
    (DOUBLE, ctypes.c_double), (FLOAT, ctypes.c_float), (BIT, ctypes.c_bool), (VOID, None),
    (ir.IntType(8), ctypes.c_int8), (ir.IntType(32), ctypes.c_int32), (INT, ctypes.c_int64),
]  # fmt: skip


def ctype_of(kind: Any) -> Any:
    """The ctypes type that is passed for an LLVM type: an address for any pointer."""
    if isinstance(kind, ir.PointerType):
        return ctypes.c_void_p
    return next(made for known, made in _SCALARS if known == kind)


def linked(module: Any, **given: Any) -> Callable[..., Any]:
    """Verifies and compiles a module.  Returns the function that gives a Python function for a name
    and LLVM types (result, parameters…).  Undefined symbols are in `given` or in the process."""
    text = module if isinstance(module, str) else str(module)
    parsed = llvm_passes.parse_module(text)
    names = tuple(f.name for f in parsed.functions if not f.is_declaration)
    for function in parsed.functions:
        if not function.is_declaration:
            function.linkage = "external"
    library = jit_link.link(llvm_passes.object_code(parsed), names, given)

    def function(name: str, result: Any, *kinds: Any) -> Any:
        return ctypes.CFUNCTYPE(ctype_of(result), *map(ctype_of, kinds))(library[name])

    return function


def emitted(result: Any, kinds: list[Any], write: Callable[..., Any], **given: Any) -> Any:
    """A function of parameters of the LLVM types `kinds`.  Its code is what `write(builder,
    *parameters)` emits; it returns the value that `write` returns, if any."""
    module = ir.Module("test")
    made = ir.Function(module, ir.FunctionType(result, kinds), "tested")
    builder: Any = ir.IRBuilder(made.append_basic_block())
    value = write(builder, *made.args)
    if not builder.block.is_terminated:
        builder.ret_void() if value is None else builder.ret(value)
    return linked(module, **given)("tested", result, *kinds)


def address(array: np.ndarray[Any, Any]) -> int:
    return array.ctypes.data


HEADER = "import numpy as np\n\nfrom s2s import kernels as rt\n\n\n"


def module_text(text: str) -> str:
    return HEADER + textwrap.dedent(text).lstrip("\n")


def kernel_source(text: str, *kinds: Any) -> Source:
    """The function `f` of lowered source, for arguments of types `kinds`."""
    return source(module_text(text), "f", kinds)


class KernelError(Exception):
    """An error of a kernel; `args` are the exception type and its arguments."""


def kernel(text: str, *kinds: Any, written: list[int] | None = None) -> Callable[..., list[Any]]:
    """The function `f` of lowered source as a kernel with a C calling convention.  It takes NumPy
    arrays and numbers, and returns its results as numbers and arrays (copies)."""
    made = kernel_source(text, *kinds)
    final = optimised_module(made, written or [])
    missing = llvm_passes.undefined_symbols(final)
    assert missing is not None, "the kernel needs Numba's environment"
    ours = block_pool.library()
    given = {name: ours[name] for name in missing if name in block_pool.EXPORTED_SYMBOLS}
    code = jit_link.link(llvm_passes.object_code(final), (KERNEL,), given)[KERNEL]
    results = made.types.results

    def run(*args: Any) -> list[Any]:
        passed: list[Any] = []
        for value, kind in zip(args, kinds, strict=True):
            if isinstance(kind, types.Array):
                strides = value.strides if kind.layout != "C" else ()
                passed += [ctypes.c_void_p(value.ctypes.data)]
                passed += [ctypes.c_int64(n) for n in (*value.shape, *strides)]
            else:
                passed.append(_scalar(kind)(value))
        fields = [f for k in results for f in _fields(k)]
        room = (ctypes.c_int64 * max(len(fields), 1))()
        error = ctypes.c_void_p()
        function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p,
                                    *map(type, passed))(code)  # fmt: skip
        status = function(ctypes.addressof(room), ctypes.addressof(error), *passed)
        if status:
            raise KernelError(*_told(error.value))
        return _read(results, room)

    return run


def _scalar(kind: Any) -> Any:
    return np.ctypeslib.as_ctypes_type(np.dtype(kind.name))


def _fields(kind: Any) -> list[Any]:
    """The eight-byte words of a result; a result of fewer bytes must not be followed by others."""
    return [0] * (kind.ndim + 2) if isinstance(kind, types.Array) else [0]


def _read(kinds: Any, room: Any) -> list[Any]:
    found: list[Any] = []
    at = 0
    for kind in kinds:
        place = ctypes.addressof(room) + 8 * at
        if isinstance(kind, types.Array):
            shape = tuple(room[at + 1 : at + 1 + kind.ndim])
            dtype = np.dtype(kind.dtype.name)
            count = int(np.prod(shape))
            raw = ctypes.string_at(room[at], count * dtype.itemsize) if count else b""
            found.append(np.frombuffer(raw, dtype).reshape(shape).copy())
            release_block(room[at + 1 + kind.ndim])
        else:
            found.append(_scalar(kind).from_address(place).value)
        at += len(_fields(kind))
    return found


def release_block(memory: int) -> None:
    """Gives up the last reference to a block (`NRT_MemInfo`)."""
    count = ctypes.c_int64.from_address(memory)
    assert count.value == 1
    count.value = 0
    free = block_pool.library()["NRT_MemInfo_call_dtor"]
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(free)(memory)


def _told(info: int | None) -> tuple[Any, ...]:
    """The exception and its arguments, from Numba's exception info."""
    assert info
    data = ctypes.c_void_p.from_address(info).value
    size = ctypes.c_int32.from_address(info + 8).value
    assert data
    exception, args, codes = pickle.loads(ctypes.string_at(data, size))
    values = info + 40
    told = []
    for arg in args:
        if arg is None and codes:
            kind = ctypes.c_double if codes[0] == "d" else ctypes.c_int64
            told.append(kind.from_address(values).value)
            values, codes = values + 8, codes[1:]
        else:
            told.append(arg)
    return exception, tuple(told)


def verified(module: Any) -> Any:
    """The parsed module; LLVM's verifier accepts it."""
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    return parsed


__all__ = [
    "BIT", "DOUBLE", "FLOAT", "HEADER", "INT", "MATRIX", "POINTER", "VECTOR", "VOID",
    "KernelError", "address", "emitted", "kernel", "kernel_source", "linked", "module_text",
    "verified",
]  # fmt: skip
