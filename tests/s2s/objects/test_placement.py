"""Variables on a device."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

import s2s
from s2s.cuda import devices
from s2s.objects import placement

TARGET = "cuda-emulated"


def variable(value=(1.0, 2.0, 3.0)):
    return s2s.Variable(np.array(value), device=TARGET, name="v")


def test_a_variable_on_a_device():
    v = variable()
    assert v.device == TARGET and placement.is_on_device(v._array)
    assert s2s.Variable(np.ones(2)).device == s2s.Variable(np.ones(2), device="cpu").device == "cpu"
    assert s2s.Variable(s2s.to_device(np.ones(2), TARGET)).device == TARGET
    assert s2s.Variable(v).device == TARGET
    assert (v.shape, v.ndim, v.size, v.dtype) == ((3,), 1, 3, np.float64)
    np.testing.assert_array_equal(v.numpy(), [1, 2, 3])
    np.testing.assert_array_equal(np.asarray(v), [1, 2, 3])
    np.testing.assert_array_equal(v + 1.0, [2, 3, 4])
    np.testing.assert_array_equal(np.exp(v), np.exp([1, 2, 3]))
    assert v[1] == 2.0 and v.sum() == 6.0 and len(v) == 3 and "v 3 float64" in repr(v)
    assert float(s2s.Variable(2.5, device=TARGET)) == 2.5 and bool(s2s.Variable(1.0, device=TARGET))


def test_assignments_keep_the_memory():
    v = variable()
    address = v._array.address
    v.assign([4.0, 5.0, 6.0])
    v.assign_add(np.ones(3))
    v.assign_sub(0.5)
    v[0] = 9.0
    v += 1.0
    np.testing.assert_array_equal(v.numpy(), [10, 6.5, 7.5])
    v.assign(s2s.to_device(np.zeros(3), TARGET))
    v.assign(s2s.to_device(np.ones(3, np.float32), TARGET))
    np.testing.assert_array_equal(v.numpy(), [1, 1, 1])
    assert v._array.address == address
    with pytest.raises(ValueError, match="shape"):
        v.assign(np.zeros(2))
    with pytest.raises(TypeError, match="on a device"):
        v.fill(0.0)


def loss_of(w, b, x, y):
    residual = np.tanh(x @ w + b) - y
    return np.mean(residual * residual)


@pytest.mark.parametrize("make", (s2s.optimizers.SGD, s2s.optimizers.Adam))
def test_training_on_a_device(rng, make):
    x, y = rng.normal(size=(5, 4)), rng.normal(size=(5, 3))
    start = rng.normal(size=(4, 3)), np.zeros(3)

    def trained(target, device):
        w, b = (s2s.Variable(a, device=device) for a in start)
        optimizer = make(learning_rate=0.1)

        @s2s.function(target=target)
        def step(x, y):
            with s2s.GradientTape() as tape:
                loss = loss_of(w, b, x, y)
            gradients = tape.gradient(loss, [w, b])
            optimizer.apply_gradients(zip(gradients, [w, b]))
            return loss

        given = [s2s.to_device(a, device) if device != "cpu" else a for a in (x, y)]
        losses = [step(*given) for _ in range(2)]
        counts = devices.device(TARGET).counts
        counts.reset()
        losses += [step(*given) for _ in range(3)]
        if device != "cpu":
            assert counts.copies_in == counts.copies_out == counts.synchronisations == 0
        return [float(loss) for loss in losses], w.numpy(), b.numpy()

    for found, other in zip(trained(TARGET, TARGET), trained("cpu", "cpu")):
        np.testing.assert_allclose(found, other, rtol=1e-6)


def test_functions_on_the_cpu_refuse_them(rng):
    v = variable()

    @s2s.function
    def total(x):
        return np.sum(v * x)

    with pytest.raises(s2s.S2STypeError, match="on a device"):
        total(np.ones(3))
