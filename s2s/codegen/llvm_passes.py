"""LLVM pass pipeline and code generation for the host, for all back ends.

`numba_bridge/numba_target.py` runs the same passes for kernels inside Numba functions.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from llvmlite.ir.instructions import CallInstr

from .interruptible import interruptible

_OPTION_OWNER = "s2s"  # program name that `llvm.set_option` takes
# Without it, 1 / sqrt(x) of float32 becomes a reciprocal estimate with one Newton step, which is
# nan for 0 and infinity.
_NO_ESTIMATES = '"reciprocal-estimates"="none"'
_FLOAT_OPERATIONS = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem", "fcmp"))


def features() -> str:
    """CPU features of the host, or NUMBA_CPU_FEATURES if set, as in Numba."""
    named = os.environ.get("NUMBA_CPU_FEATURES")
    return llvm.get_host_cpu_features().flatten() if named is None else named


@functools.cache
def target_machine() -> Any:
    """The target machine of the host, or of NUMBA_CPU_NAME if set."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    # JIT-linked code on x86 needs no global offset table.
    reloc = "static" if target.name.startswith("x86") else "default"
    return target.create_target_machine(
        cpu=os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name(), features=features(),
        opt=3, reloc=reloc, codemodel="jitdefault", jit=True,
    )  # fmt: skip


def set_fast_math_flags(module: Any, flags: set[str]) -> None:
    """Set fast-math flags on floating-point instructions that have none, and add them to calls."""
    order = sorted(flags)
    floats = (ir.FloatType(), ir.DoubleType())
    forbid_estimates(module)
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.opname in _FLOAT_OPERATIONS:
                    if not instruction.flags:
                        instruction.flags.extend(order)
                elif isinstance(instruction, CallInstr) and instruction.type in floats:
                    for flag in order:
                        instruction.fastmath.add(flag)


def forbid_estimates(module: Any) -> None:
    """Disable reciprocal estimates in all functions that the module defines so far."""
    for function in module.functions:
        if function.blocks:
            set.add(function.attributes, _NO_ESTIMATES)  # an attribute that llvmlite does not know


def parse_module(text: str) -> Any:
    """A verified LLVM module, parsed from IR."""
    # As in Numba (`cgutils.normalize_ir_text`), each byte of UTF-8 becomes one character.
    module = llvm.parse_assembly(text.encode().decode("latin1"))
    module.data_layout = str(target_machine().target_data)
    module.verify()
    return module


def run(module: Any, target: Any = None, neighbours: bool = False) -> None:
    """Optimise a module in two pipelines.  The first inlines and prunes pairs of reference counts,
    the second is the full one.  With `neighbours`, it runs at -O3 with SLP vectorisation: straight-
    line code on adjacent elements is vectorised, for which more loops are unrolled.  Other modules
    do not gain from that."""
    for level in (0, 3 if neighbours else 2):
        pass_builder = builder(target or target_machine(), level, neighbours and level == 3)
        passes = pass_builder.getModulePassManager()
        if level == 0:
            # The vectoriser needs rotated loops, which exit at the latch.
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.add_refprune_pass()
        interruptible(functools.partial(passes.run, module, pass_builder))


def object_code(module: Any, care: bool = True) -> bytes:
    """Object code for the host; `care`: run loop strength reduction."""
    target = target_machine()

    def emit() -> bytes:
        with strength_reduction(care):
            return target.emit_object(module)

    return interruptible(emit)


def assembly(module: Any, care: bool = True) -> str:
    """Assembly for the host; `care`: run loop strength reduction."""
    with strength_reduction(care):
        return target_machine().emit_assembly(module)


@contextlib.contextmanager
def strength_reduction(enabled: bool) -> Iterator[None]:
    """Enable or disable LLVM's loop strength reduction during code generation.  It takes half of
    the code generation time, and few loops gain from it (`enable_lsr.py`)."""
    if not enabled:
        llvm.set_option(_OPTION_OWNER, "-disable-lsr=true")
    try:
        yield
    finally:
        if not enabled:
            llvm.set_option(_OPTION_OWNER, "-disable-lsr=false")


def run_light_passes(module: Any) -> None:
    """Run only instcombine and simplifycfg, which takes little time."""
    how = builder(target_machine(), 0)
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, how)


def builder(target: Any, level: int, neighbours: bool = False) -> Any:
    """An LLVM pass builder for a target machine and optimisation level."""
    options = llvm.create_pipeline_tuning_options()
    options.speed_level = level
    options.slp_vectorization, options.loop_vectorization = neighbours, level > 0
    return llvm.create_pass_builder(target, options)


def undefined_symbols(module: Any) -> tuple[str, ...] | None:
    """The undefined symbols of a module; None if a Numba function in it uses its environment, which
    does not exist here."""
    symbols = [*module.functions, *module.global_variables]
    environments = [s.name for s in symbols if "NumbaEnv" in s.name]
    if environments and any(str(module).count(name) > 1 for name in environments):
        return None
    found = [s.name for s in symbols if s.is_declaration and not s.name.startswith("llvm.")]
    return tuple(sorted(found))
