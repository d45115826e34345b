"""The operations of loop IR (`transforms/lower/loop_ir/operations.py`) by their functions."""

from __future__ import annotations

import builtins
from operator import attrgetter
from typing import Any

import numpy as np

from .. import kernels
from ..transforms.ir.lazy import memoize
from ..transforms.lower.loop_ir.operations import OPS, Operation


def operation(function: Any) -> Operation | None:
    """The operation that a function implements, or None."""
    return _operations().get(function) if callable(function) else None


def implementation(name: str) -> Any:
    """The function that a name in lowered source refers to, such as `np.exp` or `rt.gemm`."""
    module, _, path = name.partition(".")
    owner: Any = {"np": np, "rt": kernels}.get(module, builtins)
    return attrgetter(path or name)(owner)


@memoize
def _operations() -> dict[Any, Operation]:
    return {implementation(name): op for name, op in OPS.items()}
