"""Weights and training state are restored exactly, and a failed write changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s import saving
from s2s.layers import Dense, Dropout
from s2s.losses import MeanSquaredError
from s2s.models import Sequential
from s2s.optimizers import SGD, Adam, LossScaleOptimizer
from s2s.saving import safetensors

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
Y = X.sum(1, keepdims=True)


def make() -> tuple[Any, Any, Any]:
    model = Sequential([Dense(4, activation="tanh"), Dropout(0.3, seed=1), Dense(1)])
    optimizer, loss_fn = Adam(0.05), MeanSquaredError()

    @s2s.function(backend="loops")
    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return model, optimizer, step


@pytest.mark.parametrize("name", ["run.npz", "run.safetensors"])
def test_a_run_goes_on_where_it_was(tmp_path: Path, name: str) -> None:
    model, optimizer, step = make()
    for _ in range(3):
        step(X, Y)
    saving.save_state(tmp_path / name, model=model, optimizer=optimizer, epoch=7)
    want = [float(step(X, Y)) for _ in range(3)]
    other, other_optimizer, other_step = make()
    other(X)
    numbers = saving.load_state(tmp_path / name, model=other, optimizer=other_optimizer)
    assert numbers == {"epoch": 7} and other_optimizer.iterations == 3
    np.testing.assert_allclose([float(other_step(X, Y)) for _ in range(3)], want, rtol=1e-6)


def test_weights_and_a_wrong_model(tmp_path: Path) -> None:
    model, _, _ = make()
    model(X)
    saving.save_weights(model, tmp_path / "w.npz")
    again, _, _ = make()
    again(X)
    saving.load_weights(again, tmp_path / "w.npz")
    for a, b in zip(model.get_weights(), again.get_weights()):
        np.testing.assert_array_equal(a, b)
    wider = Sequential([Dense(5), Dense(5), Dense(5)])
    wider(X)
    with pytest.raises(ValueError, match="another model|has shape"):
        saving.load_weights(wider, tmp_path / "w.npz")


def test_a_failed_write_leaves_the_last_good_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _, _ = make()
    model(X)
    saving.save_weights(model, tmp_path / "w.npz")
    before = (tmp_path / "w.npz").read_bytes()

    def fail(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        saving.save_weights(model, tmp_path / "w.npz")
    assert (tmp_path / "w.npz").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["w.npz"]


# ---------------------------------------------------------------- what a state may hold


def test_two_models_two_optimizers_and_generators(tmp_path: Path) -> None:
    def start() -> tuple[Any, Any, Any]:
        models = [Sequential([Dense(2), Dense(1)]), Sequential([Dense(1), Dropout(0.5, seed=3)])]
        for model in models:
            model(X)
        optimizers = [LossScaleOptimizer(Adam(0.1), dynamic_growth_steps=2), SGD(0.1, momentum=0.9)]
        return models, optimizers, np.random.Generator(np.random.MT19937(4))

    def train(models: Any, optimizers: Any, rng: Any) -> None:
        for model, optimizer in zip(models, optimizers):
            ones = [rng.normal(size=w.shape).astype(np.float32) for w in model.weights]
            optimizer.apply_gradients(zip(ones, model.weights))

    models, optimizers, rng = start()
    for _ in range(3):
        train(models, optimizers, rng)
    state = {"model": models, "optimizer": optimizers}
    saving.save_state(tmp_path / "s.npz", **state, rng=rng, best=np.arange(3.0))
    again, its_optimizers, its_rng = start()
    found = saving.load_state(
        tmp_path / "s.npz", model=again, optimizer=its_optimizers, rng=its_rng
    )
    np.testing.assert_array_equal(found["best"], [0.0, 1.0, 2.0])
    assert its_optimizers[0].dynamic_scale == 2.0**16 and its_optimizers[0].step_counter == 1
    train(models, optimizers, rng)
    train(again, its_optimizers, its_rng)
    for one, two in zip(models, again):
        for a, b in zip(one.get_weights(), two.get_weights()):
            np.testing.assert_array_equal(a, b)


class Plain:
    """A user-defined optimizer that creates its slots lazily."""

    def __init__(self) -> None:
        self.t = 0
        self.rate = 0.1
        self.slots: dict[str, Any] = {}
        self.seen: list[Any] = []

    def step(self, gradients: Any, variables: Any) -> None:
        self.t += 1
        for g, v in zip(gradients, variables):
            self.slots[v.name] = 0.9 * self.slots.get(v.name, 0.0) + g
            v.assign_sub(self.rate * self.slots[v.name])
        self.seen.append(float(self.t))


def test_an_optimizer_of_ones_own(tmp_path: Path) -> None:
    model, optimizer, again, its = Sequential([Dense(1)]), Plain(), Sequential([Dense(1)]), Plain()
    model(X), again(X)
    gradients = [np.ones(w.shape, np.float32) for w in model.weights]
    optimizer.step(gradients, model.weights)
    optimizer.rate = 0.3
    saving.save_state(tmp_path / "s.npz", model=model, optimizer=optimizer)
    saving.load_state(tmp_path / "s.npz", model=again, optimizer=its)
    assert (its.t, its.rate, its.seen) == (1, 0.3, [1.0])
    optimizer.step(gradients, model.weights)
    its.step(gradients, again.weights)
    np.testing.assert_array_equal(model.weights[0].numpy(), again.weights[0].numpy())
    optimizer.slots = {id(w): 1.0 for w in model.weights}  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="means nothing in another run; use names"):
        saving.save_state(tmp_path / "s.npz", model=model, optimizer=optimizer)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    model, optimizer, step = make()
    with pytest.raises(ValueError, match="dense is not built"):
        saving.save_state(tmp_path / "s.npz", model=model)
    step(X, Y)
    saving.save_state(tmp_path / "s.npz", model=model, optimizer=optimizer)
    plain, sgd = Sequential([Dense(4), Dense(1)]), SGD()
    with pytest.raises(ValueError, match="dense is not built: .* call the model on a batch"):
        saving.load_state(tmp_path / "s.npz", model=plain)
    plain(X)
    with pytest.raises(ValueError, match=r"optimizer.slots\['m'\]\[0\], and the object has not"):
        saving.load_state(tmp_path / "s.npz", model=plain, optimizer=sgd)
    with pytest.raises(ValueError, match="has no rng.noise"):
        saving.load_state(tmp_path / "s.npz", model=plain, noise=np.random.default_rng())
    before = [np.zeros_like(w) for w in plain.get_weights()]
    wider = Sequential([Dense(4), Dense(2)])
    wider(X)
    wider.set_weights([np.zeros(w.shape) for w in wider.weights])
    with pytest.raises(ValueError, match=r"dense/kernel has shape \(4, 2\), and \(4, 1\)"):
        saving.load_weights(wider, tmp_path / "s.npz")
    assert not wider.weights[0].numpy().any() and before  # no weight was set


# ---------------------------------------------------------------- files


ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b.scalar": np.float64(2.5),
    "c": np.array([True, False]),
    "d": np.arange(5, dtype=np.uint8),
    "empty": np.zeros((0, 3), np.int64),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "big": np.arange(3, dtype=">i4"),
}


def test_safetensors() -> None:
    content = safetensors.dumps(ARRAYS)
    assert int.from_bytes(content[:8], "little") % 8 == 0
    for name, array in safetensors.loads(content).items():
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.dtype == np.asarray(ARRAYS[name]).dtype.newbyteorder("=")
    for cut in (b"", b"abc", content[:40]):
        with pytest.raises(ValueError, match="no safetensors file"):
            safetensors.loads(cut)
    with pytest.raises(ValueError, match="z is of dtype complex128"):
        safetensors.dumps({"z": 1j})


def test_safetensors_of_the_library() -> None:
    library = pytest.importorskip("safetensors.numpy")
    plain = {k: np.ascontiguousarray(v) for k, v in ARRAYS.items() if k != "big"}
    for name, array in library.load(safetensors.dumps(plain)).items():
        np.testing.assert_array_equal(array, plain[name])
    for name, array in safetensors.loads(library.save(plain)).items():
        np.testing.assert_array_equal(array, plain[name])


SAVING = """
import sys
import numpy as np
from s2s import saving
from s2s.layers import Dense
from s2s.optimizers import Adam

model, optimizer = Dense(300), Adam()
model(np.ones((1, 200)))
optimizer.build(model.weights)
for k in range(1_000_000):
    for w in (*model.weights, *optimizer.slots["m"]):
        w.assign(np.full(w.shape, k % 1000, np.float32))
    optimizer.iterations = k % 1000
    saving.save_state(sys.argv[1], model=model, optimizer=optimizer)
"""


@pytest.mark.parametrize("name", ["s.npz", "s.safetensors"])
def test_a_kill_at_any_moment_leaves_the_last_good_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for delay in (0.0, 0.023):
        path.unlink(missing_ok=True)
        child = subprocess.Popen([sys.executable, "-c", SAVING, str(path)])
        while not path.exists():
            assert child.poll() is None, "the child failed"
            time.sleep(0.002)
        time.sleep(delay)
        child.kill()
        child.wait()
        model, optimizer = Dense(300), Adam()
        model(np.ones((1, 200)))
        saving.load_state(path, model=model, optimizer=optimizer)
        for w in (*model.weights, *optimizer.slots["m"]):
            assert np.all(w.numpy() == optimizer.iterations)


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_files_may_be_read_by_those_who_may_read_others(tmp_path):
    layer = s2s.layers.Dense(2)
    layer(np.ones((1, 3), np.float32))
    plain, saved = tmp_path / "plain", tmp_path / "weights.npz"
    plain.write_bytes(b"")
    s2s.save_weights(layer, saved)
    assert saved.stat().st_mode == plain.stat().st_mode
    saved.chmod(0o640)
    s2s.save_weights(layer, saved)
    assert saved.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plain", "weights.npz"]
