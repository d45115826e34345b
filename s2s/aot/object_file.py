"""Target selection, linking and optimisation of the LLVM module of a library.

The pass pipeline is that of just-in-time compilation: for the host CPU, the results are bitwise
identical to those of a compiled call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from ..codegen import llvm_passes as passes
from ..codegen.gemm import blocked, indexed
from ..errors import S2SValueError

# x86-64 CPU models with 64-byte and with 16-byte vectors.  Other x86-64 models have 32-byte
# vectors; other architectures are assumed to have 16-byte vectors.
_CPUS_WITH_64_BYTE_VECTORS = (
    "x86-64-v4",
    "skylake-avx512",
    "icelake-server",
    "sapphirerapids",
    "znver4",
    "znver5",
)
_CPUS_WITH_16_BYTE_VECTORS = ("", "x86-64", "x86-64-v2", "generic")


@dataclass
class Target:
    """A code-generation target: the target triple, the CPU model and its features, the LLVM target
    machine, and the width of its vector registers in bytes."""

    triple: str
    cpu: str
    features: str
    machine: Any
    vector_bytes: int

    @property
    def is_native(self) -> bool:
        return self.triple == llvm.get_process_triple()


def find(triple: str | None, cpu: str | None) -> Target:
    """The target for a triple and a CPU model.  The default triple is that of the host.  The
    default CPU is the host's for the host triple, else `generic`."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    own = llvm.get_process_triple()
    native = triple is None or _architecture(triple) == _architecture(own)
    if triple is None:
        triple = own
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    if cpu is None:
        cpu = "native" if triple == own else "generic"
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise S2SValueError(f"there is no target {triple!r}: {error}") from None
    if cpu in ("native", "host"):
        if not native:
            raise S2SValueError(f"this machine is not a {triple}", advice="name a model with cpu=")
        name, features = llvm.get_host_cpu_name(), passes.features()
        width = blocked.vector_bytes_of(features)
    else:
        name, features = cpu, ""
        arch = _architecture(triple)
        width_of_others = 32 if cpu not in _CPUS_WITH_16_BYTE_VECTORS else 16
        width = (
            (64 if cpu in _CPUS_WITH_64_BYTE_VECTORS else width_of_others)
            if arch == "x86_64"
            else 16
        )
    machine = target.create_target_machine(
        cpu=name, features=features, opt=3, reloc="pic", codemodel="default"
    )
    return Target(triple, name, features, machine, width)


def _architecture(triple: str) -> str:
    return triple.partition("-")[0]


def link(module: Any, libraries: list[Any], target: Target) -> Any:
    """Parse the module and link in the Numba libraries that it calls, for a target."""
    whole = llvm.parse_assembly(str(module))
    whole.triple = target.triple
    whole.data_layout = str(target.machine.target_data)
    whole.verify()
    seen: list[Any] = []
    for library in libraries:
        if library not in seen:
            seen.append(library)
            part = library._get_module_for_linking().clone()
            part.triple, part.data_layout = whole.triple, whole.data_layout
            whole.link_in(part)
    return whole


def optimise(whole: Any, exported: set[str], target: Target) -> None:
    """Run the LLVM passes on the whole module.

    All definitions but the exported ones get internal linkage, so that dead ones are removed.
    `weak_odr` definitions keep their linkage until the passes have run: they may be unused until
    loops are vectorised.  Remaining internal symbols are renamed to numbered names."""
    hidden = [
        value
        for kind in (whole.functions, whole.global_variables)
        for value in kind
        if not value.is_declaration and value.name not in exported
    ]
    late = [value for value in hidden if value.linkage == llvm.Linkage.weak_odr]
    for value in hidden:
        if value not in late:
            value.linkage = "internal"
    passes.run(whole, target.machine, indexed.is_used(whole))
    for value in late:
        value.linkage = "internal"
    unused = llvm.create_new_module_pass_manager()
    unused.add_global_dead_code_eliminate_pass()
    unused.run(whole, passes.builder(target.machine, level=3))
    for prefix, kind in (("s2s.f", whole.functions), ("s2s.d", whole.global_variables)):
        names = [v for v in kind if not v.is_declaration and v.name not in exported]
        for number, value in enumerate(names):
            value.name = f"{prefix}{number}"
    whole.verify()


def refers_to_numba_env(whole: Any) -> bool:
    """True if a function that Numba compiled refers to its environment object (`NumbaEnv`), which
    exists only in a Python process."""
    names = [v.name for v in whole.global_variables if "NumbaEnv" in v.name]
    if not names:
        return False
    text = str(whole)
    return any(text.count(name) > 1 for name in names)


def undefined_symbols(whole: Any) -> list[str]:
    """The undefined symbols of a module, without LLVM intrinsics."""
    kinds = (whole.functions, whole.global_variables)
    names = [v.name for kind in kinds for v in kind if v.is_declaration]
    return sorted(n for n in names if not n.startswith("llvm."))
