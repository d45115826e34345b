"""Compiled functions with `target="cuda-emulated"`."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

import s2s
from s2s.cuda import devices

TARGET = "cuda-emulated"
DEVICE = devices.device(TARGET)


def on_device(*values):
    return [s2s.to_device(v, TARGET) if isinstance(v, np.ndarray) else v for v in values]


def mean_square(w, b, x, y):
    residual = np.tanh(x @ w + b) - y
    return np.mean(residual * residual)


def sample(rng, dtype=np.float64):
    return [rng.normal(size=size).astype(dtype) for size in ((4, 3), 3, (5, 4), (5, 3))]


@pytest.mark.parametrize("dtype", (np.float64, np.float32))
def test_arrays_on_the_host_give_results_on_the_host(rng, dtype):
    args = sample(rng, dtype)
    expected = s2s.value_and_grad(mean_square, wrt=("w", "b"), backend="loops")(*args)
    value, gradients = s2s.value_and_grad(mean_square, wrt=("w", "b"), target=TARGET)(*args)
    assert type(value) is type(expected[0])
    np.testing.assert_allclose(value, expected[0], rtol=1e-5)
    for found, other in zip(gradients, expected[1]):
        assert type(found) is np.ndarray and found.dtype == dtype
        np.testing.assert_allclose(found, other, rtol=1e-4, atol=1e-7)


def test_arrays_on_the_device_give_results_on_the_device(rng):
    args = sample(rng)
    value, gradients = s2s.value_and_grad(mean_square, wrt=("w", "b"), target=TARGET)(
        *on_device(*args)
    )
    assert isinstance(value, s2s.DeviceArray) and value.shape == ()
    assert all(isinstance(g, s2s.DeviceArray) for g in gradients)
    expected, others = s2s.value_and_grad(mean_square, wrt=("w", "b"), backend="loops")(*args)
    np.testing.assert_allclose(float(value), expected)
    for found, other in zip(gradients, others):
        np.testing.assert_allclose(found.numpy(), other)


def test_a_training_step_does_not_wait(rng):
    w, b, x, y = on_device(*sample(rng))

    @s2s.function(target=TARGET)
    def step(w, b, x, y):
        loss, (dw, db) = s2s.value_and_grad(mean_square, wrt=("w", "b"))(w, b, x, y)
        w -= 0.1 * dw
        b -= 0.1 * db
        return loss

    losses = [step(w, b, x, y) for _ in range(3)]
    DEVICE.counts.reset()
    losses += [step(w, b, x, y) for _ in range(3)]
    counts = DEVICE.counts
    assert counts.copies_in == counts.copies_out == counts.synchronisations == 0
    assert counts.launches > 0
    found = [float(loss) for loss in losses]
    assert found == sorted(found, reverse=True) and counts.bytes_out == 48


def test_mixtures_are_refused(rng):
    w, b, x, y = sample(rng)
    f = s2s.grad(mean_square, target=TARGET)
    with pytest.raises(
        s2s.S2STypeError, match="b is an array on the host, and w is on the"
    ) as caught:
        f(*on_device(w), b, *on_device(x, y))
    assert 's2s.to_device(b, "cuda-emulated")' in str(caught.value)
    with pytest.raises(s2s.S2STypeError, match="is on a device, and .* runs on the CPU"):
        s2s.grad(mean_square)(*on_device(w, b, x, y))


SCALE = np.array([1.0, 2.0, 3.0])


def test_globals_on_the_host_are_arrays_on_the_host(rng):
    def scaled(x):
        return np.sum(SCALE * x * x)

    x = rng.normal(size=3)
    f = s2s.grad(scaled, target=TARGET)
    np.testing.assert_allclose(f(x), 2 * SCALE * x)
    with pytest.raises(s2s.S2STypeError, match="SCALE is an array on the host"):
        f(*on_device(x))


def test_arrays_of_the_device_from_closures(rng):
    x, weights = rng.normal(size=3), s2s.to_device(SCALE, TARGET)

    @s2s.grad(target=TARGET)
    def scaled(x):
        return np.sum(weights * x * x)

    np.testing.assert_allclose(scaled(*on_device(x)).numpy(), 2 * SCALE * x)


def test_written_arguments(rng):
    def double(x, y):
        for i in range(x.shape[0]):
            x[i] = 2.0 * x[i] + y[i]
        return x

    f = s2s.function(double, target=TARGET)
    x, y = rng.normal(size=4), rng.normal(size=4)
    expected = 2 * x + y
    assert f(x, y) is x
    np.testing.assert_allclose(x, expected)
    dx, dy = on_device(x, y)
    assert f(dx, dy) is dx
    np.testing.assert_allclose(dx.numpy(), 2 * expected + y)
    with pytest.raises(s2s.S2SValueError, match="overlap in memory"):
        f(dx, dx)


def test_containers_and_aux(rng):
    @dataclasses.dataclass
    class Layer:
        w: object
        b: object

    def loss(layer, x):
        out = np.tanh(x @ layer.w + layer.b)
        return np.sum(out), out

    layer = Layer(rng.normal(size=(3, 2)), rng.normal(size=2))
    x = rng.normal(size=(4, 3))
    f = s2s.grad(loss, has_aux=True, target=TARGET)
    gradient, aux = f(Layer(*on_device(layer.w, layer.b)), *on_device(x))
    expected, other = s2s.grad(loss, has_aux=True, backend="loops")(layer, x)
    np.testing.assert_allclose(gradient.w.numpy(), expected.w)
    np.testing.assert_allclose(aux.numpy(), other)


@pytest.mark.parametrize("kind", ("jvp", "vjp", "hvp", "jacobian", "hessian", "vmap"))
def test_other_transforms(rng, kind):
    def f(x, y):
        return np.sum(x * x * x * y)

    x, y, v = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    arguments = {
        "jvp": (x, v, y), "vjp": (x, 1.5, y), "hvp": (x, v, y), "jacobian": (x, y),
        "hessian": (x, y), "vmap": (np.stack([x, v]), np.stack([y, y])),
    }[kind]  # fmt: skip
    transform = getattr(s2s, kind)
    expected = transform(f, backend="loops")(*arguments)
    for given in (arguments, on_device(*arguments)):
        found = transform(f, target=TARGET)(*given)
        pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in pairs:
            np.testing.assert_allclose(np.asarray(one), other)


def test_new_sizes_need_no_new_code(rng):
    f = s2s.grad(mean_square, target=TARGET)
    for n in (5, 1, 7):
        args = [rng.normal(size=size) for size in ((4, 3), 3, (n, 4), (n, 3))]
        np.testing.assert_allclose(f(*args), s2s.grad(mean_square, backend="loops")(*args))
    assert "def mean_square_vjp(dev, " in f.lowered and "@cuda.jit" in f.lowered


def test_errors_have_the_users_line(rng):

    gather = s2s.function(lambda x, index: np.sum(x[index]), target=TARGET)
    x = rng.normal(size=4)
    with pytest.raises(IndexError, match=r"out of bounds .*test_backend.py:\d+: ") as caught:
        gather(x, np.array([0, 7]))
    line = caught.value.line
    result = gather(*on_device(x, np.array([0, 7])))  # reported when something is fetched
    with pytest.raises(IndexError) as caught:
        result.numpy()
    assert caught.value.line == line
    with pytest.raises(IndexError):  # its value is not there the second time, either
        result.numpy()
    assert float(gather(*on_device(x, np.array([0, 3])))) == x[0] + x[3]


def test_errors_are_raised_in_the_thread_of_the_call(rng):
    import threading

    gather = s2s.function(lambda x, index: np.sum(x[index]), target=TARGET)
    x, good, bad = on_device(rng.normal(size=4), np.array([0, 3]), np.array([0, 7]))
    results = [gather(x, good)]
    results[0].numpy()
    thread = threading.Thread(target=lambda: results.append(gather(x, bad)))
    thread.start()
    thread.join()
    assert results[0].numpy() == gather(x, good).numpy()
    with pytest.raises(IndexError):
        results[1].numpy()


def test_raise_statements_with_values():
    def checked(x):
        total = 0.0
        for i in range(x.shape[0]):
            if x[i] < 0.0:
                raise ValueError(f"element {i} is {x[i]}")
            total += x[i]
        return total

    f = s2s.function(checked, target=TARGET)
    assert f(np.array([1.0, 2.0])) == 3.0
    with pytest.raises(ValueError, match="element 1 is -2.5"):
        f(np.array([1.0, -2.5]))


def test_specialisations_are_kept_for_other_processes(tmp_path):
    import subprocess
    import sys

    program = tmp_path / "program.py"
    program.write_text(
        "import sys, time, numpy as np, s2s\n"
        f'@s2s.grad(target="{TARGET}")\n'
        "def f(x):\n    return np.sum(x * x * x)\n"
        "print(f(np.arange(3.0)))\n"
        'print([n for n in ("numba_cuda", "s2s.transforms.pipeline") if n in sys.modules])\n'
    )
    environment = {"S2S_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
    found = [
        subprocess.run(
            [sys.executable, str(program)], env=environment, capture_output=True, text=True,
            check=True,
        ).stdout.splitlines()
        for _ in range(2)
    ]  # fmt: skip
    assert found[0][0] == found[1][0] == "[ 0.  3. 12.]"
    assert found[1][1] == "[]"  # neither the compiler nor numba-cuda
