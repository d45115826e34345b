"""Conversion of arrays and scalars to the form that compiled kernels take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Overlap
from ..transforms.frontend.pytree import ArraySpec, ScalarSpec, Spec

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled

# A kernel maps (parameters, seed, buffers) to results (`s2s.backends.backends`).
Kernel = Callable[[tuple[Any, ...], Any, Sequence[Any]], Sequence[Any]]

# The Python type of a weakly typed scalar, by dtype.
WEAK_SCALAR_TYPES: dict[str, Callable[[Any], Any]] = {
    "float64": float,
    "complex128": complex,
    "int64": int,
    "bool": bool,
}


def to_kernel_argument(spec: Spec, value: Any) -> Any:
    """An array or scalar converted to the base class, with NumPy's singleton for its dtype.  An
    array shares its memory with the given one."""
    if isinstance(spec, ArraySpec):
        value = np.asarray(value)
        dtype = np.dtype(spec.dtype)
        return value if value.dtype is dtype else value.view(dtype)
    assert isinstance(spec, ScalarSpec)
    return (
        WEAK_SCALAR_TYPES[spec.dtype](value)
        if spec.weak or spec.dtype == "bool"
        else np.dtype(spec.dtype).type(value)
    )


def with_copied_arguments(kernel: Kernel, compiled: Compiled, function: Any) -> Any:
    """Wrap the kernel that calls `function` so that it takes any arguments.  Compiled code reads
    aligned memory only, and code that writes needs disjoint arrays.  Arguments that violate this
    are rare; they are copied, and written arrays are copied back."""
    written = frozenset(compiled.written)

    def call(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        try:
            return kernel(params, seed, buffers)
        except TypeError:
            to_copy = [
                isinstance(p, np.ndarray) and p.dtype.names is None and not p.flags.aligned
                for p in params
            ]
            if not any(to_copy):
                raise
        except Overlap:
            to_copy = [isinstance(p, np.ndarray) for p in params]
        copies = tuple([p.copy() if o else p for p, o in zip(params, to_copy)])
        try:
            return kernel(copies, seed, buffers)
        finally:  # after an error, too: what was written before it stays
            for i in written:
                if to_copy[i]:
                    params[i][...] = copies[i]

    call.function = function  # type: ignore[attr-defined] # for call stubs
    return call
