"""The signature of a native kernel: its parameters, results and size guards.

Most kernels take and return only arrays and scalars.  Those are called through a C function in the
kernel's own machine code (`entry_thunk.py`), which checks and unboxes the arguments, calls the
kernel and boxes its results.  Other kernels have no signature, and are called through Numba.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...call.boxed_results import DTYPES, boxed_results
from ...codegen.size_guards import Relation, relations_of
from ...transforms.frontend.pytree import ArraySpec, ScalarSpec, Spec, describe

if TYPE_CHECKING:
    from ...transforms.pipeline import Compiled

PYTHON_SCALAR_TYPES = {"int64": "int", "float64": "float", "complex128": "complex"}


@dataclass(frozen=True)
class Signature:
    """`arguments` are the specs of the parameters and the seed.  `buffers` are the result buffers,
    which follow the arguments: for each the index of the result, and the parameter of the same
    shape.  `results` is the boxed form of each result: "array", "buffer", or the class of a scalar,
    where "int", "float" and "bool" are the Python types.  `relations` are (sign, size, size)."""

    arguments: tuple[ArraySpec | ScalarSpec, ...]
    results: tuple[str, ...]
    buffers: tuple[tuple[int, int], ...]
    relations: tuple[Relation, ...]

    @property
    def kernel_arguments(self) -> list[ArraySpec | ScalarSpec]:
        """The specs of all arguments of the kernel, buffers included."""
        like = (self.arguments[position] for _, position in self.buffers)
        arrays = [ArraySpec(a.dtype, a.ndim, "C") for a in like if isinstance(a, ArraySpec)]
        return [*self.arguments, *arrays]


def signature_of(compiled: Compiled, seed: Any) -> Signature | None:
    """The signature of a specialisation, or None if it takes or returns values other than arrays
    and scalars of supported dtypes."""
    specs: list[Spec] = [p.spec for p in compiled.params]
    if seed is not None:
        specs.append(describe(seed))
    arguments = tuple(s for s in specs if isinstance(s, (ArraySpec, ScalarSpec)))
    if len(arguments) < len(specs) or any(s.dtype not in DTYPES for s in arguments):
        return None
    results = tuple(
        "buffer" if i in compiled.out_like else kind
        for i, kind in enumerate(boxed_results(compiled))
    )
    if "" in results:
        return None
    buffers = tuple(sorted(compiled.out_like.items()))
    return Signature(arguments, results, buffers, relations_of(compiled))
