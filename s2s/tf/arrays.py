"""What makes tensors, and what changes their shapes or picks parts of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._axes import axes
from .tensors import export

__all__ = [
    "argsort", "boolean_mask", "broadcast_to", "cast", "concat", "constant", "convert_to_tensor",
    "expand_dims", "fill", "gather", "gather_nd", "identity", "linspace", "meshgrid", "one_hot",
    "ones", "ones_like", "pad", "range", "rank", "repeat", "reshape", "reverse", "roll", "shape",
    "size", "slice", "sort", "split", "squeeze", "stack", "tensor_scatter_nd_add",
    "tensor_scatter_nd_update", "tile", "transpose", "unstack", "where", "zeros", "zeros_like",
]  # fmt: skip


# ---------------------------------------------------------------- made


def constant(value: Any, dtype: Any = None) -> Any:
    """A tensor; Python floats become float32."""
    if dtype is None and not isinstance(value, (np.ndarray, np.generic)):
        found = np.asarray(value)
        dtype = {"float64": np.float32, "int64": np.int32}.get(found.dtype.name, found.dtype)
    return np.asarray(value, dtype)


convert_to_tensor = constant


def cast(x: Any, dtype: Any) -> Any:
    return np.asarray(x).astype(dtype)


def identity(x: Any) -> Any:
    return np.copy(x)


def zeros(shape: Any, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


def ones(shape: Any, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


def fill(shape: Any, value: Any) -> Any:
    return np.full(shape, value, np.float32)


def zeros_like(x: Any) -> Any:
    return np.zeros_like(x)


def ones_like(x: Any) -> Any:
    return np.ones_like(x)


def linspace(start: Any, stop: Any, num: int) -> Any:
    return np.linspace(start, stop, num)


def range(start: Any, limit: Any = None, delta: Any = 1) -> Any:
    return np.arange(start) if limit is None else np.arange(start, limit, delta)


def one_hot(indices: Any, depth: int) -> Any:
    return (np.expand_dims(indices, -1) == np.arange(depth)).astype(np.float32)


# ---------------------------------------------------------------- shaped


def shape(x: Any) -> Any:
    return np.shape(x)


def size(x: Any) -> Any:
    return np.size(x)


def rank(x: Any) -> Any:
    return np.ndim(x)


def reshape(x: Any, shape: Any) -> Any:
    return np.reshape(x, shape)


def transpose(x: Any, perm: Any = None) -> Any:
    return np.transpose(x, perm)


def expand_dims(x: Any, axis: int) -> Any:
    return np.expand_dims(x, axis)


def squeeze(x: Any, axis: Any = None) -> Any:
    return np.squeeze(x, axes(axis))


def broadcast_to(x: Any, shape: Any) -> Any:
    return np.broadcast_to(x, shape)


def tile(x: Any, multiples: Any) -> Any:
    return np.tile(x, multiples)


def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    return np.repeat(x, repeats, axis=axis)


def roll(x: Any, shift: Any, axis: Any) -> Any:
    return np.roll(x, shift, axis)


def meshgrid(*xs: Any, indexing: Any = "xy") -> Any:
    return np.meshgrid(*xs, indexing=indexing)


def pad(x: Any, paddings: Any, mode: Any = "CONSTANT", constant_values: float = 0) -> Any:
    if mode.lower() == "constant":
        return np.pad(x, paddings, constant_values=constant_values)
    return np.pad(x, paddings, mode=mode.lower())


# ---------------------------------------------------------------- put together, taken apart


def concat(values: Any, axis: int) -> Any:
    return np.concatenate(values, axis=axis)


def stack(values: Any, axis: int = 0) -> Any:
    return np.stack(values, axis=axis)


def unstack(x: Any, axis: int = 0) -> Any:
    return list(np.moveaxis(x, axis, 0))


def split(x: Any, num_or_size_splits: Any, axis: int = 0) -> Any:
    if isinstance(num_or_size_splits, int):
        return np.split(x, num_or_size_splits, axis=axis)
    ends, end = [], 0
    for length in num_or_size_splits[:-1]:
        end += length
        ends.append(end)
    return np.split(x, ends, axis=axis)


def where(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)


def gather(x: Any, indices: Any, axis: int = 0) -> Any:
    return np.take(x, indices, axis=axis)


def gather_nd(x: Any, indices: Any) -> Any:
    """The elements, or parts, at the places along the last axis of `indices`."""
    return x[tuple(np.moveaxis(indices, -1, 0))]


def slice(x: Any, begin: Any, size: Any) -> Any:
    """`size` elements of each axis from `begin` on; -1 stands for all that follow."""
    for axis, (first, count) in enumerate(zip(begin, size)):
        last = np.shape(x)[axis] if count == -1 else first + count
        x = np.moveaxis(np.moveaxis(x, axis, 0)[first:last], 0, axis)
    return x


def tensor_scatter_nd_update(x: Any, indices: Any, updates: Any) -> Any:
    """A copy with other elements, or parts, at the places along the last axis of `indices`."""
    out = np.copy(x)
    out[tuple(np.moveaxis(indices, -1, 0))] = updates
    return out


def tensor_scatter_nd_add(x: Any, indices: Any, updates: Any) -> Any:
    out = np.copy(x)
    np.add.at(out, tuple(np.moveaxis(indices, -1, 0)), updates)
    return out


def boolean_mask(x: Any, mask: Any) -> Any:
    return x[mask]


def reverse(x: Any, axis: Any) -> Any:
    return np.flip(x, axes(axis))


def sort(x: Any, axis: int = -1) -> Any:
    return np.sort(x, axis=axis)


def argsort(x: Any, axis: int = -1) -> Any:
    return np.argsort(x, axis=axis, kind="stable")


export(globals())
