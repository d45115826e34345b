"""The peak size of the arrays of a compiled kernel, without arguments and results.  It is computed
from the lowered source, in which each allocation statement states its size."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .. import kernels
from ..backends.backends import signature
from ..backends.build_kernel import source

# Prefixes of runtime functions that allocate arrays internally.
_ALLOCATING_PREFIXES = ("rt.linalg.", "rt.fft.", "rt.draws.")


def workspace(entry: Any, params: tuple[Any, ...]) -> int | None:
    """The maximum number of bytes live at a time; None if it is known only at run time."""
    if entry.compiled.cuda is not None:
        return None
    from numba.core.errors import NumbaError

    from ..aot.workspace_plan import plan
    from ..codegen.partition.outline_nests import Plan
    from ..codegen.type_inference import Unsupported
    from ..codegen.type_lowering import of_numba

    compiled = entry.compiled
    kinds = tuple(map(of_numba, signature(compiled, entry.seed, params)))
    tree = ast.parse(compiled.lowered)
    defined = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
    if len(defined) > 1 or any(maker in compiled.lowered for maker in _ALLOCATING_PREFIXES):
        return None
    try:
        read = source(compiled.lowered, compiled.entry, kinds)
        function, known = read.function, read.types
        memory = plan(function, known, Plan(function, known).private)
    except (Unsupported, NumbaError):  # code that only Numba's front end compiles
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
