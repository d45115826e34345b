"""Integer powers of floats, as functions that LLVM calls.

LLVM turns `pow(x, float(n))` with an `n` of 32 bits or less into `llvm.powi`, and that into a call
of `__powidf2` or `__powisf2`.  These belong to the run-time library of a C compiler, which a
process need not have loaded: LLVM ends the process then.  Here they are `pow` and `powf`.
"""

from __future__ import annotations

import functools
from typing import Any

_TEXT = """
declare double @pow(double, double)
declare float @powf(float, float)

define double @__powidf2(double %x, i32 %n) {
  %exponent = sitofp i32 %n to double
  %power = call double @pow(double %x, double %exponent)
  ret double %power
}

define float @__powisf2(float %x, i32 %n) {
  %exponent = sitofp i32 %n to float
  %power = call float @powf(float %x, float %exponent)
  ret float %power
}
"""


@functools.cache
def offer() -> Any:
    """Tells LLVM where the functions are.  The engine that holds them is kept."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(_TEXT)
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    for name in ("__powidf2", "__powisf2"):
        llvm.add_symbol(name, engine.get_function_address(name))
    return engine
