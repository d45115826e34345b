"""Compile options: fast-math flags, error model and wrappers."""

from __future__ import annotations

from typing import Any

# Reassociation lets LLVM vectorise reductions.  `nnan` and `ninf` stay off, so that nan and inf are
# honoured.
FASTMATH = {"reassoc", "contract", "nsz", "arcp", "afn"}


OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH}


# In code that Numba emits, `arcp` turns a quotient by a square root into a reciprocal estimate that
# is nan for 0 and infinity.  The code generator disables estimates (`codegen/llvm_passes.py`).
NUMBA_OPTIONS: dict[str, Any] = {**OPTIONS, "fastmath": FASTMATH - {"arcp"}}


# The Numba function around a kernel is called only from Python, so it needs no C wrapper.
WRAPPER_OPTIONS: dict[str, Any] = {**OPTIONS, "no_cfunc_wrapper": True}


def canonical_options(options: dict[str, Any]) -> str:
    """A canonical string of options, for cache keys."""
    return str(sorted((k, sorted(v) if k == "fastmath" else v) for k, v in options.items()))
