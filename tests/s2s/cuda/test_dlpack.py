import ctypes

import numpy as np
import pytest

import s2s
from s2s.cuda import dlpack


@pytest.mark.parametrize("dtype", ("float64", "float32", "int64", "uint8", "bool"))
@pytest.mark.parametrize("shape", ((), (3,), (2, 3), (0, 2)))
def test_the_description_of_an_array(dtype, shape):
    array = s2s.to_device(np.ones(shape, dtype), "cuda-emulated")
    capsule = dlpack.capsule(array, (dlpack.CUDA, 3), lambda: None)
    address = dlpack._pointer(id(capsule), b"dltensor")
    tensor = dlpack._Managed.from_address(address).tensor
    assert (tensor.device_type, tensor.device_id, tensor.ndim) == (2, 3, len(shape))
    assert tensor.shape[: len(shape)] == list(shape) and not tensor.strides
    assert tensor.data == (array.address if array.size else None)
    assert tensor.bits == 8 * array.dtype.itemsize and tensor.lanes == 1
    del capsule
    assert address not in dlpack._held


def test_a_consumer_releases_the_array():
    array = s2s.to_device(np.ones(3), "cuda-emulated")
    capsule = dlpack.capsule(array, (dlpack.CUDA, 0), lambda: None)
    address = dlpack._pointer(id(capsule), b"dltensor")
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = ctypes.c_char_p(b"used_dltensor")
    rename(capsule, name)
    del capsule
    assert address in dlpack._held  # the consumer has it now
    managed = dlpack._Managed.from_address(address)
    managed.deleter(ctypes.pointer(managed))
    assert address not in dlpack._held
