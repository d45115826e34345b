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
from .host_writer import module_text
from .kernel_writer import KernelText
from .partition import partition
from .plan import Plan
from .program import CudaProgram, HostParam, Kernel
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
    for dtype in plan.gemm_dtypes():
        params = (("err", "int64*"), *gemm_kernel_params(dtype))
        kernels.append(Kernel(gemm_kernel_name(dtype), params, "gemm", ""))
    params = [HostParam(p.name, p.dtype, p.rank or 0, p.rank is not None) for p in routine.params]
    return CudaProgram(kernels, params, plan.results, plan.verdicts, plan.statistics())


def _params(kernel: KernelText) -> tuple[tuple[str, str], ...]:
    flags = [("err", "int64*"), *([("err_values", "float64*")] if kernel.sends_values else [])]
    return (*flags, *kernel.params)
