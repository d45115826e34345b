"""What the text of a CUDA program consists of: kernels, host function, verdicts, statistics.

`docs/design/cuda.md` is the contract between the compiler and the run time that these records
belong to.
"""

from __future__ import annotations

from typing import Literal

from ...ir.record import field, record

KernelKind = Literal["grid", "thread", "gemm"]
Residence = Literal["array", "slot", "host"]
LoopKind = Literal["grid", "thread", "host"]


@record(frozen=True)
class Kernel:
    """A kernel of the text.

    `params` are its parameters with their types in order: "float64*" for an array, "int64" for a
    scalar.  `kind` is "thread" if it is written for one thread.  `line` is the user's line, as in
    the comments of the text.  `atomics` is the number of atomic additions in it.
    """

    name: str
    params: tuple[tuple[str, str], ...]
    kind: KernelKind
    line: str
    atomics: int = 0


@record(frozen=True)
class HostParam:
    """A parameter of the host function after `dev`; a host scalar has rank 0 and is no array."""

    name: str
    dtype: str
    rank: int
    is_array: bool


@record(frozen=True)
class HostResult:
    """A result of the host function: a device array, a one-element array with a scalar ("slot"), or
    a host scalar."""

    kind: Residence
    dtype: str


@record(frozen=True)
class Verdict:
    """How a loop is executed; `why` is the reason why it is not a grid."""

    line: str
    kind: LoopKind
    why: str = ""


@record
class Statistics:
    """Numbers of launch sites, kernels by kind, host loops, matrix products, synchronisations and
    atomic additions.

    `in_loops` are the launch sites inside of host loops, `glue_loops` the host loops that launch
    one-thread kernels only.  `syncs` are synchronisations
    inside the call.
    """

    launches: int = 0
    in_loops: int = 0
    grids: int = 0
    threads: int = 0
    host_loops: int = 0
    glue_loops: int = 0
    gemms: int = 0
    syncs: int = 0
    atomics: int = 0


@record
class CudaProgram:
    """The description of a text; the text itself is `Compiled.lowered`."""

    kernels: list[Kernel] = field(default_factory=list[Kernel])
    params: list[HostParam] = field(default_factory=list[HostParam])
    results: list[HostResult] = field(default_factory=list[HostResult])
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    stats: Statistics = field(default_factory=Statistics)
