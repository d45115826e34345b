"""Functions that create, reshape, join, split, index and sort tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..public_names import listing
from ._axes import axes
from ._inputs import TYPED, alike, dtype_of, given, made
from .tensors import export

__all__ = [
    "argsort", "boolean_mask", "broadcast_to", "cast", "concat", "constant", "convert_to_tensor",
    "expand_dims", "fill", "gather", "gather_nd", "identity", "linspace", "meshgrid", "one_hot",
    "ones", "ones_like", "pad", "range", "rank", "repeat", "reshape", "reverse", "roll", "shape",
    "size", "slice", "sort", "split", "squeeze", "stack", "tensor_scatter_nd_add",
    "tensor_scatter_nd_update", "tile", "transpose", "unstack", "where", "zeros", "zeros_like",
]  # fmt: skip
__dir__ = listing(__name__)


# ---------------------------------------------------------------- creation


def constant(value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """A tensor; Python floats become float32, Python ints int32."""
    found = convert_to_tensor(value, dtype)
    if shape is None:
        return found
    return np.reshape(found, shape) if np.size(found) != 1 else np.broadcast_to(found, shape)


def convert_to_tensor(value: Any, dtype: Any = None) -> Any:
    if dtype is None and isinstance(value, TYPED):
        return np.asarray(value)
    return made(value, dtype)


def cast(x: Any, dtype: Any) -> Any:
    return convert_to_tensor(x).astype(dtype)


def identity(x: Any) -> Any:
    return np.copy(given(x))


def zeros(shape: Any, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


def ones(shape: Any, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


def fill(shape: Any, value: Any) -> Any:
    return np.full(shape, value, dtype_of(value))


def zeros_like(x: Any, dtype: Any = None) -> Any:
    return np.zeros_like(given(x)) if dtype is None else np.zeros_like(given(x), dtype)


def ones_like(x: Any, dtype: Any = None) -> Any:
    return np.ones_like(given(x)) if dtype is None else np.ones_like(given(x), dtype)


def linspace(start: Any, stop: Any, num: int) -> Any:
    kind = dtype_of(start, stop)
    return np.linspace(start, stop, num).astype(np.float64 if kind == np.int32 else kind)


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None) -> Any:
    """A range; Python ints give int32, Python floats float32.  The counter of a compiled loop is
    int64."""
    if limit is None:
        start, limit = 0, start
    kind: Any = dtype_of(start, limit, delta) if dtype is None else dtype
    counted: Any = np.arange
    return counted(start, limit, delta, kind)


def one_hot(
    indices: Any,
    depth: int,
    on_value: Any = None,
    off_value: Any = None,
    axis: int = -1,
    dtype: Any = None,
) -> Any:
    hot = np.expand_dims(indices, -1) == np.arange(depth)
    if axis != -1:
        hot = np.moveaxis(hot, -1, axis)
    kind = np.float32 if dtype is None else dtype
    if on_value is None and off_value is None:
        return hot.astype(kind)
    on = 1 if on_value is None else on_value
    off = 0 if off_value is None else off_value
    return np.where(hot, on, off).astype(dtype_of(on, off) if dtype is None else dtype)


# ---------------------------------------------------------------- shapes


def shape(x: Any) -> Any:
    return np.shape(x)


def size(x: Any) -> Any:
    return np.size(x)


def rank(x: Any) -> Any:
    return np.ndim(x)


def reshape(x: Any, shape: Any) -> Any:
    return np.reshape(given(x), shape)


def transpose(x: Any, perm: Any = None) -> Any:
    return np.transpose(given(x), perm)


def expand_dims(x: Any, axis: int) -> Any:
    return np.expand_dims(given(x), axis)


def squeeze(x: Any, axis: Any = None) -> Any:
    return np.squeeze(given(x), axes(axis))


def broadcast_to(x: Any, shape: Any) -> Any:
    return np.broadcast_to(given(x), shape)


def tile(x: Any, multiples: Any) -> Any:
    return np.tile(given(x), multiples)


def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    return np.repeat(given(x), repeats, axis=axis)


def roll(x: Any, shift: Any, axis: Any) -> Any:
    return np.roll(given(x), shift, axis)


def meshgrid(*xs: Any, indexing: Any = "xy") -> Any:
    return np.meshgrid(*xs, indexing=indexing)


def pad(x: Any, paddings: Any, mode: Any = "CONSTANT", constant_values: float = 0) -> Any:
    x = given(x)
    if mode.lower() == "constant":
        return np.pad(x, paddings, constant_values=constant_values)
    return np.pad(x, paddings, mode=mode.lower())


# ---------------------------------------------------------------- joining, splitting, indexing


def concat(values: Any, axis: int) -> Any:
    return np.concatenate([given(v) for v in values], axis=axis)


def stack(values: Any, axis: int = 0) -> Any:
    return np.stack([given(v) for v in values], axis=axis)


def unstack(x: Any, axis: int = 0) -> Any:
    return list(np.moveaxis(given(x), axis, 0))


def split(x: Any, num_or_size_splits: Any, axis: int = 0) -> Any:
    x = given(x)
    if isinstance(num_or_size_splits, int):
        return np.split(x, num_or_size_splits, axis=axis)
    ends, end = [], 0
    for length in num_or_size_splits[:-1]:
        end += length
        ends.append(end)
    return np.split(x, ends, axis=axis)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`x` where the condition holds, `y` elsewhere; without them, the indices where it holds."""
    if x is None or y is None:
        return np.argwhere(condition)
    x, y = alike(x, y)
    if isinstance(x, TYPED) or isinstance(y, TYPED):
        return np.where(condition, x, y)
    return np.where(condition, x, y).astype(dtype_of(x, y))


def gather(x: Any, indices: Any, axis: int = 0, batch_dims: int = 0) -> Any:
    if batch_dims == 0:
        return np.take(given(x), indices, axis=axis)
    if batch_dims != 1 or axis not in (0, 1):
        raise NotImplementedError("tf.gather has batch_dims=1 along the axis after it")
    places = np.asarray(indices)
    rows = np.reshape(np.arange(places.shape[0]), (-1,) + (1,) * (places.ndim - 1))
    return x[rows, places]


def gather_nd(x: Any, indices: Any) -> Any:
    """The elements, or slices, at the index tuples along the last axis of `indices`."""
    return given(x)[tuple(np.moveaxis(indices, -1, 0))]


def slice(x: Any, begin: Any, size: Any) -> Any:
    """`size` elements of each axis from `begin` on; -1 means all remaining elements."""
    x = given(x)
    for axis, (first, count) in enumerate(zip(begin, size)):
        last = np.shape(x)[axis] if count == -1 else first + count
        x = np.moveaxis(np.moveaxis(x, axis, 0)[first:last], 0, axis)
    return x


def tensor_scatter_nd_update(x: Any, indices: Any, updates: Any) -> Any:
    """A copy with the elements, or slices, replaced at the index tuples along the last axis of
    `indices`."""
    x = given(x)
    out = np.copy(x)
    out[tuple(np.moveaxis(indices, -1, 0))] = updates
    return out


def tensor_scatter_nd_add(x: Any, indices: Any, updates: Any) -> Any:
    x = given(x)
    out = np.copy(x)
    np.add.at(out, tuple(np.moveaxis(indices, -1, 0)), updates)
    return out


def boolean_mask(x: Any, mask: Any) -> Any:
    return given(x)[mask]


def reverse(x: Any, axis: Any) -> Any:
    return np.flip(given(x), axes(axis))


def sort(x: Any, axis: int = -1, direction: str = "ASCENDING") -> Any:
    x = given(x)
    if direction == "DESCENDING":
        return np.flip(np.sort(x, axis=axis), axis)
    return np.sort(x, axis=axis)


def argsort(x: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False) -> Any:
    x = given(x)
    if direction == "DESCENDING":
        return np.argsort(-x, axis=axis, kind="stable").astype(np.int32)
    return np.argsort(x, axis=axis, kind="stable").astype(np.int32)


export(globals())
