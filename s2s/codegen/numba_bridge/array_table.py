"""Many arrays as one argument of a Numba function.

Numba takes 50 ns to unbox an array, and LLVM's compile time grows faster than the number of
arguments: a step over hundreds of arrays would take minutes to compile.  Variables hold the same
arrays in every step, so they are checked once, and their addresses, sizes and strides are passed as
one array of integers, the table.  The table owns references to the arrays, so they live as long as
a call that has it.

The first two words are the address of the table itself and a hash of its layout.  Compiled code
rejects an array of integers with other values there.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...transforms.frontend.pytree import ArraySpec, Path

if TYPE_CHECKING:
    from ...transforms.pipeline import Compiled

SPEC = ArraySpec("int64", 1, "C")  # of a table
HEADER = 2  # words before those of the arrays


class _TableMemory(bytearray):
    """The memory of a table; owns references to the arrays."""

    arrays: Sequence[Any]


def layout_hash(specs: Sequence[ArraySpec]) -> int:
    return zlib.crc32(repr([*specs]).encode())


def length(spec: ArraySpec) -> int:
    """The number of words of an array: address, sizes and, unless it is contiguous, strides."""
    return 1 + (1 if spec.layout == "C" else 2) * spec.ndim


def table_builder(specs: Sequence[ArraySpec]) -> Any:
    """A function that creates a table of arrays; it raises TypeError for arrays that do not match
    `specs`."""
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
        memory = _TableMemory(8 * len(words))
        memory.arrays = arrays
        made = np.frombuffer(memory, np.int64)
        made[:] = words
        made[0] = made.__array_interface__["data"][0]
        return made

    return table


# With more array arguments than this, all arrays are passed in a table.
MAX_DIRECT_ARRAYS = 32


def _is_variable_array(path: Path) -> bool:
    """True if a path leads to the array of a Variable that is not an argument itself."""
    *before, last = path
    return last == (".", "_array") and (len(before) > 1 or before[0][0] != "arg")


def tabled_parameters(compiled: Compiled) -> dict[int, ArraySpec]:
    """The parameters that a Numba function takes in a table: the arrays of Variables that are
    reached through objects, since they are the same in every call, and all arrays if there are
    more than `MAX_DIRECT_ARRAYS`."""
    arrays = {i: p.spec for i, p in enumerate(compiled.params) if isinstance(p.spec, ArraySpec)}
    held = {i: spec for i, spec in arrays.items() if _is_variable_array(compiled.params[i].path)}
    return arrays if len(arrays) - len(held) > MAX_DIRECT_ARRAYS else held
