"""`emit(routine, …)`: loop IR to the text of a CUDA program and its description.

Start with this file.  `partition.py` plans what the host, grids and single threads do;
`kernel_writer.py` and `host_writer.py` print the plan.
"""

from __future__ import annotations

from ...ir.nodes import Span
from ..analysis.alias import MayAlias
from ..loop_ir import nodes as L
from .expand import expand_routines
from .gemm import gemm_kernel_name, gemm_kernel_params
from .host import Launch
from .host_writer import gemm_dtypes, module_text, walk
from .kernel_writer import KernelText
from .partition import Plan, partition
from .program import CudaProgram, HostParam, Kernel, Statistics
from .symbols import symbols_of


def emit(
    routine: L.Routine, may_alias: MayAlias, spans: dict[str, Span], taken: set[str]
) -> tuple[str, CudaProgram]:
    """The text of a CUDA program and its description.

    `spans` are the places of the lines that the comments of the routine name, and `taken` the names
    that are in use besides those of the routine.
    """
    symbols = symbols_of(routine, {*taken, *RESERVED})
    expand_routines(routine.body, symbols)
    plan = partition(routine, symbols, may_alias, spans)
    return module_text(plan, routine), _describe(plan, routine)


# Names that the text uses itself.
RESERVED = frozenset({
    "BLOCK", "FAILURES", "cuda", "dev", "err", "err_values", "libdevice", "math", "max", "min",
    "np", "range", "rt", "gemm_float32", "gemm_float64",
})  # fmt: skip


def _describe(plan: Plan, routine: L.Routine) -> CudaProgram:
    kernels = [Kernel(k.name, _params(k), k.kind, k.line, k.atomics) for k in plan.kernels]
    dtypes = gemm_dtypes(plan)
    for dtype in dtypes:
        params = (("err", "int64*"), *gemm_kernel_params(dtype))
        kernels.append(Kernel(gemm_kernel_name(dtype), params, "gemm", ""))
    params = [HostParam(p.name, p.dtype, p.rank or 0, p.rank is not None) for p in routine.params]
    return CudaProgram(kernels, params, plan.results, plan.verdicts, _statistics(plan))


def _params(kernel: KernelText) -> tuple[tuple[str, str], ...]:
    flags = [("err", "int64*"), *([("err_values", "float64*")] if kernel.sends_values else [])]
    return (*flags, *kernel.params)


def _statistics(plan: Plan) -> Statistics:
    stats = Statistics(
        grids=sum(k.kind == "grid" for k in plan.kernels),
        threads=sum(k.kind == "thread" for k in plan.kernels),
        atomics=sum(k.atomics for k in plan.kernels),
        syncs=plan.syncs,
    )
    for s in walk(plan.body):
        stats.launches += isinstance(s, (Launch, L.Call))
        stats.gemms += isinstance(s, L.Call)
        if isinstance(s, (L.Loop, L.While)):
            inside = [q for q in walk(s.body) if isinstance(q, (Launch, L.Call))]
            stats.host_loops += bool(inside)
            stats.glue_loops += bool(inside) and all(
                isinstance(q, Launch) and q.kernel.kind == "thread" for q in inside
            )
    return stats
