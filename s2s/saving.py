"""Weights and the state of a training run, on disk.

A file is written beside its place and then moved there: whatever happens in between, the last
good file stays."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import safetensors, states
from .layers.base import must_be_built
from .states import generator_state, set_generator
from .variable import Variable


def save_weights(layer: Any, path: str | Path) -> None:
    """All weights of a layer or model, as `.npz`, or `.safetensors` if that is the path's end."""
    must_be_built(layer)
    _write(path, _numbered(layer.weights))


def load_weights(layer: Any, path: str | Path) -> None:
    """Weights that were saved; the model must have been built with the same shapes."""
    must_be_built(layer)
    _assign(layer.weights, _read(path), str(path))


def save_state(path: str | Path, *, model: Any, optimizer: Any = None, **more: Any) -> None:
    """All that a run needs to go on: weights, the state of the optimizer (counters, rates, slots),
    the random generators of layers, and further numbers, arrays and generators by name.  `model`
    and `optimizer` may be lists."""
    arrays: dict[str, Any] = {}
    weights: list[Variable] = []
    for prefix, one in _several("", model):
        must_be_built(one)
        weights += one.weights
        arrays |= {f"{prefix}{k}": v for k, v in _numbered(one.weights).items()}
        for k, generator in enumerate(_generators(one)):
            arrays[f"{prefix}generator.{k}"] = generator_state(generator)
    positions = {id(w): k for k, w in enumerate(weights)}
    for prefix, one in _several("optimizer", optimizer):
        if hasattr(one, "build"):
            arrays[f"{prefix}:variables"] = _positions(one, positions)
        arrays |= states.save(one, prefix, set(positions))
    for name, value in more.items():
        if isinstance(value, np.random.Generator):
            arrays[f"rng.{name}"] = generator_state(value)
        else:
            arrays[f"number.{name}"] = np.asarray(value)
    _write(path, arrays)


def load_state(
    path: str | Path, *, model: Any, optimizer: Any = None, **generators: np.random.Generator
) -> dict[str, Any]:
    """Brings a run back to where it was saved; returns the further numbers and arrays.
    Generators that were saved by name are given by the same name, and set."""
    arrays = _read(path)
    weights: list[Variable] = []
    for prefix, one in _several("", model):
        must_be_built(one)
        weights += one.weights
        own = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
        _assign(one.weights, own, str(path))
        for k, generator in enumerate(_generators(one)):
            set_generator(generator, _found(own, f"generator.{k}", path))
    for prefix, one in _several("optimizer", optimizer):
        if hasattr(one, "build"):
            one.build([weights[k] for k in _found(arrays, f"{prefix}:variables", path)])
        states.load(one, prefix, {id(w) for w in weights}, arrays)
    for name, generator in generators.items():
        set_generator(generator, _found(arrays, f"rng.{name}", path))
    return {k[7:]: v[()] for k, v in arrays.items() if k.startswith("number.")}


# ---------------------------------------------------------------- what is saved


def _several(name: str, objects: Any) -> Iterator[tuple[str, Any]]:
    """One object, or each of a list, with the beginning of the names of its arrays."""
    if isinstance(objects, (list, tuple)):
        for k, one in enumerate(objects):
            yield f"{name}{k}" if name else f"model{k}.", one
    elif objects is not None:
        yield name, objects


def _numbered(weights: list[Any]) -> dict[str, Any]:
    """Names may repeat, so weights are counted as well."""
    return {f"{k}.{w.name}": w.numpy() for k, w in enumerate(weights)}


def _positions(optimizer: Any, positions: dict[int, int]) -> Any:
    """Which of the models' weights an optimizer knows."""
    unknown = [v.name for v in optimizer.variables if id(v) not in positions]
    if unknown:
        raise ValueError(
            f"{unknown[0]} is updated by the optimizer, but is in no model that is saved; add "
            "its model to `model`"
        )
    return np.array([positions[id(v)] for v in optimizer.variables], np.int64)


def _generators(model: Any) -> list[np.random.Generator]:
    own = [v for v in vars(model).values() if isinstance(v, np.random.Generator)]
    return own + [g for layer in model.sublayers() for g in _generators(layer)]


def _found(arrays: dict[str, Any], name: str, path: str | Path) -> Any:
    if name not in arrays:
        raise ValueError(f"{path} has no {name}: it was saved from another model or optimizer")
    return arrays[name]


def _assign(weights: list[Variable], arrays: dict[str, Any], path: str) -> None:
    """All of them, or none."""
    values = [_found(arrays, f"{k}.{w.name}", path) for k, w in enumerate(weights)]
    for weight, value in zip(weights, values):
        if value.shape != weight.shape:
            raise ValueError(
                f"{weight.name} has shape {weight.shape}, and {value.shape} in {path}: it was "
                "saved from another model"
            )
    for weight, value in zip(weights, values):
        weight.assign(value)


# ---------------------------------------------------------------- files


def _write(path: str | Path, arrays: dict[str, Any]) -> None:
    path = Path(path)
    name = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(name, "xb") as file:
            if path.exists():  # whoever may read it, still may
                os.chmod(name, stat.S_IMODE(path.stat().st_mode))
            if path.suffix == ".safetensors":
                file.write(safetensors.dumps(arrays))
            else:
                np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    _remember_name(path.parent)


def _remember_name(folder: Path) -> None:
    """The new name, too, outlasts a loss of power, where the system can promise that."""
    if os.name == "posix":
        handle = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _read(path: str | Path) -> dict[str, Any]:
    if Path(path).suffix == ".safetensors":
        return safetensors.loads(Path(path).read_bytes())
    with np.load(path, allow_pickle=False) as file:
        return dict(file)
