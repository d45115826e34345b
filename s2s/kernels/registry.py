"""Which compiled function stands for a routine of `s2s.kernels.linalg` or `s2s.kernels.fft`.

Numba finds it by an `overload`, and compiles what calls it together with it.  Kernels of our own
are told here, and call it where it is (`s2s.codegen.external_routines`): it is large, and the same
for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# The function, given the ranks of the arguments: 0 for what is no array.
_FORMS: dict[Any, Callable[[tuple[int, ...]], Any]] = {}


def is_routine(function: Any, compiled: Any) -> None:
    _FORMS[function] = lambda ranks: compiled


def by_rank(function: Any, position: int, vector: Any, matrix: Any) -> None:
    """One of two, by the rank of an argument."""
    _FORMS[function] = lambda ranks: vector if ranks[position] == 1 else matrix


def form(function: Any, ranks: tuple[int, ...]) -> Any:
    """None for a function that is no routine."""
    found = _FORMS.get(function) if callable(function) else None
    return found(ranks) if found is not None else None
