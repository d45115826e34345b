"""Bindings of LAPACK, which Numba takes from SciPy, and registration of the compiled routines of
`s2s.kernels.linalg`.

LAPACK is column-major: it sees a matrix in C order as its transpose.  Each routine is compiled once
per dtype and cached; callers only link it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload
from numba.np.linalg import ensure_lapack

from ..codegen.numba_bridge.external_call import ADDRESS, external
from ..codegen.numba_bridge.numba_cache import cached
from ..kernels import linalg, registry
from . import scalar  # noqa: F401  (`kernels.gemm`, which some of the routines call)

ensure_lapack()

_compiled: Any = cached(njit(nogil=True, error_model="numpy"))


def _routine(function: Any) -> Any:
    """Compile a function and register it as the routine of its name in `kernels.linalg`."""
    compiled = _compiled(function)
    name = getattr(linalg, function.__name__.removeprefix("_"))
    registry.register(name, compiled)

    @overload(name)
    def typed(*args):  # type: ignore[no-untyped-def]
        def run(*args):  # type: ignore[no-untyped-def]
            return compiled(*args)

        return run

    return compiled


def _routine_of_ranks(name: Any, position: int, vector: Any, matrix: Any) -> None:
    """Register two compiled functions for a routine, chosen by the rank of the argument at
    `position`."""
    registry.register_by_rank(name, position, vector, matrix)

    @overload(name)
    def typed(*args):  # type: ignore[no-untyped-def]
        compiled = vector if args[position].ndim == 1 else matrix

        def run(*args):  # type: ignore[no-untyped-def]
            return compiled(*args)

        return run


def _external(name: str, *arguments: Any) -> Any:
    return external(name, types.intc, types.char, *arguments)


_size, _array, _letter = types.intp, ADDRESS, types.char
_gesv = _external("numba_xgesv", _size, _size, _array, _size, _array, _array, _size)
_getrf = _external("numba_xxgetrf", _size, _size, _array, _size, _array)
_getri = _external("numba_ez_xxgetri", _size, _array, _size, _array)
_potrf = _external("numba_xxpotrf", _letter, _size, _array, _size)
_geqrf = _external("numba_ez_geqrf", _size, _size, _array, _size, _array)
_orgqr = _external("numba_ez_xxgqr", _size, _size, _size, _array, _size, _array)
_syevd = _external("numba_ez_xxxevd", _letter, _letter, _size, _array, _size, _array)
_gesdd = _external(
    "numba_ez_gesdd",
    _letter, _size, _size, _array, _size, _array, _array, _size, _array, _size,
)  # fmt: skip


@_compiled
def _kind(a):  # type: ignore[no-untyped-def]
    """LAPACK's letter for a dtype."""
    return np.int8(115) if a.itemsize == 4 else np.int8(100)  # "s", "d"


@_compiled
def _transposed(a):  # type: ignore[no-untyped-def]
    m, n = a.shape
    out = np.empty((n, m), a.dtype)
    for i in range(m):
        for j in range(n):
            out[j, i] = a[i, j]
    return out


@_compiled
def _copied(a):  # type: ignore[no-untyped-def]
    out = np.empty(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j]
    return out
