"""Precision policies, by their Keras names.

`mixed_float16` and `mixed_bfloat16` request weights in float32 and arithmetic in a lower precision.
Numba compiles no such arithmetic for CPUs, and NumPy's float16 is slower than float32.  These
policies are accepted so that programs run unchanged, but they compute in float32, as their
`compute_dtype` states.  Losses may still be scaled (`optimizers.LossScaleOptimizer`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .public_names import listing

__all__ = ["Policy", "global_policy", "policy", "set_global_policy"]
__dir__ = listing(__name__)

MIXED = ("mixed_float16", "mixed_bfloat16")


@dataclass(frozen=True)
class Policy:
    """The dtype of a layer's arithmetic and the dtype of its weights."""

    name: str
    compute_dtype: str
    variable_dtype: str


def policy(which: Any = None) -> Policy:
    """A policy by its name or dtype; None for the global one."""
    if which is None:
        return _global
    if isinstance(which, Policy):
        return which
    if isinstance(which, str) and which in MIXED:
        return Policy(which, "float32", "float32")
    dtype = np.dtype(which).name if which != "bfloat16" else which
    if dtype not in ("float32", "float64"):
        raise ValueError(
            f"weights are float32 or float64, not {dtype}; the policies are float32, float64, "
            f"{' and '.join(MIXED)}"
        )
    return Policy(dtype, dtype, dtype)


_global = policy("float32")


def set_global_policy(which: Any) -> None:
    """Set the policy of layers that are created from now on."""
    global _global
    _global = policy(which)
    if _global.name in MIXED:
        warnings.warn(
            f"{_global.name}: there is no arithmetic below float32 to compile to on this machine; "
            "layers compute in float32",
            stacklevel=2,
        )


def global_policy() -> Policy:
    return _global
