"""Matrix products that all kernels of a process call, compiled once per machine and cached.

Up to some size they are the products of s2s, above it those of BLAS (`gemm_variants.py`).  The
variant for a range of sizes is compiled when a kernel first multiplies such matrices.
`S2S_GEMM=builtin` selects the products of s2s for all sizes; ahead-of-time libraries contain these,
so both then agree in rounding.  `S2S_GEMM=blas` selects BLAS.
"""

from __future__ import annotations

import _thread
import os
from typing import Any

from ...runtime import jit_link
from ...transforms.ir.lazy import memoize
from ..gemm.gemm_names import NAMES, VARIANT_TABLE, VARIANTS


def choice() -> str:
    """The setting of S2S_GEMM, "" if it is unset or invalid."""
    setting = os.environ.get("S2S_GEMM", "")
    return setting if setting in ("builtin", "blas") else ""


def address(name: str) -> int:
    """The address of a function (`gemm_names.NAMES`)."""
    return _library(name, choice())[name]


def register_symbols(lowered: str) -> None:
    """Register the functions that the code of a kernel calls as LLVM symbols, for all dtypes."""
    import llvmlite.binding as llvm

    called = {"s2s.gemm": "rt.gemm(", "s2s.scattered": "rt.gemm_at("}
    for name in NAMES:
        if called[name.rpartition(".")[0]] in lowered:
            llvm.add_symbol(name, address(name))


@memoize
def _library(name: str, whose: str) -> Any:
    """The linked object code of one function; `whose` is the setting of S2S_GEMM."""

    def compiled() -> bytes:
        from . import gemm_objects

        return gemm_objects.object_code(name, whose)

    kind = name.split(".")[1]
    given = {jit_link.GEMM: jit_link.blas()} if kind == "blas" else {}
    names = (name, VARIANT_TABLE) if kind == "gemm" else (name,)
    made = jit_link.library(f"{name} {whose}", compiled, names, given)
    if kind == "gemm":
        _install_resolver(made[VARIANT_TABLE], name.rpartition(".")[-1])
    return made


def _install_resolver(table: int, bits: str) -> None:
    """Install the callback in the address table that resolves a variant on first use."""
    import ctypes

    cells = (ctypes.c_void_p * (len(VARIANTS) + 1)).from_address(table)

    def find(which: int) -> None:
        # Called while a kernel runs, which falls back to plain loops if no address is stored.
        # ctypes only reports exceptions raised here.
        try:
            cells[which] = _variant_address(VARIANTS[which], bits)
        except KeyboardInterrupt:
            _thread.interrupt_main()  # raise it in the program after the kernel has returned

    callback = ctypes.CFUNCTYPE(None, ctypes.c_int64)(find)
    cells[len(VARIANTS)] = ctypes.cast(jit_link.keep_alive_forever(callback), ctypes.c_void_p)


def _variant_address(kind: str, bits: str) -> int:
    """The address of a variant; the blocked product if there is no BLAS."""
    try:
        name = f"s2s.{kind}.{bits}"
        return _library(name, "")[name]
    except jit_link.Unlinkable:  # no BLAS
        name = f"s2s.blocked.{bits}"
        return _library(name, "")[name]
