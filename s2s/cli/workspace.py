"""What the arrays of a compiled kernel take, besides its arguments and results: told by its text,
in which every array is made by a statement that says how large it is."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .. import kernels
from ..backends.backends import signature
from ..backends.build_kernel import source

# Functions that make arrays of their own.
_MAKERS = ("rt.linalg.", "rt.fft.", "rt.draws.")


def workspace(entry: Any, params: tuple[Any, ...]) -> int | None:
    """The most bytes in use at a time; None if only the run tells."""
    from numba.core.errors import NumbaError

    from ..aot.workspace_plan import plan
    from ..codegen.partition.outline_nests import Plan
    from ..codegen.type_inference import Unsupported
    from ..codegen.type_lowering import of_numba

    compiled = entry.compiled
    kinds = tuple(map(of_numba, signature(compiled, entry.seed, params)))
    tree = ast.parse(compiled.lowered)
    defined = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
    if len(defined) > 1 or any(maker in compiled.lowered for maker in _MAKERS):
        return None
    try:
        read = source(compiled.lowered, compiled.entry, kinds)
        function, known = read.function, read.types
        memory = plan(function, known, Plan(function, known).private)
    except (Unsupported, NumbaError):  # which is for Numba's own front end to compile
        return None
    if memory.heap or memory.sizes is None:
        return None
    space: dict[str, Any] = {"np": np, "rt": kernels}
    module = ast.fix_missing_locations(ast.Module([memory.sizes], []))
    exec(compile(module, "<s2s sizes>", "exec"), space)
    seed = () if entry.seed is None else (entry.seed,)
    like = [(entry.compiled.params[p].type.dtype, params[p].shape) for _, p in entry.buffers]
    buffers = [np.broadcast_to(np.zeros((), dtype), shape) for dtype, shape in like]
    sizes = iter(space["sizes"](*params, *seed, *buffers))
    used = np.zeros(len(function.body), np.int64)
    for sites, count in memory.groups():
        for site in sites:
            axes = [max(0, int(next(sizes))) for _ in site.known or ()]
            used[site.first : site.last + 1] += count * site.itemsize * int(np.prod(axes))
    return int(used.max(initial=0))
