"""External routines: functions compiled by Numba that kernels call but do not contain.

Each routine is an object file of its own.  It is cached under a name that is the same in all
processes, which is also its symbol in kernels.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from ..cache import store
from ..cache.source_key import platform_key
from ..runtime import jit_link
from . import llvm_passes
from .type_inference import Unsupported


def with_stable_symbols(text: str, routines: dict[str, Any]) -> str:
    """LLVM IR in which Numba's mangled names of routines are replaced by their stable symbols.
    `routines` maps signatures to Numba's compile results."""
    for signature, compiled in sorted(routines.items()):
        mangled = compiled.fndesc.mangled_name
        if f'@"{mangled}"' in text:
            text = text.replace(f'@"{mangled}"', f'@"{_cached_symbol(signature, compiled)}"')
    return text


def _cached_symbol(signature: str, compiled: Any) -> str:
    """The stable symbol of a routine, which is compiled and cached if it is not yet."""
    name = jit_link.ROUTINE + store.digest(platform_key(), signature)
    if jit_link.routine_code(name) is None:
        jit_link.cache_routine(name, _object_code(name, compiled))
    return name


def _object_code(name: str, compiled: Any) -> jit_link.Code:
    """The object code of a routine.  Only the routine itself has external linkage."""
    mangled = compiled.fndesc.mangled_name
    module = llvm_passes.parse_module(
        str(compiled.library._get_module_for_linking()).replace(mangled, name)
    )
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == name else "internal"
    builder = llvm_passes.builder(llvm_passes.target_machine(), 0)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    missing = llvm_passes.undefined_symbols(module)
    if missing is None:
        raise Unsupported("a routine that needs its environment")
    return jit_link.Code(llvm_passes.target_machine().emit_object(module), (), missing)
