"""Products of matrices that all kernels of a process call: compiled once for a machine, and kept.

They are our own up to some size and BLAS's above (`machine.gemm`).  `S2S_GEMM=builtin` chooses our
own for all sizes, which is what code that is compiled ahead of time has, so that the two agree in
rounding; `S2S_GEMM=blas` chooses BLAS.
"""

from __future__ import annotations

import functools
import os

from . import linking

NAMES = tuple(f"s2s.{kind}.{bits}" for kind in ("gemm", "scattered") for bits in ("f32", "f64"))
TILES = "s2s.blocked"  # our own, where they are called by the others


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


@functools.cache
def _library(name: str, whose: str) -> dict[str, int]:
    def compiled() -> bytes:
        from .machine import shared

        return shared.object_code(name, whose)

    given = {}
    kind, _, bits = name.rpartition(".")
    if kind == "s2s.gemm":
        if whose != "builtin":
            given[linking.GEMM] = linking.blas()
        if whose != "blas":
            tiles = f"{TILES}.{bits}"
            given[tiles] = _library(tiles, "")[tiles]
    return linking.library(f"{name} {whose}", compiled, (name,), given)
