import numpy as np
import pytest

from s2s.cuda.emulated_device import EmulatedDevice, HostMemory
from s2s.cuda.shadow_memory import ShadowMemory


def test_memory_is_aligned_and_poisoned():
    for nbytes in (0, 1, 1000):
        memory = HostMemory(nbytes)
        assert memory.address % 256 == 0
        assert (memory.array(memory.address, (nbytes,), np.uint8) == 0xFF).all()


def test_settings_are_restored():
    device = EmulatedDevice()
    with pytest.raises(KeyError), device.settings(block=2, reversed=True, shadow=ShadowMemory()):
        assert device.block == 2 and device.reversed and device.shadow is not None
        raise KeyError
    assert device.block is None and not device.reversed and device.shadow is None


def test_arrays_of_libraries_on_the_cpu():
    class Other:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    found = EmulatedDevice().adopt(Other(np.arange(4.0)[::2]))
    np.testing.assert_array_equal(found.numpy(), [0.0, 2.0])


def test_counts():
    device = EmulatedDevice()
    x = device.from_host(np.zeros(5))
    x.numpy()
    counts = device.counts
    assert (counts.allocations, counts.copies_in, counts.copies_out) == (1, 1, 1)
    assert (counts.bytes_in, counts.bytes_out, counts.synchronisations) == (40, 40, 1)
    counts.reset()
    assert counts.bytes_in == 0
