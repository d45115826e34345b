"""Integer powers of floats: the compiler-rt functions `__powidf2` and `__powisf2`.

LLVM turns `pow(x, float(n))` with an `n` of 32 bits or less into `llvm.powi`, and that into a call
of `__powidf2` or `__powisf2`.  These belong to the run-time library of a C compiler, which need not
be loaded in the process; LLVM aborts the process then.  Here they are defined by `pow` and `powf`.
"""

from __future__ import annotations

from ..transforms.ir.lazy import memoize
from . import jit_link

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


_NAMES = ("__powidf2", "__powisf2")


@memoize
def register_symbols() -> None:
    """Register the functions as LLVM symbols."""
    import llvmlite.binding as llvm

    library = jit_link.runtime(_TEXT, _NAMES)
    for name in _NAMES:
        llvm.add_symbol(name, library[name])
