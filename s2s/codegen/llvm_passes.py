"""From LLVM's language to machine code for this machine: the passes that Numba runs."""

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

_WHO = "s2s"  # sets options
# 1 / sqrt(x) of float32 would be an estimate, made better once: nan for 0 and infinity.
_NO_ESTIMATES = '"reciprocal-estimates"="none"'
_FLOAT_OPERATIONS = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem", "fcmp"))


def features() -> str:
    """What this machine can do, or one that stands for it, as for Numba."""
    named = os.environ.get("NUMBA_CPU_FEATURES")
    return llvm.get_host_cpu_features().flatten() if named is None else named


@functools.cache
def machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    # Code that is linked where it is run needs no tables of addresses on machines of this kind.
    reloc = "static" if target.name.startswith("x86") else "default"
    return target.create_target_machine(
        cpu=os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name(), features=features(),
        opt=3, reloc=reloc, codemodel="jitdefault", jit=True,
    )  # fmt: skip


def mark(module: Any, flags: set[str]) -> None:
    """Gives arithmetic that has none the flags of what the optimiser may do with it."""
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
    """For all functions that there are by now."""
    for function in module.functions:
        if function.blocks:
            set.add(function.attributes, _NO_ESTIMATES)  # which llvmlite has not heard of


def parsed(text: str) -> Any:
    # The bytes of a text stand for characters, one each.
    module = llvm.parse_assembly(text.encode().decode("latin1"))
    module.data_layout = str(machine().target_data)
    module.verify()
    return module


def run(module: Any, target: Any = None, neighbours: bool = False) -> None:
    """Optimises: first what is inlined meets, so that pairs of counts are found; then all.
    Neighbours in memory that no loop runs over may be computed at once, too: for that, more loops
    are written out, which others do not gain by."""
    for level in (0, 3 if neighbours else 2):
        how = builder(target or machine(), level, neighbours and level == 3)
        passes = how.getModulePassManager()
        if level == 0:
            # Loops that end where they are tested are vectorised.
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.add_refprune_pass()
        interruptible(functools.partial(passes.run, module, how))


def object_code(module: Any, care: bool = True) -> bytes:
    target = machine()

    def emit() -> bytes:
        with strength_reduction(care):
            return target.emit_object(module)

    return interruptible(emit)


def assembly(module: Any, care: bool = True) -> str:
    """The same to read."""
    with strength_reduction(care):
        return machine().emit_assembly(module)


@contextlib.contextmanager
def strength_reduction(enabled: bool) -> Iterator[None]:
    """Whether LLVM's loop strength reduction runs while machine code is written.  It takes half of
    that time, and few loops gain by it (`enable_lsr.py`)."""
    if not enabled:
        llvm.set_option(_WHO, "-disable-lsr=true")
    try:
        yield
    finally:
        if not enabled:
            llvm.set_option(_WHO, "-disable-lsr=false")


def tidy(module: Any) -> None:
    """Hardly optimises, which takes little time."""
    how = builder(machine(), 0)
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, how)


def builder(target: Any, level: int, neighbours: bool = False) -> Any:
    """What makes passes for a machine."""
    options = llvm.create_pipeline_tuning_options()
    options.speed_level = level
    options.slp_vectorization, options.loop_vectorization = neighbours, level > 0
    return llvm.create_pass_builder(target, options)


def missing(module: Any) -> tuple[str, ...] | None:
    """The symbols that a module calls and does not have; None if a function of Numba's among its
    own needs its environment, of which there is none."""
    things = [*module.functions, *module.global_variables]
    environments = [t.name for t in things if "NumbaEnv" in t.name]
    if environments and any(str(module).count(name) > 1 for name in environments):
        return None
    found = [t.name for t in things if t.is_declaration and not t.name.startswith("llvm.")]
    return tuple(sorted(found))
