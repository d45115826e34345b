"""Products of matrices that all kernels of a process call: compiled once for a machine, and kept.

They are our own up to some size and BLAS's above (`codegen.gemm.gemm_variants`), and what is for
some sizes is compiled when a kernel comes with such matrices.  `S2S_GEMM=builtin` chooses our own
for all sizes, which is what code that is compiled ahead of time has, so that the two agree in
rounding; `S2S_GEMM=blas` chooses BLAS.
"""

from __future__ import annotations

import _thread
import os
from typing import Any

from ...runtime import jit_link
from ...transforms.ir.lazy import once
from ..gemm.gemm_names import NAMES, TABLE, WAYS


def choice() -> str:
    asked = os.environ.get("S2S_GEMM", "")
    return asked if asked in ("builtin", "blas") else ""


def address(name: str) -> int:
    """Of one of the functions."""
    return _library(name, choice())[name]


def offer(lowered: str) -> None:
    """Tells LLVM of those that Numba's code for a kernel calls, of whatever numbers."""
    import llvmlite.binding as llvm

    called = {"s2s.gemm": "rt.gemm(", "s2s.scattered": "rt.gemm_at("}
    for name in NAMES:
        if called[name.rpartition(".")[0]] in lowered:
            llvm.add_symbol(name, address(name))


@once
def _library(name: str, whose: str) -> Any:
    def compiled() -> bytes:
        from . import gemm_objects

        return gemm_objects.object_code(name, whose)

    kind = name.split(".")[1]
    given = {jit_link.GEMM: jit_link.blas()} if kind == "blas" else {}
    names = (name, TABLE) if kind == "gemm" else (name,)
    made = jit_link.library(f"{name} {whose}", compiled, names, given)
    if kind == "gemm":
        _offer_ways(made[TABLE], name.rpartition(".")[-1])
    return made


def _offer_ways(table: int, bits: str) -> None:
    """Has those of a type of numbers looked for when a product goes them."""
    import ctypes

    cells = (ctypes.c_void_p * (len(WAYS) + 1)).from_address(table)

    def find(which: int) -> None:
        # Called in the middle of a kernel, which goes on with plain loops if none is found; what
        # is raised here ctypes only reports.
        try:
            cells[which] = _way(WAYS[which], bits)
        except KeyboardInterrupt:
            _thread.interrupt_main()  # it is for the program, as soon as the kernel has ended

    callback = ctypes.CFUNCTYPE(None, ctypes.c_int64)(find)
    cells[len(WAYS)] = ctypes.cast(jit_link.immortal(callback), ctypes.c_void_p)


def _way(kind: str, bits: str) -> int:
    try:
        name = f"s2s.{kind}.{bits}"
        return _library(name, "")[name]
    except jit_link.Unlinkable:  # no BLAS
        name = f"s2s.blocked.{bits}"
        return _library(name, "")[name]
