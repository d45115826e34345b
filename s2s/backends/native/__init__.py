"""`backend="native"`: kernels that are entered without Numba at run time.

An opt-in for programs dominated by call overhead (calls of about a microsecond) or by start-up
time: a scalar gradient takes 0.2 µs, and a process that finds its kernels in the cache imports no
Numba.  The loop nests are those of the default back end (`s2s.codegen`).  This folder adds the
entry:

- `entry_signature.py`: the parameters and results of a kernel.  `entry_thunk.py`: the C function
  that checks and unboxes Python objects, calls the kernel and boxes its results.
- `object_code.py`: compiles both to object code, with the cache.  `native_loader.py`: loads it into
  the process.
- `native_call.py`: the call stub as bytecode, called a plan (`call_bytecode.py`), which a virtual
  machine in LLVM IR runs (`call_vm.py`, `call_vm_ops.py`).

Machine code reads the fields of objects at the offsets of `runtime/object_layout.py`.  If these do
not hold for an interpreter, `s2s doctor` reports it, and the default back end is used.

Only `s2s.backends.backends` may import this folder; it does so on demand.  The folder may import
what `s2s.backends` may.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...call.kernel_arguments import Kernel, to_kernel_argument, with_copied_arguments
from ...errors import MISS
from ...runtime import object_layout
from . import call_vm, native_call
from .entry_signature import signature_of
from .object_code import build

if TYPE_CHECKING:
    from ...transforms.pipeline import Compiled


def problems() -> tuple[str, str]:
    """Why this back end does not support the interpreter, and why calls do not run as bytecode."""
    layout = object_layout.layout_problem()
    if layout or call_vm.is_vm_layout_known():
        return layout, layout
    return "", "this interpreter lays out its classes in another way"


def kernel(compiled: Compiled, seed: Any) -> Kernel | None:
    """The kernel of a specialisation (`s2s.backends.backends`); None if only Numba can call it."""
    signature = signature_of(compiled, seed)
    if signature is None:
        return None
    function = build(compiled.lowered, compiled.entry, compiled.written, signature)
    if function is None:
        return None
    count, specs = len(compiled.result_types), [p.spec for p in compiled.params]

    def run(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        given = () if seed is None else (seed,)
        rest = given if any(b is None for b in buffers) else (*given, *buffers)
        found = function(*params, *rest)
        if found is MISS:
            found = function(*map(to_kernel_argument, specs, params), *rest)
        if found is MISS:
            raise TypeError(f"{compiled.name} does not take {[*map(type, params)]}")
        return (found,) if count == 1 else found

    whole: Any = with_copied_arguments(run, compiled, function)
    whole.writer = partial(native_call.NativeWriter, signature=signature)
    return whole
