import numpy as np
import pytest

import s2s
from s2s import kernels as rt
from s2s.cuda import devices
from s2s.cuda.execution import MAX_BLOCKS, MAX_UNCHECKED, Call, argument, failure

DEVICE = devices.device("cuda-emulated")
FAILURES = (("ValueError", "bad (model.py:3: f(x))", None, ()),)


def call(**about):
    return Call(DEVICE, {}, lambda error: error)


def flags(*values):
    return np.array([*values, *[0] * (9 - len(values))], np.int64)


def test_memory_of_a_call():
    dev = call()
    err, values = dev.begin(FAILURES)
    assert err.shape == (5,) and values.shape == (4,) and not err.numpy().any()
    assert values.address == err.address + 40
    assert np.isnan(dev.empty((2, 3), np.float64).numpy()).all()
    for value, dtype in ((1.5, np.float64), (np.pi, np.float32), (-3, np.int64), (True, np.bool_)):
        assert dev.scalar(value, dtype).numpy().tolist() == [np.dtype(dtype).type(value)]
    whole = dev.empty((2, 3), np.float64)
    assert dev.view(whole, (6,)).address == whole.address


def test_the_number_of_blocks_depends_on_the_cells_alone():
    dev = call()
    assert [dev.blocks(n, 128) for n in (0, 1, 128, 129, 10**12)] == [1, 1, 1, 2, MAX_BLOCKS]


def test_errors_of_kernels():
    error = failure(FAILURES, flags(1))
    assert type(error) is ValueError and str(error).startswith("bad")
    found = flags(1, 7, 0, 1)
    found[5:].view(np.float64)[1] = 0.25
    error = failure((("", "", 4, ("int64", "float32", "bool")),), found)
    assert isinstance(error, rt.Failure) and error.args == (4, 7, 0.25, True)


def fail(dev):
    err, _ = dev.begin(FAILURES)
    DEVICE.fill(err._memory, (1).to_bytes(8, "little"), 8)


def test_errors_are_raised_at_fetch_and_check():
    for method in (lambda dev: dev.fetch(dev.scalar(1.0, np.float64)), lambda dev: dev.check()):
        dev = call()
        fail(dev)
        with pytest.raises(ValueError, match="bad"):
            method(dev)
    dev = call()
    dev.begin(FAILURES)
    assert dev.fetch(dev.scalar(1.0, np.float64)) == 1.0


def test_deferred_errors_are_raised_in_order():
    for message in ("first", "second"):
        dev = Call(DEVICE, {}, lambda error, m=message: type(error)(m))
        fail(dev)
        DEVICE.defer_check(dev)
    x = s2s.to_device(1.0, "cuda-emulated")
    for message in ("first", "second"):
        with pytest.raises(ValueError, match=message):
            x.numpy()
    assert x.numpy() == 1.0


def test_calls_do_not_pile_up():
    for _ in range(MAX_UNCHECKED + 1):
        dev = call()
        dev.begin(FAILURES)
        DEVICE.defer_check(dev)
    assert len(DEVICE.unchecked) <= MAX_UNCHECKED
    DEVICE.check_calls()


def test_arguments_of_launches():
    x = s2s.to_device(np.zeros(3), "cuda-emulated")
    assert argument("float64*", x) == x.address
    assert type(argument("int64", np.int64(3))) is int
    assert type(argument("float32", np.float32(3))) is float
    assert argument("bool", np.True_) is True
    with pytest.raises(AssertionError):
        argument("float32*", x)
    with pytest.raises(AssertionError):
        argument("float64*", 3)
