"""The rules of the shadow memory; test_mutants.py has whole kernels."""

import gc

import pytest

from s2s.cuda.emulated_device import HostMemory
from s2s.cuda.shadow_memory import MemoryViolation, ShadowMemory


class Named:
    name = "k"


def checked(*accesses, blocks=1):
    """The problem with accesses `(block, epoch, thread, kind, index)` to an array of 4 elements."""
    shadow, memory = ShadowMemory(), HostMemory(32, 64)
    shadow.add(memory)
    shadow.written(memory.address, 24)  # the last element is not initialised
    shadow.begin_launch(Named, 0)
    for block, epoch, thread, kind, index in accesses:
        if shadow._block != block:
            shadow.begin_block(block)
        shadow._epoch, shadow._thread = epoch, thread
        shadow.access(memory.address + 8 * index, 8, kind)
    try:
        shadow.end_launch()
    except MemoryViolation as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "first, second, same_epoch, other_epoch, other_block",
    [
        ("load", "load", False, False, False),
        ("load", "store", True, False, True),
        ("store", "load", True, False, True),
        ("store", "store", True, False, True),
        ("atomic", "atomic", False, False, False),
        ("atomic", "load", True, False, True),
        ("store", "atomic", True, False, True),
    ],
)
def test_races(first, second, same_epoch, other_epoch, other_block):
    assert ("race" in checked((0, 0, 0, first, 1), (0, 0, 1, second, 1))) is same_epoch
    assert ("race" in checked((0, 0, 0, first, 1), (0, 1, 1, second, 1))) is other_epoch
    assert ("race" in checked((0, 0, 0, first, 1), (1, 0, 0, second, 1))) is other_block
    assert not checked((0, 0, 0, first, 1), (0, 0, 0, second, 1))  # one thread
    assert not checked((0, 0, 0, first, 1), (0, 0, 1, second, 0))  # other elements


def test_many_readers():
    readers = [(0, 0, t, "load", 1) for t in range(3)]
    assert "race" in checked(*readers, (0, 0, 2, "store", 1))
    assert not checked(*readers, (0, 1, 2, "store", 1))
    assert "race" in checked(*readers, (1, 0, 2, "load", 1), (1, 1, 2, "store", 1))


def test_elements_that_were_never_written():
    assert "never written" in checked((0, 0, 0, "load", 3))
    assert "never written" in checked((0, 0, 0, "atomic", 3))
    assert not checked((0, 0, 0, "store", 3), (0, 0, 0, "load", 3))


def test_accesses_outside():
    assert "outside of all arrays" in checked((0, 0, 0, "load", 4))
    assert "outside of all arrays" in checked((0, 0, 0, "store", -1))
    assert checked((1, 0, 5, "load", 4)).endswith("by thread 5 of block 1 in the kernel k")


def test_released_memory_is_outside():
    shadow, memory = ShadowMemory(), HostMemory(8, 64)
    address = memory.address
    shadow.add(memory)
    del memory
    gc.collect()
    shadow.begin_launch(Named, 0)
    shadow.begin_block(0)
    shadow.access(address, 8, "store")
    with pytest.raises(MemoryViolation, match="outside"):
        shadow.end_launch()


def test_shared_arrays_belong_to_a_block():
    shadow, memory = ShadowMemory(), HostMemory(16)
    shadow.begin_launch(Named, 0)
    for block in range(2):
        shadow.begin_block(block)
        shadow.begin_array(memory.address, 8, "shared")
        shadow.begin_thread(0)
        shadow.access(memory.address, 8, "store")
        shadow.access(memory.address, 8, "load")
    shadow.begin_block(2)
    shadow.begin_array(memory.address, 8, "shared")
    shadow.access(memory.address, 8, "load")
    with pytest.raises(MemoryViolation, match="shared array that was never written"):
        shadow.end_launch()
