"""The device of cuda.core, on a machine that is made up."""

import ctypes
import gc

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

import s2s
from s2s.cuda import devices, dlpack
from tests.s2s.cuda.fake_core import STREAM, Foreign, Machine


@pytest.fixture
def machine(monkeypatch):
    return Machine(monkeypatch)


def mean_square(w, b, x, y):
    residual = np.tanh(x @ w + b) - y
    return np.mean(residual * residual)


def sample(rng):
    return [rng.normal(size=size) for size in ((4, 3), 3, (5, 4), (5, 3))]


def test_gradients_are_those_of_the_cpu(machine, rng):
    given = sample(rng)
    on_device = [s2s.to_device(a) for a in given]
    value, gradients = s2s.value_and_grad(mean_square, wrt=("w", "b"), target="cuda")(*on_device)
    expected, others = s2s.value_and_grad(mean_square, wrt=("w", "b"), backend="loops")(*given)
    np.testing.assert_allclose(float(value), expected)
    for found, other in zip(gradients, others):
        np.testing.assert_allclose(found.numpy(), other)


def test_a_call_copies_nothing_and_does_not_wait(machine, rng):
    on_device = [s2s.to_device(a) for a in sample(rng)]
    f = s2s.value_and_grad(mean_square, wrt=("w", "b"), target="cuda")
    f(*on_device)
    machine.log.clear()
    counts = machine.device.counts
    counts.reset()
    value, _ = f(*on_device)
    assert machine.count("copy in") == machine.count("copy out") == 0
    assert machine.count("synchronise") == machine.count("load") == 0
    assert machine.count("launch") == counts.launches > 0
    assert machine.count("allocate") == counts.allocations <= 1  # the first value is still there
    float(value)
    assert machine.count("copy out") == machine.count("synchronise") == 1
    assert counts.bytes_out == 8


def test_a_training_step_allocates_nothing(machine, rng):
    x, y = (s2s.to_device(a) for a in sample(rng)[2:])
    w, b = (s2s.Variable(a, device="cuda") for a in sample(rng)[:2])
    optimizer = s2s.optimizers.Adam(learning_rate=0.1)

    @s2s.function(target="cuda")
    def step(x, y):
        with s2s.GradientTape() as tape:
            loss = mean_square(w, b, x, y)
        gradients = tape.gradient(loss, [w, b])
        optimizer.apply_gradients(zip(gradients, [w, b]))
        return loss

    for _ in range(2):
        loss = step(x, y)
    machine.log.clear()
    for _ in range(3):
        loss = step(x, y)
    assert set(machine.log) == {"launch", "fill"}
    before = machine.live
    del loss
    gc.collect()
    machine.device.release()
    assert machine.live < before


def test_flags_and_a_value_are_read_together(machine, rng):
    gather = s2s.function(lambda x, index: np.sum(x[index]), target="cuda")
    x, good, bad = (s2s.to_device(a) for a in (rng.normal(size=4), np.arange(3), np.array([9])))
    values = [gather(x, good) for _ in range(5)]
    machine.log.clear()
    float(values[0])
    assert machine.count("synchronise") == machine.count("allocate pinned") == 1
    machine.log.clear()
    assert [float(v) for v in values[1:]] == [float(values[0])] * 4
    assert machine.count("synchronise") == machine.count("copy out") == 5  # no flags are left
    value = gather(x, bad)
    with pytest.raises(IndexError, match="out of bounds"):
        float(value)
    large = s2s.to_device(np.arange(10000.0))
    np.testing.assert_array_equal(large.numpy(), np.arange(10000.0))


@pytest.mark.parametrize("dtype", (np.float64, np.float32))
def test_products_by_cublas(machine, monkeypatch, rng, dtype):
    machine.with_cublas(monkeypatch)
    given = [a.astype(dtype) for a in sample(rng)]
    f = s2s.value_and_grad(mean_square, wrt=("w", "b", "x"), target="cuda")
    machine.log.clear()
    value, gradients = f(*map(s2s.to_device, given))
    expected, others = s2s.value_and_grad(mean_square, wrt=("w", "b", "x"), backend="loops")(*given)
    assert machine.count("cublas") == 3 and f"cublas on {STREAM}" in machine.log
    np.testing.assert_allclose(float(value), expected, rtol=1e-5)
    for found, other in zip(gradients, others):
        assert found.dtype == dtype
        np.testing.assert_allclose(found.numpy(), other, rtol=1e-4, atol=1e-6)


def test_arrays_of_other_libraries(machine, rng):
    given = sample(rng)
    machine.log.clear()
    gradient = s2s.grad(mean_square, target="cuda")(*map(Foreign, given))
    assert machine.count("copy in") == 0
    np.testing.assert_allclose(gradient.numpy(), s2s.grad(mean_square, backend="loops")(*given))
    whole = s2s.to_device(Foreign(given[0]))
    assert whole.address == given[0].ctypes.data


def test_arrays_in_containers(machine, rng):
    w, b, x, y = sample(rng)

    @s2s.grad(target="cuda")
    def loss(p, x, y):
        return mean_square(p["w"], p["b"][0], x, y)

    found = loss({"w": Foreign(w), "b": [Foreign(b)]}, Foreign(x), s2s.to_device(y))
    expected = s2s.grad(mean_square, wrt=("w", "b"), backend="loops")(w, b, x, y)
    np.testing.assert_allclose(found["w"].numpy(), expected[0])
    np.testing.assert_allclose(found["b"][0].numpy(), expected[1])


def test_strided_arrays_are_refused(machine):
    with pytest.raises(s2s.S2SValueError, match="not contiguous") as caught:
        s2s.to_device(Foreign(np.zeros((4, 4))[:, ::2]))
    assert "ascontiguousarray" in str(caught.value)
    with pytest.raises(s2s.S2STypeError, match="complex128"):
        s2s.to_device(Foreign(np.zeros(3, complex)))


def test_arrays_of_another_gpu_are_refused(machine):
    with pytest.raises(s2s.S2STypeError, match="is on GPU 1"):
        s2s.to_device(Foreign(np.zeros(3), device_id=1))


def test_arrays_leave_by_the_interfaces_of_other_libraries(machine):
    array = s2s.to_device(np.arange(6.0).reshape(2, 3))
    about = array.__cuda_array_interface__
    assert about["shape"] == (2, 3) and about["typestr"] == "<f8" and about["stream"] == STREAM
    assert about["data"] == (array.address, False)
    assert array.__dlpack_device__() == (dlpack.CUDA, 0)
    machine.log.clear()
    capsule = array.__dlpack__(stream=9)
    assert machine.log == ["9 waits"] and "dltensor" in repr(capsule)
    assert len(dlpack._held) == 1
    del capsule
    assert not dlpack._held


def test_memory_goes_back_after_the_work_of_the_other_library(machine):
    """A consumer of DLPack releases the array: our stream waits for its stream."""
    array = s2s.to_device(np.arange(6.0))
    held = array.__dlpack__(stream=9)
    address = ctypes.c_void_p(dlpack._pointer(id(held), b"dltensor"))
    machine.log.clear()
    managed = ctypes.cast(address, ctypes.POINTER(dlpack._Managed))
    managed.contents.deleter(managed)
    assert machine.log == ["waits for 9"] and not dlpack._held
    ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(held), ctypes.c_char_p(b"used_dltensor"))


def test_the_default_stream_waits_before_memory_of_others_is_released(machine, rng):
    x = s2s.to_device(Foreign(rng.normal(size=3)))
    machine.log.clear()
    del x
    gc.collect()
    assert machine.log == ["0 waits"]


def test_a_failure_of_the_driver(machine):
    machine.driver_status = 700
    with pytest.raises(s2s.DeviceError, match="700"):
        s2s.to_device(np.zeros(3))


def test_without_a_driver(monkeypatch):
    monkeypatch.setattr(devices, "_devices", {})
    with pytest.raises(s2s.DeviceError) as caught:
        s2s.grad(mean_square, target="cuda")(*sample(np.random.default_rng(0)))
    assert 'target="cuda-emulated"' in str(caught.value)


def test_arrays_that_must_not_be_written_to(machine):
    def double(x):
        x *= 2.0
        return x

    x = np.ones(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        s2s.function(double, target="cuda")(Foreign(x))
