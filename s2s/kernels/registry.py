"""Registry of the compiled functions for the routines of `kernels/linalg.py` and `kernels/fft.py`.

Numba resolves a routine by an `overload` and compiles it together with its caller.  The code
generator looks it up here and calls it as an external symbol (`codegen/external_routines.py`),
since a routine is large and the same for all kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Routine -> function from the ranks of the arguments (0 for scalars) to the compiled function.
_COMPILED: dict[Any, Callable[[tuple[int, ...]], Any]] = {}


def register(function: Any, compiled: Any) -> None:
    """Register the compiled version of a routine."""
    _COMPILED[function] = lambda ranks: compiled


def register_by_rank(function: Any, position: int, vector: Any, matrix: Any) -> None:
    """Register two compiled versions, for a vector or a matrix as the argument at `position`."""
    _COMPILED[function] = lambda ranks: vector if ranks[position] == 1 else matrix


def compiled_form(function: Any, ranks: tuple[int, ...]) -> Any:
    """The compiled version of a routine for these ranks; None for any other function."""
    found = _COMPILED.get(function) if callable(function) else None
    return found(ranks) if found is not None else None
