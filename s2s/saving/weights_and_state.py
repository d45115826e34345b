"""Save and load weights and the state of a training run.

Files are untrusted input: a file that is malformed or does not match the model raises a ValueError
that names the file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..layers.base import must_be_built
from ..objects.variable import Variable
from ..runtime import output_file
from . import npz, object_state, safetensors
from .object_state import change_of_generator, generator_state


def save_weights(layer: Any, path: str | Path) -> None:
    """Save all weights of a layer or model, as `.npz`, or as `.safetensors` if the path has that
    suffix."""
    must_be_built(layer)
    _write(path, _numbered(layer.weights))


def load_weights(layer: Any, path: str | Path) -> None:
    """Load saved weights; the model must be built with the same shapes."""
    must_be_built(layer)
    _apply_changes(_assignments(layer.weights, _read(path), str(path)))


def save_state(path: str | Path, *, model: Any, optimizer: Any = None, **more: Any) -> None:
    """Save everything that a run needs to resume: weights, the state of the optimizer (counters,
    rates, slots), the random generators of layers, and further scalars, arrays and generators by
    name.  `model` and `optimizer` may be lists."""
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
        arrays |= object_state.save(one, prefix, set(positions))
    for name, value in more.items():
        if isinstance(value, np.random.Generator):
            arrays[f"rng.{name}"] = generator_state(value)
        else:
            arrays[f"number.{name}"] = np.asarray(value)
    _write(path, arrays)


def load_state(
    path: str | Path, *, model: Any, optimizer: Any = None, **generators: np.random.Generator
) -> dict[str, Any]:
    """Restore the state of a run; return the further scalars and arrays.  Generators that were
    saved by name are passed by the same name, and set.  If the file does not match, nothing is
    changed."""
    arrays = _read(path)
    weights: list[Variable] = []
    changes: list[object_state.Change] = []
    for prefix, one in _several("", model):
        must_be_built(one)
        weights += one.weights
        own = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
        changes += _assignments(one.weights, own, str(path))
        for k, generator in enumerate(_generators(one)):
            with _naming(path):
                changes.append(change_of_generator(generator, _found(own, f"generator.{k}", path)))
    for name, generator in generators.items():
        with _naming(path):
            changes.append(change_of_generator(generator, _found(arrays, f"rng.{name}", path)))
    optimizers = list(_several("optimizer", optimizer))
    apart = {id(w) for w in weights}
    with _naming(path), object_state.rollback_on_error([one for _, one in optimizers], apart):
        for prefix, one in optimizers:
            if hasattr(one, "build"):
                chosen = _found(arrays, f"{prefix}:variables", path)
                one.build([weights[k] for k in _checked_positions(chosen, len(weights), path)])
            changes += object_state.load(one, prefix, apart, arrays)
    _apply_changes(changes)
    return {k[7:]: v[()] for k, v in arrays.items() if k.startswith("number.")}


# ---------------------------------------------------------------- contents


def _several(name: str, objects: Any) -> Iterator[tuple[str, Any]]:
    """Each object of a list, or the single object, with the prefix of its array names."""
    if isinstance(objects, (list, tuple)):
        for k, one in enumerate(objects):
            yield f"{name}{k}" if name else f"model{k}.", one
    elif objects is not None:
        yield name, objects


def _numbered(weights: list[Any]) -> dict[str, Any]:
    """The weights by name, prefixed with their index, because names may repeat."""
    return {f"{k}.{w.name}": w.numpy() for k, w in enumerate(weights)}


def _positions(optimizer: Any, positions: dict[int, int]) -> Any:
    """The indices, among the weights of the models, of the variables of an optimizer."""
    unknown = [v.name for v in optimizer.variables if id(v) not in positions]
    if unknown:
        raise ValueError(
            f"{unknown[0]} is updated by the optimizer, but is in no model that is saved; add "
            "its model to `model`"
        )
    return np.array([positions[id(v)] for v in optimizer.variables], np.int64)


def _checked_positions(chosen: Any, count: int, path: str | Path) -> list[int]:
    positions = chosen.tolist() if chosen.ndim == 1 and chosen.dtype.kind == "i" else [-1]
    if len(set(positions)) < len(positions) or not all(0 <= k < count for k in positions):
        raise ValueError(f"{path} has no proper list of the variables that the optimizer updates")
    return positions


def _generators(model: Any) -> list[np.random.Generator]:
    """The random generators of a model and its sublayers."""
    own = [v for v in vars(model).values() if isinstance(v, np.random.Generator)]
    return own + [g for layer in model.sublayers() for g in _generators(layer)]


def _found(arrays: dict[str, Any], name: str, path: str | Path) -> Any:
    if name not in arrays:
        raise ValueError(f"{path} has no {name}: it was saved from another model or optimizer")
    return arrays[name]


def _assignments(
    weights: list[Variable], arrays: dict[str, Any], path: str
) -> list[object_state.Change]:
    """The validated assignments of saved values to weights, which cannot fail."""
    values = [_found(arrays, f"{k}.{w.name}", path) for k, w in enumerate(weights)]
    for weight, value in zip(weights, values):
        _check_kind(weight.name, weight.dtype, value.dtype, path)
        if value.shape != weight.shape:
            raise ValueError(
                f"{weight.name} has shape {weight.shape}, and {value.shape} in {path}: it was "
                "saved from another model"
            )
    return [partial(weight.assign, value) for weight, value in zip(weights, values)]


def _apply_changes(changes: list[object_state.Change]) -> None:
    for change in changes:
        change()


def _check_kind(name: str, dtype: Any, saved: Any, path: str) -> None:
    """Raise ValueError unless a saved dtype can be cast to that of the weight: real floats and
    integers; integers may become floats, but not the reverse."""
    if saved != dtype and not (saved.kind in "iuf" and np.can_cast(saved, dtype, "same_kind")):
        raise ValueError(f"{name} is {dtype}, and {saved} in {path}: it cannot be a weight")


# ---------------------------------------------------------------- files

FORMATS = (".npz", ".safetensors")


def _write(path: str | Path, arrays: dict[str, Any]) -> None:
    suffix = _check_format(path)
    with output_file.writing(path) as file:
        if suffix == ".safetensors":
            file.write(safetensors.dumps(arrays))
        else:
            np.savez(file, **arrays)


def _check_format(path: str | Path) -> str:
    """The suffix of a path, which determines the format; a path without suffix is an `.npz`
    file."""
    suffix = Path(path).suffix.lower()
    if suffix and suffix not in FORMATS:
        raise ValueError(
            f"{path} has a name that ends in {suffix}, which is no format that s2s writes; end it "
            f"in {' or '.join(FORMATS)}"
        )
    return suffix


def _read(path: str | Path) -> dict[str, Any]:
    """The arrays of a file.  A file without the suffix `.safetensors` must be an `.npz` file."""
    with open(path, "rb") as file, _naming(path):
        if Path(path).suffix.lower() == ".safetensors":
            return safetensors.loads(file.read())
        return npz.load(file)


@contextlib.contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Prefix the message of a ValueError about the contents of a file with its path."""
    try:
        yield
    except ValueError as error:
        if str(path) in str(error):
            raise
        raise ValueError(f"{path}: {error}") from error
