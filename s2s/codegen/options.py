"""Options of compilation: what Numba and LLVM may assume."""

from __future__ import annotations

from typing import Any

# Reassociation makes reductions fast; what would forget nan and inf stays off.
FASTMATH = {"reassoc", "contract", "nsz", "arcp", "afn"}


OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH}


# Where Numba writes the code, a quotient by a root would become an estimate that is nan for 0 and
# infinity; our own machine code forbids that (`codegen/llvm_passes.py`).
BY_NUMBA: dict[str, Any] = {**OPTIONS, "fastmath": FASTMATH - {"arcp"}}


# Only Python calls the function around our own machine code.
WRAPPED: dict[str, Any] = {**OPTIONS, "no_cfunc_wrapper": True}


def spelled(options: dict[str, Any]) -> str:
    return str(sorted((k, sorted(v) if k == "fastmath" else v) for k, v in options.items()))
