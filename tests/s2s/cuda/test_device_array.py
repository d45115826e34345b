import copy
import pickle

import numpy as np
import pytest

import s2s
from s2s.cuda.device_array import checked_dtype, contiguous_strides

TARGET = "cuda-emulated"


def made(x):
    return s2s.to_device(x, TARGET)


def test_copies_to_the_device_and_back():
    x = np.arange(6.0).reshape(2, 3)
    d = made(x.T)
    assert isinstance(d, s2s.DeviceArray)
    assert (d.shape, d.dtype, d.ndim, d.size, d.nbytes) == ((3, 2), np.float64, 2, 6, 48)
    assert d.strides == (16, 8) and len(d) == 3 and d.target == TARGET
    np.testing.assert_array_equal(d.numpy(), x.T)
    d.numpy()[...] = 0  # a copy
    np.testing.assert_array_equal(np.asarray(d), x.T)
    assert made(d) is d
    assert repr(d) == "<s2s.DeviceArray 3x2 float64 on cuda-emulated>"


@pytest.mark.parametrize("dtype", ("float64", "float32", "int64", "int32", "uint8", "bool"))
def test_dtypes_and_empty_arrays(dtype):
    for shape in ((), (0,), (2, 0, 3), (4,)):
        x = np.ones(shape, dtype)
        found = made(x).numpy()
        assert np.shape(found) == shape and found.dtype == x.dtype
        np.testing.assert_array_equal(found, x)


def test_scalars():
    d = made(2.5)
    assert d.shape == () and float(d) == 2.5 and int(d) == 2 and bool(d) and d.item() == 2.5
    assert f"{d:.2f}" == "2.50" and isinstance(d.numpy(), np.float64)
    with pytest.raises(ValueError, match="item"):
        made(np.zeros(3)).item()
    with pytest.raises(TypeError):
        len(d)


def test_copies():
    d = made(np.arange(3.0))
    for other in (d.copy(), copy.copy(d), copy.deepcopy(d)):
        assert other.address != d.address
        np.testing.assert_array_equal(other.numpy(), [0, 1, 2])
    with pytest.raises(TypeError, match="numpy"):
        pickle.dumps(d)
    with pytest.raises(ValueError, match="copy=False"):
        np.array(d, copy=False)


def test_other_libraries_share_the_memory():
    d = made(np.arange(3.0))
    view = np.from_dlpack(d)
    assert view.ctypes.data == d.address and d.__dlpack_device__() == (1, 0)
    assert not hasattr(d, "__cuda_array_interface__")  # it is not in the memory of a GPU


def test_unsupported_dtypes_are_refused():
    for dtype in (np.complex128, np.float16, object, "U3"):
        with pytest.raises(s2s.S2STypeError, match="does not compute with"):
            made(np.zeros(2, dtype))
    assert checked_dtype("f4", "x") == np.float32


def test_strides():
    assert contiguous_strides((2, 3), None, 8)
    assert contiguous_strides((2, 3), (24, 8), 8)
    assert not contiguous_strides((2, 3), (8, 16), 8)
    assert contiguous_strides((1, 3), (999, 8), 8)  # the stride of a single row is not used
    assert contiguous_strides((0, 3), (1, 1), 8)


def test_memory_on_two_devices(monkeypatch):
    from s2s.cuda import devices
    from s2s.cuda.emulated_device import EmulatedDevice

    d = made(np.zeros(3))
    monkeypatch.setattr(devices, "_devices", {TARGET: EmulatedDevice()})
    with pytest.raises(s2s.S2STypeError, match="on another device"):
        made(d)
