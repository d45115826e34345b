"""Weights and the state of a training run, on disk.

A file is written beside its place and then moved there: whatever happens in between, the last
good file stays."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def save_weights(layer: Any, path: str | Path) -> None:
    """All weights of a layer or model, as `.npz`, or `.safetensors` if that is the path's end."""
    _write(path, _numbered(layer.weights))


def load_weights(layer: Any, path: str | Path) -> None:
    """Weights that were saved; the model must have been built with the same shapes."""
    _assign(_numbered(layer.weights, arrays=False), _read(path), str(path))


def save_state(path: str | Path, *, model: Any, optimizer: Any = None, **numbers: Any) -> None:
    """Weights, the optimizer's slots and step, random generators of the model's layers, and
    further numbers by name."""
    arrays = _numbered(model.weights)
    if optimizer is not None:
        arrays["optimizer.iterations"] = np.asarray(optimizer.iterations)
        arrays["optimizer.learning_rate"] = np.asarray(optimizer.learning_rate)
        arrays |= {k: v.numpy() for k, v in _slots(optimizer).items()}
    for k, generator in enumerate(_generators(model)):
        arrays[f"generator.{k}"] = np.frombuffer(repr(generator.bit_generator.state).encode(), "u1")
    arrays |= {f"number.{k}": np.asarray(v) for k, v in numbers.items()}
    _write(path, arrays)


def load_state(path: str | Path, *, model: Any, optimizer: Any = None) -> dict[str, Any]:
    """Brings a run back to where it was saved; returns the further numbers."""
    arrays = _read(path)
    _assign(_numbered(model.weights, arrays=False), arrays, str(path))
    if optimizer is not None:
        optimizer.prepare(model.trainable_variables)
        _assign(_slots(optimizer), arrays, str(path))
        optimizer.iterations = int(arrays["optimizer.iterations"])
        optimizer.learning_rate = float(arrays["optimizer.learning_rate"])
    for k, generator in enumerate(_generators(model)):
        text = arrays[f"generator.{k}"].tobytes().decode()
        generator.bit_generator.state = _literal(text)
    return {k[7:]: v[()] for k, v in arrays.items() if k.startswith("number.")}


# ---------------------------------------------------------------- what is saved


def _numbered(weights: list[Any], arrays: bool = True) -> dict[str, Any]:
    """Names may repeat, so weights are counted as well."""
    return {f"{k}.{w.name}": w.numpy() if arrays else w for k, w in enumerate(weights)}


def _slots(optimizer: Any) -> dict[str, Any]:
    return {
        f"slot.{name}.{k}": slot
        for name, slots in optimizer.slots.items()
        for k, slot in enumerate(slots)
    }


def _generators(model: Any) -> list[Any]:
    own = [v for v in vars(model).values() if isinstance(v, np.random.Generator)]
    return own + [g for layer in model.sublayers() for g in _generators(layer)]


def _literal(text: str) -> Any:
    import ast

    return ast.literal_eval(text)


def _assign(variables: dict[str, Any], arrays: dict[str, Any], path: str) -> None:
    missing = [name for name in variables if name not in arrays]
    if missing:
        raise ValueError(f"{path} has no {missing[0]}: it was saved from another model")
    for name, variable in variables.items():
        variable.assign(arrays[name])


# ---------------------------------------------------------------- files


def _write(path: str | Path, arrays: dict[str, Any]) -> None:
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent or ".", prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            if path.suffix == ".safetensors":
                file.write(_safetensors().save({k: np.asarray(v) for k, v in arrays.items()}))
            else:
                np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _read(path: str | Path) -> dict[str, Any]:
    if Path(path).suffix == ".safetensors":
        return _safetensors().load(Path(path).read_bytes())
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def _safetensors() -> Any:
    try:
        import safetensors.numpy  # type: ignore[import-not-found]
    except ImportError:
        raise ImportError("this file format needs `pip install safetensors`") from None
    return safetensors.numpy
