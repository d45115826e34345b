"""Arrays and numbers as compiled kernels take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Overlap
from ..transforms.frontend.pytree import ArraySpec, ScalarSpec, Spec

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled

# Parameters, seed and buffers to results (`s2s.backends.backends`).
Kernel = Callable[[tuple[Any, ...], Any, Sequence[Any]], Sequence[Any]]

# The Python type of a number that has no dtype of its own.
WEAK: dict[str, Callable[[Any], Any]] = {
    "float64": float,
    "complex128": complex,
    "int64": int,
    "bool": bool,
}


def fitted(spec: Spec, value: Any) -> Any:
    """An array or number of no subclass, with NumPy's own object for its dtype.  It shares its
    memory with what was given."""
    if isinstance(spec, ArraySpec):
        value = np.asarray(value)
        dtype = np.dtype(spec.dtype)
        return value if value.dtype is dtype else value.view(dtype)
    assert isinstance(spec, ScalarSpec)
    return (
        WEAK[spec.dtype](value)
        if spec.weak or spec.dtype == "bool"
        else np.dtype(spec.dtype).type(value)
    )


def aligned(kernel: Kernel, compiled: Compiled, function: Any) -> Kernel:
    """The kernel that calls `function`, for any arguments.  Compiled code reads aligned memory
    only, and code that writes wants its arrays disjoint; the rare arguments that are not so get
    copied."""
    written = frozenset(compiled.written)

    def call(params: tuple[Any, ...], seed: Any, buffers: Sequence[Any]) -> Sequence[Any]:
        try:
            return kernel(params, seed, buffers)
        except TypeError:
            odd = [
                isinstance(p, np.ndarray) and p.dtype.names is None and not p.flags.aligned
                for p in params
            ]
            if not any(odd):
                raise
        except Overlap:
            odd = [isinstance(p, np.ndarray) for p in params]
        copies = tuple([p.copy() if o else p for p, o in zip(params, odd)])
        out = kernel(copies, seed, buffers)
        for i in written:
            if odd[i]:
                params[i][...] = copies[i]
        return out

    call.function = function  # type: ignore[attr-defined]
    return call
