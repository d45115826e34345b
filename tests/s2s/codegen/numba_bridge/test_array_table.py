"""Array tables: contents, rejected arrays, and ownership."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from s2s.codegen.numba_bridge import array_table
from s2s.transforms.frontend.pytree import describe


class Watched(np.ndarray):
    """An array class that supports weak references."""


def test_words_are_addresses_sizes_and_strides() -> None:
    plain, strided = np.zeros((2, 3)), np.zeros((4, 6), np.float32)[::2, ::3]
    specs = [describe(plain), describe(strided)]
    table = array_table.table_builder(specs)([plain, strided])
    own, key, *words = table.tolist()
    assert own == table.ctypes.data and key == array_table.layout_hash(specs)
    assert words == [plain.ctypes.data, 2, 3, strided.ctypes.data, 2, 2, *strided.strides]
    assert len(words) == sum(map(array_table.length, specs))


def test_a_table_keeps_its_arrays_alive() -> None:
    array = np.zeros(3)
    watched = weakref.ref(array)
    table = array_table.table_builder([describe(array)])([array])
    view = table[:]
    del array, table
    gc.collect()
    assert watched() is not None
    del view
    gc.collect()
    assert watched() is None


def test_arrays_that_do_not_fit_are_refused() -> None:
    written = np.zeros(3)
    make = array_table.table_builder([describe(written)])
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    others = [
        np.zeros(3, np.float32), np.zeros((3, 1)), np.zeros(6)[::2], np.zeros(3).view(Watched),
        np.zeros(25, np.uint8)[1:].view(np.float64), read_only, np.zeros(3, ">f8"),
    ]  # fmt: skip
    for other in others:
        with pytest.raises(TypeError):
            make([other])
    with pytest.raises(ValueError):
        make([written, written])
