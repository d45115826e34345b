"""Many arrays as one argument of a Numba function.

Numba takes 50 ns to unbox an array, and LLVM's time grows faster than the number of arguments: a
step over hundreds of arrays would take minutes to compile.  Variables hold the same arrays in every
step, so they are checked once, and their addresses, sizes and strides are passed as one array of
integers.  That array owns references to the others: they live as long as a call that has it.

The first two words are the address of the table itself and a hash of its layout; compiled code
refuses an array of integers that has others there.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...transforms.frontend.pytree import ArraySpec, Path

if TYPE_CHECKING:
    from ...transforms.pipeline import Compiled

HEADER = 2


class _Words(bytearray):
    """The memory of a table, which owns references to the arrays."""

    arrays: Sequence[Any]


def layout_hash(specs: Sequence[ArraySpec]) -> int:
    return zlib.crc32(repr([*specs]).encode())


def length(spec: ArraySpec) -> int:
    """The words of an array: its address, its sizes and, unless it is contiguous, its strides."""
    return 1 + (1 if spec.layout == "C" else 2) * spec.ndim


def writer(specs: Sequence[ArraySpec]) -> Any:
    """A function that makes a table of arrays; it raises TypeError for arrays that do not fit."""
    dtypes = [np.dtype(s.dtype) for s in specs]
    key = layout_hash(specs)

    def table(arrays: Sequence[Any]) -> Any:
        words: list[int] = [0, key]
        for array, spec, dtype in zip(arrays, specs, dtypes, strict=True):
            flags = array.flags
            fits = (
                type(array) is np.ndarray
                and array.dtype == dtype
                and array.ndim == spec.ndim
                and flags.aligned
                and (flags.c_contiguous or spec.layout != "C")
                and (flags.writeable or not spec.writeable)
            )
            if not fits:
                raise TypeError("an array that the table is not made for")
            words.append(array.__array_interface__["data"][0])
            words += array.shape
            if spec.layout != "C":
                words += array.strides
        memory = _Words(8 * len(words))
        memory.arrays = arrays
        made = np.frombuffer(memory, np.int64)
        made[:] = words
        made[0] = made.__array_interface__["data"][0]
        return made

    return table


# With more arrays than this, all are passed in a table.
MOST_ARRAYS = 32


def _is_held(path: Path) -> bool:
    """Whether a path leads to the array of a Variable that is no argument itself."""
    *before, last = path
    return last == (".", "_array") and (len(before) > 1 or before[0][0] != "arg")


def tabled(compiled: Compiled) -> dict[int, ArraySpec]:
    """The parameters that a Numba function takes in a table: the arrays of Variables that are
    reached through objects, as they are the same in every call, and all arrays if there are
    many."""
    arrays = {i: p.spec for i, p in enumerate(compiled.params) if isinstance(p.spec, ArraySpec)}
    held = {i: spec for i, spec in arrays.items() if _is_held(compiled.params[i].path)}
    return arrays if len(arrays) - len(held) > MOST_ARRAYS else held
