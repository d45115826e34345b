"""Array manipulation: splitting, joining, selection, repetition; indices and grids."""

# pyright: basic, reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np

from .declare_program import library_program, view_of


@library_program("numpy.split")
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if np.ndim(indices_or_sections) == 0 and ary.shape[axis] % indices_or_sections != 0:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@library_program("numpy.array_split")
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    front = np.moveaxis(ary, axis, 0)
    n = front.shape[0]
    if np.ndim(indices_or_sections) == 0:
        sections = int(indices_or_sections)
        each, more = n // sections, n % sections
        cuts = [k * each + min(k, more) for k in tuple(range(sections + 1))]
    else:
        cuts = [0, *indices_or_sections, n]
    return [np.moveaxis(front[p:q], 0, axis) for p, q in zip(cuts[:-1], cuts[1:])]


@library_program("numpy.hsplit")
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@library_program("numpy.vsplit")
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0)


@library_program("numpy.dsplit")
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 2)


@library_program("numpy.append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.concatenate((np.ravel(arr), np.ravel(values)))
    return np.concatenate((np.asarray(arr), np.asarray(values)), axis=axis)


@library_program("numpy.insert")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    x = np.ravel(arr) if axis is None else np.moveaxis(np.asarray(arr), axis, 0)
    n, v = x.shape[0], np.asarray(values)
    if np.ndim(obj) == 0 and not isinstance(obj, slice):
        at = obj + n if obj < 0 else obj
        if at < 0 or at > n:
            raise IndexError(f"index {obj} is out of bounds for axis with size {n}")
        count = v.shape[0] if v.ndim == x.ndim else 1
        block = np.broadcast_to(v, (count, *x.shape[1:])).astype(x.dtype)
        out = np.concatenate((x[:at], block, x[at:]))
    else:
        places = np.arange(n)[obj] if isinstance(obj, slice) else np.asarray(obj)
        wanted = np.where(places < 0, places + n, places)
        order = np.argsort(wanted)
        # Each insertion shifts all elements after it, including later insertions.
        shifted = np.zeros(wanted.shape, dtype=np.int64)
        shifted[order] = wanted[order] + np.arange(wanted.shape[0])
        old = np.ones(n + wanted.shape[0], dtype=np.bool_)
        old[shifted] = False
        out = np.zeros((n + wanted.shape[0], *x.shape[1:]), dtype=x.dtype)
        out[shifted] = v if axis is None or v.ndim < x.ndim else np.moveaxis(v, axis, 0)
        out[old] = x
    return out if axis is None else np.moveaxis(out, 0, axis)


@library_program("numpy.delete")
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    x = np.ravel(arr) if axis is None else np.moveaxis(np.asarray(arr), axis, 0)
    if obj is None:
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    keep = np.ones(x.shape[0], dtype=np.bool_)
    keep[obj] = False
    return x[keep] if axis is None else np.moveaxis(x[keep], 0, axis)


@library_program("numpy.resize")
def resize(a: Any, new_shape: Any) -> Any:
    flat = np.ravel(a)
    shape = new_shape if isinstance(new_shape, tuple) else (new_shape,)
    total = 1
    for size in shape:
        total = total * size
    if flat.shape[0] == 0:
        return np.zeros(shape, dtype=flat.dtype)
    return flat[np.arange(total) % flat.shape[0]].reshape(shape)


@library_program("numpy.extract")
def extract(condition: Any, arr: Any) -> Any:
    return np.ravel(arr)[np.ravel(condition)]


@library_program("numpy.compress")
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    if np.ndim(condition) != 1:
        raise ValueError("condition must be a 1-d array")
    return np.take(a, np.flatnonzero(np.asarray(condition)), axis=axis)


@library_program("numpy.ndarray.compress")
def method_compress(self: Any, condition: Any, axis: Any = None) -> Any:
    return compress(condition, self, axis)


@library_program("numpy.piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any) -> Any:
    at = np.asarray(x)
    cases = condlist if isinstance(condlist, (list, tuple)) else (condlist,)
    out = np.zeros_like(at)
    if len(funclist) > len(cases):
        rest = np.ones(at.shape, dtype=np.bool_)
        for case in cases:
            rest = rest & ~np.asarray(case)
        cases = (*cases, rest)
    for case, f in zip(cases, funclist):
        mask = np.asarray(case)
        if callable(f):
            out[mask] = f(at[mask], *args)
        else:
            out[mask] = f
    return out


@library_program("numpy.rot90")
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    turns, first, second = k % 4, axes[0], axes[1]
    if turns == 0:
        return m
    if turns == 2:
        return np.flip(m, (first, second))
    if turns == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    return np.flip(np.swapaxes(m, first, second), second)


@library_program("numpy.rollaxis")
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    n = np.ndim(a)
    source = axis + n if axis < 0 else axis
    target = start + n if start < 0 else start
    return np.moveaxis(a, source, target - 1 if source < target else target)


@library_program("numpy.lib.stride_tricks.sliding_window_view")
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    widths = window_shape if isinstance(window_shape, tuple) else (window_shape,)
    if axis is None:
        axes: Any = tuple(range(len(widths)))
    else:
        axes = axis if isinstance(axis, tuple) else (axis,)
    rank, out = np.ndim(x), x
    for at, width in zip(axes, widths):
        place = at + rank if at < 0 else at
        if width < 0:
            raise ValueError("`window_shape` cannot contain negative values")
        if width > out.shape[place]:
            raise ValueError("window shape cannot be larger than input array shape")
        starts = np.arange(out.shape[place] - width + 1)
        windows = np.take(out, starts[:, None] + np.arange(width), axis=place)
        out = np.moveaxis(windows, place + 1, -1)
    return view_of(x, out)


@library_program("numpy.apply_along_axis")
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    along: Any = np.moveaxis(np.asarray(arr), axis, -1)
    rows = along.reshape((-1, along.shape[-1]))
    if rows.shape[0] == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = np.array([func1d(rows[i], *args, **kwargs) for i in range(rows.shape[0])])
    out = made.reshape((*along.shape[:-1], *made.shape[1:]))
    return out if made.ndim == 1 else np.moveaxis(out, -1, axis)


@library_program("numpy.apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    out = np.asarray(a)
    for axis in axes if isinstance(axes, (list, tuple)) else (axes,):
        made = func(out, axis)
        out = made if np.ndim(made) == out.ndim else np.expand_dims(made, axis)
    return out


@library_program("numpy.fromiter")
def fromiter(iter: Any, dtype: Any, count: int = -1) -> Any:
    return np.array(list(iter), dtype=dtype)


@library_program("numpy.asfortranarray")
def asfortranarray(a: Any, dtype: Any = None) -> Any:
    return np.atleast_1d(np.asarray(a, dtype=dtype))


# ---------------------------------------------------------------- indices and grids


@library_program("numpy.argwhere")
def argwhere(a: Any) -> Any:
    if np.ndim(a) == 0:
        return argwhere(np.atleast_1d(a))[:, :0]
    return np.stack(np.nonzero(a), axis=-1)


@library_program("numpy.indices")
def indices(dimensions: Any, dtype: Any = np.int64, sparse: bool = False) -> Any:
    grids = np.meshgrid(
        *[np.arange(n).astype(dtype) for n in dimensions], indexing="ij", sparse=sparse
    )
    return tuple(grids) if sparse else np.stack(grids)


@library_program("numpy.fromfunction")
def fromfunction(function: Any, shape: Any, dtype: Any = float) -> Any:
    places = indices(shape, dtype)
    return function(*[places[k] for k in tuple(range(len(shape)))])


@library_program("numpy.diagflat")
def diagflat(v: Any, k: int = 0) -> Any:
    return np.diag(np.ravel(v), k)


@library_program("numpy.ravel_multi_index")
def ravel_multi_index(multi_index: Any, dims: Any) -> Any:
    out = 0
    for index, size in zip(multi_index, dims):
        out = out * size + index
    return out


@library_program("numpy.triu_indices_from")
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    return triu_indices(arr.shape[0], k, arr.shape[1])


@library_program("numpy.tril_indices_from")
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    return tril_indices(arr.shape[0], k, arr.shape[1])


@library_program("numpy.diag_indices_from")
def diag_indices_from(arr: Any) -> Any:
    return tuple([np.arange(arr.shape[0]) for _ in tuple(range(arr.ndim))])


@library_program("numpy.tri")
def tri(N: int, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    columns = N if M is None else M
    return (np.arange(columns) - np.arange(N)[:, None] <= k).astype(dtype)


@library_program("numpy.triu_indices")
def triu_indices(n: int, k: int = 0, m: Any = None) -> Any:
    return np.nonzero(np.arange(n if m is None else m) - np.arange(n)[:, None] >= k)


@library_program("numpy.tril_indices")
def tril_indices(n: int, k: int = 0, m: Any = None) -> Any:
    return np.nonzero(np.arange(n if m is None else m) - np.arange(n)[:, None] <= k)


@library_program("numpy.diag_indices")
def diag_indices(n: int) -> Any:
    return np.arange(n), np.arange(n)


@library_program("numpy.unravel_index")
def unravel_index(indices: Any, shape: Any) -> Any:
    places = []
    rest = indices
    for size in shape[:0:-1]:
        places.append(rest % size)
        rest = rest // size
    places.append(rest)
    return tuple(places[::-1])
