"""Names of arrays in files, formats by suffix, and what loading refuses.  `test_saving.py` in this
folder has whole runs, `tests/attack/test_weight_files.py` malformed files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Dense, Dropout
from s2s.models import Sequential
from s2s.optimizers import SGD, Adam
from s2s.saving import load_state, load_weights, safetensors, save_state, save_weights

FORMATS = pytest.mark.parametrize("name", ["w.npz", "w.safetensors", "w.SAFETENSORS"])


def built(*layers: Any, width: int = 3) -> Any:
    model = Sequential(list(layers) or [Dense(2), Dense(2)])
    model(np.ones((1, width)))
    return model


def names(path: Path) -> list[str]:
    if path.suffix.lower() == ".safetensors":
        return list(safetensors.loads(path.read_bytes()))
    return list(np.load(path))


@FORMATS
def test_weights_by_position_and_name(tmp_path: Path, name: str) -> None:
    model, path = built(), tmp_path / name
    save_weights(model, path)
    assert names(path) == [
        "0.dense/kernel", "1.dense/bias", "2.dense/kernel", "3.dense/bias",
    ]  # fmt: skip
    other = built()
    load_weights(other, str(path))
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)


@FORMATS
def test_state_by_name(tmp_path: Path, name: str) -> None:
    model, path, rng = built(Dense(2), Dropout(0.5)), tmp_path / name, np.random.default_rng(0)
    optimizer = SGD(0.5, momentum=0.9)
    optimizer.build(model.trainable_variables[:1])
    save_state(path, model=model, optimizer=optimizer, epoch=3, rng=rng, best=np.ones(2))
    assert names(path) == [
        "0.dense/kernel", "1.dense/bias", "generator.0", "optimizer:variables", "optimizer.steps",
        "optimizer.rate", "optimizer.slots['momentum'][0]:variable", "number.epoch", "rng.rng",
        "number.best",
    ]  # fmt: skip
    again = SGD(0.1, momentum=0.9)
    found = load_state(path, model=model, optimizer=again, rng=rng)
    assert list(found) == ["epoch", "best"] and found["epoch"] == 3
    assert again.learning_rate == 0.5 and [v.name for v in again.variables] == ["dense/kernel"]


def test_formats(tmp_path: Path) -> None:
    model = built()
    save_weights(model, tmp_path / "plain")
    assert (tmp_path / "plain").read_bytes().startswith(b"PK")
    load_weights(model, tmp_path / "plain")
    with pytest.raises(ValueError, match=r"ends in .h5, .*end it in .npz or .safetensors"):
        save_weights(model, tmp_path / "w.h5")
    assert not (tmp_path / "w.h5").exists()
    with pytest.raises(FileNotFoundError):
        load_weights(model, tmp_path / "absent.npz")


def test_a_model_must_be_built(tmp_path: Path) -> None:
    save_weights(built(), tmp_path / "w.npz")
    for action in (
        lambda: save_weights(Dense(2), tmp_path / "new.npz"),
        lambda: load_weights(Dense(2), tmp_path / "w.npz"),
        lambda: save_state(tmp_path / "new.npz", model=Dense(2)),
        lambda: load_state(tmp_path / "w.npz", model=Dense(2)),
    ):
        with pytest.raises(ValueError, match="dense is not built"):
            action()
    assert [p.name for p in tmp_path.iterdir()] == ["w.npz"]


@FORMATS
def test_files_of_other_models_change_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    save_weights(built(), path)
    for other, message in (
        (built(Dense(2), Dense(3)), r"dense/kernel has shape \(2, 3\), and \(2, 2\) in"),
        (built(Dense(2), Dense(2), Dense(2)), "has no 4.dense/kernel: it was saved from another"),
        (built(Dense(2, name="head"), Dense(2)), "has no 0.head/kernel"),
    ):
        before = other.get_weights()
        with pytest.raises(ValueError, match=message):
            load_weights(other, path)
        for a, b in zip(before, other.get_weights()):
            np.testing.assert_array_equal(a, b)


def test_weights_of_another_precision_are_cast(tmp_path: Path) -> None:
    wide, narrow = built(Dense(2, dtype="float64")), built(Dense(2))
    save_weights(wide, tmp_path / "w.npz")
    load_weights(narrow, tmp_path / "w.npz")
    np.testing.assert_allclose(narrow.weights[0], wide.weights[0], rtol=1e-7)
    assert narrow.weights[0].dtype == np.float32
    np.savez(tmp_path / "c.npz", **{"0.dense/kernel": np.ones((3, 2), complex),
                                    "1.dense/bias": np.ones(2)})  # fmt: skip
    with pytest.raises(ValueError, match="is float32, and complex128 in .*cannot be a weight"):
        load_weights(narrow, tmp_path / "c.npz")


def test_an_optimizer_of_variables_that_are_not_saved(tmp_path: Path) -> None:
    optimizer = Adam()
    optimizer.build([s2s.Variable(1.0, name="alone")])
    with pytest.raises(ValueError, match="alone is updated by the optimizer, but is in no model"):
        save_state(tmp_path / "s.npz", model=built(), optimizer=optimizer)


def test_a_state_without_what_is_asked_for(tmp_path: Path) -> None:
    model, path = built(), tmp_path / "s.npz"
    save_state(path, model=model)
    for asked in ({"optimizer": Adam()}, {"rng": np.random.default_rng(0)}):
        with pytest.raises(ValueError, match="has no (optimizer:variables|rng.rng): it was saved"):
            load_state(path, model=model, **asked)
    assert load_state(path, model=model) == {}


def test_several_models(tmp_path: Path) -> None:
    models, path = [built(Dense(1)), built(Dense(2))], tmp_path / "s.npz"
    save_state(path, model=models, optimizer=(SGD(0.1), SGD(0.2)))
    assert names(path)[:3] == [
        "model0.0.dense/kernel",
        "model0.1.dense/bias",
        "model1.0.dense/kernel",
    ]
    optimizers = [SGD(1.0), SGD(1.0)]
    load_state(path, model=models, optimizer=optimizers)
    assert [o.learning_rate for o in optimizers] == [0.1, 0.2]
