"""Ahead-of-time compilation of functions, gradients and training steps into C libraries.

    s2s.aot.build(step, "float32[n,784], int64[n]", out="build/step")

Start reading in `build.py`.  `type_signature.py` parses the signature, `export_spec.py` describes
the exported function in terms of C, and `library_module.py` builds one LLVM module per library.
`c_kernel.py` lowers a function to LLVM IR over caller-owned memory: `workspace_plan.py` assigns
arrays to the workspace, `workspace_heap.py` allocates in it, `library_state.py` lays out the
persistent state.  `c_entry.py` writes the entry points that validate arguments, `object_file.py`
runs the LLVM passes; `header.py`, `python_loader.py` and `link.py` write the files around them.
`loader_runtime.py` is copied verbatim into every generated Python loader.

This folder may import `s2s.api` and what is below it; it must not import `s2s.cli` or `s2s.layers`.
"""

from __future__ import annotations

from ..errors import BuildError
from ..public_names import listing
from .build import Built, build

__all__ = ["BuildError", "Built", "build"]
__dir__ = listing(__name__)
