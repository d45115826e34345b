"""Weights and training state come back as they were, and a failed write changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s import saving
from s2s.layers import Dense, Dropout
from s2s.losses import MeanSquaredError
from s2s.models import Sequential
from s2s.optimizers import Adam

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


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    model, optimizer, step = make()
    for _ in range(3):
        step(X, Y)
    saving.save_state(tmp_path / "run.npz", model=model, optimizer=optimizer, epoch=7)
    want = [float(step(X, Y)) for _ in range(3)]
    other, other_optimizer, other_step = make()
    other(X)
    numbers = saving.load_state(tmp_path / "run.npz", model=other, optimizer=other_optimizer)
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
