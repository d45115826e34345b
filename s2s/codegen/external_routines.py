"""Routines: functions of Numba's that kernels call and do not contain.

Each is machine code of its own, kept under a name that is the same in all processes, which also is
the symbol that kernels call it by.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from ..cache import store
from ..runtime import jit_link
from . import llvm_passes
from .type_inference import Unsupported


def renamed(text: str, routines: dict[str, Any]) -> str:
    """A module in which routines, given by what Numba made of them, have their lasting names."""
    for told, compiled in sorted(routines.items()):
        mangled = compiled.fndesc.mangled_name
        if f'@"{mangled}"' in text:
            text = text.replace(f'@"{mangled}"', f'@"{_kept(told, compiled)}"')
    return text


def _kept(told: str, compiled: Any) -> str:
    name = jit_link.ROUTINE + store.digest(store.platform_key(), told)
    if jit_link.routine_code(name) is None:
        jit_link.keep_routine(name, _code(name, compiled))
    return name


def _code(name: str, compiled: Any) -> jit_link.Code:
    mangled = compiled.fndesc.mangled_name
    module = llvm_passes.parsed(
        str(compiled.library._get_module_for_linking()).replace(mangled, name)
    )
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == name else "internal"
    builder = llvm_passes.builder(llvm_passes.machine(), 0)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    missing = llvm_passes.missing(module)
    if missing is None:
        raise Unsupported("a routine that needs its environment")
    return jit_link.Code(llvm_passes.machine().emit_object(module), (), missing)
