"""The functions of `s2s.products`, each a module of its own, as object code for this machine."""

from __future__ import annotations

from llvmlite import ir

from ..compile import FASTMATH
from . import blocked, gemm, optimise, scattered, ways
from . import kinds as types


def object_code(name: str, whose: str) -> bytes:
    module = ir.Module(name)
    vector_bytes = blocked.width(optimise.features())
    dtype = types.float32 if name.endswith("f32") else types.float64
    kind = name.rpartition(".")[0]
    by_tiles = {blocked.NAME: blocked.Gemm, scattered.NAME: scattered.Scattered}
    if kind == gemm.NAME:
        made = ways.chooser(module, name, dtype, whose)
    elif kind in by_tiles:
        made = by_tiles[kind](module, dtype, vector_bytes).function()
    else:
        made = ways.way(module, name, dtype, kind.removeprefix("s2s."))
    made.linkage = "external"
    optimise.mark(module, FASTMATH)
    final = optimise.parsed(str(module))
    if kind in (gemm.NAME, blocked.NAME):
        optimise.tidy(final)  # the loops that matter are written as they are to be
    else:
        optimise.run(final, neighbours=kind == scattered.NAME)
    return optimise.object_code(final, care=False)
