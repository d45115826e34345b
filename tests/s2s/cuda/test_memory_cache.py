import gc

import pytest

from s2s.cuda.memory_cache import MemoryCache, size_class


class Buffer:
    live = 0

    def __init__(self, size):
        self.size, self.handle = size, id(self)
        Buffer.live += 1

    def __del__(self):
        Buffer.live -= 1


def test_sizes():
    for nbytes in (0, 1, 511, 512, 513, 10_000, 123_456_789):
        size = size_class(nbytes)
        assert max(nbytes, 512) <= size <= max(512, nbytes + max(512, nbytes / 8))
        assert size % 512 == 0 and size_class(size) == size


def test_released_memory_is_used_again():
    cache = MemoryCache(Buffer)
    first, is_new = cache.allocation(1000)
    assert is_new and first.nbytes == 1000
    address = first.address
    other, is_new = cache.allocation(1000)
    assert is_new and other.address != address
    del first
    again, is_new = cache.allocation(900)  # of the same class
    assert not is_new and again.address == address and again.nbytes == 900
    assert cache.allocation(5000)[1]


def test_release():
    cache = MemoryCache(Buffer)
    kept, _ = cache.allocation(10)
    cache.allocation(10)
    gc.collect()
    before = Buffer.live
    cache.release()
    assert Buffer.live == before - 1
    assert kept.buffer.size == 512


def test_a_full_device_gets_the_free_memory_back():
    def allocate(size):
        if size > 10_000 and Buffer.live:
            raise MemoryError
        return Buffer(size)

    gc.collect()
    Buffer.live = 0
    cache = MemoryCache(allocate)
    cache.allocation(10)
    assert Buffer.live == 1
    big, _ = cache.allocation(20_000)
    assert Buffer.live == 1 and big.buffer.size >= 20_000
    with pytest.raises(MemoryError):
        cache.allocation(30_000)
