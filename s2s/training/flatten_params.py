"""Pack nested parameters into one vector and back, for optimizers over vectors.

The code is plain Python that compiled functions may call, too.  Both directions are
differentiable.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np


def flatten(params: Any) -> tuple[Any, Unflatten]:
    """Pack a scalar, an array, or nested containers of them into a vector.  Returns the vector and
    the inverse function: after `vector, unflatten = s2s.flatten(params)`, `unflatten(vector)` has
    the structure, shapes and dtypes of `params`."""
    pieces = _pieces(params)
    vector = np.concatenate(pieces) if len(pieces) > 0 else np.zeros(0)
    return vector, Unflatten(params)


@dataclass
class Unflatten:
    """Unpacks vectors into the structure of `like`."""

    like: Any

    def __call__(self, vector: Any) -> Any:
        value, used = _fill(self.like, vector, 0)
        if used != len(vector):
            raise ValueError("the vector is longer or shorter than the parameters")
        return value


def _pieces(x: Any) -> Any:
    """The leaves in order, each as a vector."""
    found = []
    if isinstance(x, dict):
        for key in x:
            found = found + _pieces(x[key])
    elif isinstance(x, (tuple, list)):
        for item in x:
            found = found + _pieces(item)
    elif dataclasses.is_dataclass(x):
        for field in dataclasses.fields(x):
            found = found + _pieces(getattr(x, field.name))
    else:
        found = [np.ravel(np.asarray(x))]
    return found


def _fill(like: Any, vector: Any, start: int) -> Any:
    """A structure like `like` with the elements from `start` on, and the index after its last."""
    if isinstance(like, dict):
        out = {}
        for key in like:
            value, start = _fill(like[key], vector, start)
            out[key] = value
        return out, start
    if isinstance(like, (tuple, list)):
        values = []
        for item in like:
            value, start = _fill(item, vector, start)
            values = [*values, value]
        if isinstance(like, list):
            return values, start
        return (tuple(values) if type(like) is tuple else type(like)(*values)), start
    if dataclasses.is_dataclass(like):
        values = []
        for field in dataclasses.fields(like):
            value, start = _fill(getattr(like, field.name), vector, start)
            values = [*values, value]
        return type(like)(*values), start
    if np.ndim(like) == 0 and not isinstance(like, np.ndarray):
        return vector[start], start + 1
    stop = start + like.size
    return vector[start:stop].reshape(like.shape).astype(like.dtype), stop
