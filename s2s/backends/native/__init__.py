"""`backend="native"`: kernels that are entered without Numba at run time.

An opt-in for programs that wait for calls of a microsecond and for their start: a scalar gradient
takes 0.2 µs, and a process that finds its kernels in the cache imports no Numba.  The loop nests
are those of the default back end (`s2s.codegen`); what is added here is the entry:

- `entry_signature.py`: what a kernel takes and returns; `entry_thunk.py`: the C function that
  checks
  Python objects, calls the kernel and makes objects of its results.
- `object_code.py`: compiles both, by way of the cache; `native_loader.py`: loads them into the
  process.
- `native_call.py`: the call with its guards, as a plan (`call_bytecode.py`) that a C function runs
  (`call_vm.py`, `call_vm_ops.py`).
- `object_layout.py`: the fields of objects that machine code reads, and whether this interpreter
  has them
  there.  On one that has not, `s2s doctor` says so, and the default back end is used.

Only `s2s.backends.backends` imports this folder, when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...call.kernel_arguments import Kernel, aligned, fitted
from ...errors import MISS
from . import native_call, object_layout
from .entry_signature import signature_of
from .object_code import build

if TYPE_CHECKING:
    from ...transforms.pipeline import Compiled

is_available = object_layout.is_layout_known


def kernel(compiled: Compiled, seed: Any) -> Kernel | None:
    """The kernel of a specialisation (`s2s.backends.backends`); None where only Numba can enter
    it."""
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
            found = function(*map(fitted, specs, params), *rest)
        if found is MISS:
            raise TypeError(f"{compiled.name} does not take {[*map(type, params)]}")
        return (found,) if count == 1 else found

    whole: Any = aligned(run, compiled, function)
    whole.writer = partial(native_call.NativeWriter, signature=signature)
    return whole
