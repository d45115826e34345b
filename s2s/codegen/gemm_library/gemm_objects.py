"""Object code of the functions of `codegen/gemm_library`, each an LLVM module of its own, for the
host."""

from __future__ import annotations

from llvmlite import ir

from .. import llvm_passes
from .. import value_types as types
from ..gemm import blocked, gemm_call, indexed
from ..options import FASTMATH
from . import gemm_variants


def object_code(name: str, whose: str) -> bytes:
    """Compile the function `name`; `whose` is the setting of S2S_GEMM."""
    module = ir.Module(name)
    vector_bytes = blocked.vector_bytes_of(llvm_passes.features())
    dtype = types.float32 if name.endswith("f32") else types.float64
    kind = name.rpartition(".")[0]
    by_tiles = {blocked.NAME: blocked.Gemm, indexed.NAME: indexed.Scattered}
    if kind == gemm_call.NAME:
        made = gemm_variants.dispatch_function(module, name, dtype, whose)
    elif kind in by_tiles:
        made = by_tiles[kind](module, dtype, vector_bytes).function()
    else:
        made = gemm_variants.variant_function(module, name, dtype, kind.removeprefix("s2s."))
    made.linkage = "external"
    llvm_passes.set_fast_math_flags(module, FASTMATH)
    final = llvm_passes.parse_module(str(module))
    if kind in (gemm_call.NAME, blocked.NAME):
        llvm_passes.run_light_passes(final)  # the hot loops are emitted in their final form
    else:
        llvm_passes.run(final, neighbours=kind == indexed.NAME)
    return llvm_passes.object_code(final, care=False)
